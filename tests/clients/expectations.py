"""What a server is expected to do with each method of a client, read from the lists beside this file."""

import fnmatch
import inspect
import pathlib
import tempfile
import typing

KINDS = ("served", "refused", "local", "socket")
EXPLAINED = ("refused", "failed")  # kinds that come with words


class Expectation:
    """One row: which methods, what happens, and the words of a refusal."""

    def __init__(self, pattern, kind, words, kinds):
        if kind not in kinds or bool(words) != (kind in EXPLAINED):
            raise ValueError(f"a row of {pattern} says '{kind} {words}'")
        self.pattern, self.kind, self.words = pattern, kind, words


def read(name, kinds=KINDS):
    """The rows of a list beside this file, in order."""
    rows = []
    for line in (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        parts = line.split(None, 2)
        if parts and not line.startswith("#"):
            rows.append(Expectation(parts[0], parts[1], parts[2] if len(parts) > 2 else "", kinds))
    return rows


def find(rows, method):
    """The first row that matches; None where the list does not know the method."""
    return next((row for row in rows if fnmatch.fnmatchcase(method, row.pattern)), None)


def _filler(name, annotation):
    text = str(annotation)
    if name in ("file", "files", "image", "data", "video", "recording"):
        return ("a.bin", b"x")
    if name in ("timeout", "expires_at", "bytes", "duration"):
        return 1
    if "int" == text or annotation is int:
        return 1
    if annotation is bool:
        return True
    if typing.get_origin(annotation) is list or "Iterable" in text or "SequenceNotStr" in text:
        return ["x"]
    if "Param" in text or "Dict" in text or "Mapping" in text:
        return {}
    return "x"


def made_up_arguments(function):
    """A value for each parameter that has no default, so that the client sends its request."""
    made = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is inspect.Parameter.empty and parameter.kind not in (
            inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
        ):
            made[name] = _filler(name, parameter.annotation)
    return made


def scratch_file():
    """A small file whose path a method wants; it goes with the returned object."""
    file = tempfile.NamedTemporaryFile(suffix=".bin")
    file.write(b"x")
    file.flush()
    return file
