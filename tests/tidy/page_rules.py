"""Rules on pages (README, ARCHITECTURE, docs, bench): what they name exists, and they stay short."""

import re

import layers

MAX_LINES = {"README.md": 150, "ARCHITECTURE.md": 200}
MAX_LINES_OF_DOCS = 160

_PATH = re.compile(r"(?<![\w./-])(?:src|tests|docs|bench|tools|include|cmake|\.ci)/[\w.*/-]*[\w*]")
_INLINE = re.compile(r"`([^`\n]+)`")
_SOURCE = re.compile(r"[\w./*-]+\.(?:h|cpp|td|py)")
# Foo::bar, fooBar, FooBar: names of code. Other words in backquotes are commands, types and tensors.
_NAME = re.compile(r"(?:\w+::)+\w+|k?[A-Z]?[a-z][a-z0-9]*[A-Z]\w*")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_PLACEHOLDER = re.compile(r"(?<![\w.-])[A-Z]{2,}(?![\w.-])")  # LAYER in tests/LAYER stands for any name


def _pages(tree):
    return [f for f in tree.files
            if f.path.endswith(".md") and (f.top in ("docs", "bench") or f.path == f.top)]


def _exists(folder, pattern):
    pattern = _PLACEHOLDER.sub("*", pattern)
    return next(folder.glob(pattern), None) is not None if "*" in pattern else (folder / pattern).exists()


def _lines(file):
    return enumerate(file.text.split("\n"), 1)


def paths_exist(tree):
    """Each path from the root, and each source file that is named alone in backquotes."""
    sources = [f.path for f in tree.files]
    for file in _pages(tree):
        for number, line in _lines(file):
            for path in sorted(set(_PATH.findall(line))):
                if not _exists(tree.root, path):
                    yield file.path, number, f"the page names '{path}', which does not exist"
            for text in _INLINE.findall(line):
                if _SOURCE.fullmatch(text) and "*" not in text and not _PATH.match(text):
                    if not any(source.endswith("/" + text) for source in sources):
                        yield file.path, number, f"the page names '{text}', which is no file of the tree"


def links_resolve(tree):
    """Each relative link leads to a file."""
    for file in _pages(tree):
        for number, line in _lines(file):
            for target in _LINK.findall(line):
                if not ((tree.root / file.path).parent / target).exists():
                    yield file.path, number, f"the link to '{target}' leads nowhere"


def names_exist(tree):
    """Each name of code in backquotes is a word of some source."""
    known = set()
    for file in tree.files:
        if file.kind in ("cpp", "td"):
            known.update(re.findall(r"\w+", file.text))
    for file in _pages(tree):
        for number, line in _lines(file):
            for text in _INLINE.findall(line):
                if _NAME.fullmatch(text) and not known.issuperset(text.split("::")):
                    yield file.path, number, f"the page names '{text}', which no source has"


def page_length(tree):
    """README is for two minutes, ARCHITECTURE for ten."""
    for file in _pages(tree):
        most = MAX_LINES_OF_DOCS if file.top == "docs" else MAX_LINES.get(file.path)
        count = len(file.text.splitlines())
        if most and count > most:
            yield file.path, 1, f"the page has {count} lines, at most {most}"


def layers_are_told(tree):
    """ARCHITECTURE's table of layers says what layers.py says."""
    for file in _pages(tree):
        if file.path != "ARCHITECTURE.md":
            continue
        section = file.text.partition("\n## Layers\n")[2].partition("\n## ")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in section.split("\n") if line.startswith("|")][2:]
        told = {row[0]: row[1] for row in rows if len(row) == 3}
        for name in layers.names():
            expected = ", ".join(layers.seen_by(name))
            if name not in told:
                yield file.path, 1, f"the table of layers has no row '{name}'"
            elif told[name] != expected:
                yield file.path, 1, f"layer '{name}' sees '{told[name]}', expected '{expected}'"
        for name in told.keys() - layers.names():
            yield file.path, 1, f"the table of layers has a row '{name}', which is no layer"


ALL = (paths_exist, names_exist, links_resolve, page_length, layers_are_told)
