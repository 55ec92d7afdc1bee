#!/usr/bin/env python3
"""Runs llama-server's own Python tests against `sinter serve`.

usage: llama_server_tests.py FOLDER --program SINTER --text FILE [--embedding FILE] [--rank FILE] [PYTEST ARGUMENT]...

FOLDER is tools/server/tests of a llama.cpp checkout; nothing is written there. The tests' models come from the
network, so files that are given here take their place. llama_server.txt says what becomes of each test, and why.
Exit status 1 where a test does something else, 77 where the tests' packages are not installed.
"""

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import expectations

NOTHING_RAN = 77
PACKAGES = ("pytest", "requests", "filelock", "openai", "numpy", "aiohttp")
HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    for kind in ("text", "embedding", "rank"):
        parser.add_argument("--" + kind, type=pathlib.Path, required=kind == "text")
    arguments, rest = parser.parse_known_args()
    missing = [name for name in PACKAGES if not importlib.util.find_spec(name)]
    if missing:
        print("SKIPPED llama-server's tests: not installed: " + ", ".join(missing))
        return NOTHING_RAN
    if not (arguments.folder / "utils.py").is_file():
        parser.error(f"{arguments.folder} has no utils.py, expected tools/server/tests of llama.cpp")
    with tempfile.TemporaryDirectory() as scratch:
        found = run(arguments, rest, pathlib.Path(scratch))
    return report(found)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(arguments, rest, scratch):
    """What pytest says of each test: {name: (outcome, message)}."""
    models = {kind: str(file.resolve()) for kind in ("text", "embedding", "rank") if (file := getattr(arguments, kind))}
    (scratch / "wiring.json").write_text(json.dumps({"program": str(arguments.program.resolve()), "models": models}))
    server = scratch / "llama-server"
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "{HERE}/llama_server_options.py" "{scratch}" "$@"\n')
    server.chmod(0o755)
    environment = {**os.environ, "LLAMA_SERVER_BIN_PATH": str(server), "PYTHONDONTWRITEBYTECODE": "1",
                   "PORT": str(free_port()),
                   "XDG_CACHE_HOME": str(scratch / "cache"),  # a store without other models
                   "PYTHONPATH": f"{HERE}:{arguments.folder.resolve()}", "SINTER_OUTCOMES": str(scratch / "outcomes")}
    # The tests wait a minute for a server: plans are built before.
    for kind, file in models.items():
        command = ["run", file, "-p", "a", "-n", "1"] if kind == "text" else ["embed", file, "-p", "a"]
        subprocess.run([arguments.program, *command], env=environment, check=False, capture_output=True)
    tests = rest if any(not word.startswith("-") for word in rest) else [*rest, "unit"]
    subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "llama_server_plugin", "-q",
                    "--tb=no", "--no-header", "-W", "ignore", *tests],
                   cwd=arguments.folder, env=environment, check=False)
    outcomes = scratch / "outcomes"
    if not outcomes.exists():
        sys.exit("pytest ran no test")
    return {name: (outcome, message) for name, outcome, message in map(json.loads, outcomes.read_text().splitlines())}


def report(found):
    """Prints how many tests did what, then those that did something else than the list says."""
    rows = expectations.read("llama_server.txt", ("passed", "text", "refused", "failed", "skipped"))
    counts, surprises = collections.Counter(), []
    for name, (outcome, message) in sorted(found.items()):
        row = expectations.find(rows, name)
        counts[row.kind if row else "not listed"] += 1
        wanted = {"text": "passed", "refused": "failed"}.get(row.kind, row.kind) if row else None
        if outcome != wanted:
            surprises.append(f"{name}: {outcome}, listed as {row.kind if row else 'nothing'} {message}")
    for kind, count in counts.most_common():
        print(f"{count:5} {kind}")
    for surprise in surprises:
        print("UNEXPECTED " + surprise[:600])
    return 1 if surprises or not found else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
