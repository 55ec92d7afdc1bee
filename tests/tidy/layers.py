"""Which layer sees which: the one table behind the include check."""

_CHAIN = {
    "base": [],
    "numeric": ["base"],
    "layout": ["numeric"],
    "format": ["layout"],
    "hal": ["layout"],
    "plan": ["layout"],
    "runtime": ["format", "hal", "plan"],
    "jinja": ["base"],
    "grammar": ["jinja"],
    "llm": ["runtime", "grammar"],
    "store": ["base"],
    "host": ["llm", "store"],
    "serve": ["host"],
    "cli": ["serve"],
    "tile": ["layout", "sinter"],  # the kernel front is offered through include/sinter
    "sched": ["tile"],
    "targets": ["sched"],
    "kernels": ["tile"],
    "graph": ["tile"],
    "models": ["format", "graph", "plan"],
    "engine": ["format", "graph", "kernels", "models", "sched", "targets", "plan"],
    "compiler": ["engine", "runtime", "sinter"],  # the compiler's program
    "sinter": [],  # include/sinter, the public API
}

# The only layers that may include a header of MLIR, LLVM or lld.
COMPILER_SIDE = {"graph", "tile", "sched", "targets", "kernels", "models", "engine", "compiler"}
COMPILER_HEADERS = ("mlir/", "mlir-c/", "llvm/", "llvm-c/", "lld/", "clang/", "clang-c/")

# Tests that launch what their layer compiles see the device and the kernels too.
TEST_EXTRA = {"targets": {"hal", "kernels"}}


def names():
    return _CHAIN.keys()


def seen_by(layer):
    """The layers that `layer` names itself."""
    return _CHAIN[layer]


def visible(layer):
    """The layers that `layer` may include, itself among them."""
    seen, todo = set(), [layer]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(_CHAIN[name])
    return seen
