"""Rules on the whole tree: nothing in it is dead. Each takes a Tree and yields (path, line, message)."""

import re

import cpp_text
import layers


def _build_text(tree):
    return "\n".join(f.text for f in tree.files if f.kind == "cmake")


def sources_are_built(tree):
    """Each .cpp of src/ lies in a layer that CMake builds, or is the main file of a program."""
    build = re.sub(r"#[^\n]*", "", _build_text(tree))
    built = set(re.findall(r"\bsinter_(?:compiler_|plain_)?layer\(\s*(\w+)", build))
    for file in tree.files:
        if file.top != "src" or not file.path.endswith(".cpp"):
            continue
        if file.path.endswith("/main.cpp"):
            if file.path not in build:
                yield file.path, 1, "no program is built from this main file"
        elif file.layer not in built:
            yield file.path, 1, f"no sinter_layer({file.layer}) builds this file"


def links_follow_layers(tree):
    """What CMake links to a layer is what the layer may include."""
    for file in tree.files:
        if file.kind != "cmake":
            continue
        for match in re.finditer(r"\bsinter_(?:compiler_|plain_)?layer\(\s*(\w+)([^)]*)\)", file.text):
            layer, line = match.group(1), file.text.count("\n", 0, match.start()) + 1
            deps = re.search(r"\bDEPS\b((?:\s+\w+)*)", match.group(2).split("LIBS")[0])
            for dep in deps.group(1).split() if deps else []:
                if layer in layers.names() and dep not in layers.visible(layer):
                    yield file.path, line, f"layer '{layer}' links '{dep}', which it may not include"


def tests_are_built(tree):
    """Each .cpp of tests/ is globbed into its layer's tests or named in CMake."""
    build = re.sub(r"#[^\n]*", "", _build_text(tree))
    listed = set()
    for group in re.findall(r"foreach\(layer([^)]*)\)", build):
        listed.update(group.split())
    listed.update(re.findall(r"\bsinter_tests\(\s*(\w+)", build))
    for file in tree.files:
        if file.top != "tests" or not file.path.endswith(".cpp") or file.is_data:
            continue
        name = file.path.rsplit("/", 1)[-1]
        globbed = name.endswith("_test.cpp") and file.layer in listed
        globbed |= file.path.rsplit("/", 1)[0] + "/*" in build
        if not globbed and name not in build:
            yield file.path, 1, "no test program is built from this file"


def headers_are_included(tree):
    """Each header under src/ is included by some file; include/ is for users and is let be."""
    included = set()
    for file in tree.files:
        if file.kind == "cpp":
            included.update(path for _, path, _ in cpp_text.includes(file.text))
    build = _build_text(tree)
    for file in tree.files:
        if file.top == "src" and file.path.endswith((".h", ".inc")):
            if file.path[len("src/"):] not in included and file.path not in build:
                yield file.path, 1, "no file includes this header"


def data_is_used(tree):
    """Each test data file is named, by its file name or its stem, in a test or a script."""
    text = "\n".join(f.text for f in tree.files if f.kind is not None and not f.is_data)
    for file in tree.files:
        if not file.is_data:
            continue
        name = file.path.rsplit("/", 1)[-1]
        if name != "README.md" and not re.search(
                rf"(?<![\w.-])(?:{re.escape(name)}|{re.escape(name.split('.')[0])})(?![\w-])", text):
            yield file.path, 1, "no test or script names this data file"


ALL = (sources_are_built, links_follow_layers, tests_are_built, headers_are_included,
       data_is_used)
