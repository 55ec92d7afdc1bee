#!/usr/bin/env python3
"""Holds the grammars of schemas to the JSON Schema Test Suite, which the source of PyPI's jsonschema has.

usage: schema_suite.py GRAMMAR_TESTS [--suite FOLDER] [--all]

Fetches the source with pip, unless FOLDER has the files of a draft. Prints how many schemas are refused,
how many valid instances are reached, and every invalid one that is (there must be none); --all also
names each refused schema and each valid instance that no text reaches. Exit status 77 where the source
cannot be fetched.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

SOURCE = "jsonschema==4.23.0"
DRAFT = "json/tests/draft2020-12/"
NOTHING_RAN = 77
TEST = "SchemaSuite.NoGrammarHasAnInvalidInstance"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", metavar="GRAMMAR_TESTS")
    parser.add_argument("--suite", metavar="FOLDER")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        suite = arguments.suite or fetch(pathlib.Path(folder))
        if not suite:
            print(f"SKIPPED: pip cannot fetch the source of {SOURCE}")
            return NOTHING_RAN
        return run(arguments.program, suite, arguments.all)


def fetch(folder):
    """The draft's files in the folder; None where there is no such package to be had."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jsonschema",
               "--dest", str(folder), SOURCE]
    try:
        fetched = subprocess.run(command, capture_output=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    archives = list(folder.glob("*.tar.gz"))
    if fetched.returncode or not archives:
        return None
    suite = folder / "suite"
    suite.mkdir()
    with tarfile.open(archives[0]) as archive:
        for member in archive.getmembers():
            _, found, name = member.name.partition(DRAFT)
            if found and name.endswith(".json") and "/" not in name:
                (suite / name).write_bytes(archive.extractfile(member).read())
    return str(suite)


def run(program, suite, shows_all):
    environment = dict(os.environ, SINTER_SCHEMA_SUITE=suite)
    tested = subprocess.run([program, f"--gtest_filter={TEST}"], env=environment, capture_output=True, text=True,
                            check=False)
    for line in tested.stdout.splitlines():
        if shows_all or not line.startswith(("refused: ", "not reached: ", "[", "Running", "Note")):
            print(line)
    return tested.returncode


if __name__ == "__main__":
    sys.exit(main())
