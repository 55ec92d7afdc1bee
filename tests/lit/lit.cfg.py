"""How lit runs the compiler's tests: .mlir and .tile files whose RUN lines call %sinter_compiler or
%sinter and pipe into FileCheck. CMake passes the folders; see cmake/SinterTests.cmake."""

import os
import sys

import lit.formats


def folder(name):
    value = lit_config.params.get(name)
    if not value:
        lit_config.fatal(f"parameter {name} is missing; run these tests through ctest -R lit")
    return value


config.name = "sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".tile"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = folder("sinter_obj")

# The caller's environment decides no result.
config.environment = {"PATH": os.path.defpath, "HOME": config.test_exec_root, "LC_ALL": "C.UTF-8"}
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

bins, llvm = folder("sinter_bin"), folder("llvm_bin")
config.substitutions += [
    ("%sinter_compiler", os.path.join(bins, "sinter-compiler")),
    ("%sinter_opt", os.path.join(bins, "sinter-opt")),
    (r"%sinter\b", os.path.join(bins, "sinter")),
    ("%loops", f"{sys.executable} -B {os.path.join(config.test_source_root, 'loops.py')}"),
]
for tool in ("FileCheck", "not", "count", "split-file", "mlir-opt"):
    if os.path.exists(os.path.join(llvm, tool)):
        config.substitutions.append((rf"(?<![\w./%-]){tool}(?![\w./-])", os.path.join(llvm, tool)))
