#!/usr/bin/env python3
"""Checks the house rules on every file of the tree, after checking itself on trees that break each rule.

usage: tidy.py [ROOT]      prints one `path:line: message` for each finding; exit status 1 if any
"""

import pathlib
import sys
import unittest

import file_rules
import layers
import page_rules
import tree_rules

ROOTS = ("src", "include", "tests", "tools", "scripts", "bench", "cmake", "docs", ".ci")
_KINDS = {"cpp": "cpp", "h": "cpp", "inc": "cpp", "c": "cpp", "td": "td", "mlir": "mlir",
          "tile": "tile", "cmake": "cmake", "py": "py", "sh": "script"}


class SourceFile:
    """One file: `path` relative to the root, `kind` of language (None: text of no known kind),
    `top` folder, `layer` whose rules hold for it (None: none), `is_data` for test data."""

    def __init__(self, root, path, text):
        parts = path.split("/")
        self.path, self.text, self._root = path, text, root
        self.top = parts[0]
        in_data = self.top == "tests" and "data" in parts[1:-1]
        self.is_data = in_data and not path.endswith(".py")  # generators lie beside what they write
        self.kind = None if self.is_data else self._kind(parts[-1])
        second = parts[1] if len(parts) > 2 else None
        self.layer = second if self.top in ("src", "tests") and second in layers.names() else None
        if self.top == "include":
            self.layer = "sinter"

    def _kind(self, name):
        if name == "CMakeLists.txt":
            return "cmake"
        suffix = name.rsplit(".", 1)[-1] if "." in name[1:] else None
        if suffix is None and self.text.startswith("#!"):
            return "script"
        return _KINDS.get(suffix)

    def resolves(self, include):
        """Whether an include's path names a file under one of the include folders."""
        return any((self._root / top / include).is_file() for top in ("src", "include", "tests"))


class Tree:
    """Every file of the tree that we wrote; binary files count as empty text."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        paths = [p for p in sorted(self.root.iterdir()) if p.is_file() and p.name != "LICENSE"]
        for top in ROOTS:
            paths += sorted(p for p in (self.root / top).rglob("*") if p.is_file())
        paths = [p for p in paths if "__pycache__" not in p.parts and p.name != ".git"]
        self.files = [SourceFile(self.root, p.relative_to(self.root).as_posix(), self._read(p))
                      for p in paths if p.name != "compile_commands.json"]

    @staticmethod
    def _read(path):
        data = path.read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", errors="replace")


def check(root):
    """All findings on the tree at `root`, as printable lines."""
    tree = Tree(root)
    found = []
    for file in tree.files:
        for rule in file_rules.ALL:
            found += [(file.path, line, message) for line, message in rule(file)]
    for rule in tree_rules.ALL + page_rules.ALL:
        found += rule(tree)
    if not any(f.top == "src" for f in tree.files):
        found.append((".", 0, "the tree has no file under src/, so nothing was checked"))
    return [f"{path}:{line}: {message}" for path, line, message in sorted(found)]


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    import tidy_test
    suite = unittest.defaultTestLoader.loadTestsFromModule(tidy_test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit("tidy: the check of the checker failed")
    findings = check(root)
    print("\n".join(findings + [f"tidy: {len(findings)} findings"]))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
