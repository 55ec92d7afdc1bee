#!/usr/bin/env python3
"""Copies ctest's output, and before its closing summary says what became of single cases.

usage: ctest ... | case_summary.py FOLDER      FOLDER has the lines that tests/test_main.cpp writes for each case

A ctest entry is a suite of several cases. Failed and skipped ones are named here.
"""

import collections
import pathlib
import sys


def read_cases(folder):
    """Each case as (outcome, name, reason); the name begins with the layer."""
    for path in sorted(pathlib.Path(folder).glob("*.txt")):
        layer, cases = path.name.split(".")[0], {}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            outcome, _, name, reason = line.split("\t", 3)
            cases[name] = (outcome, reason)
        for name, (outcome, reason) in cases.items():
            # A process that died, or was ended, leaves its last case without an outcome.
            yield ("failed", f"{layer}.{name}", "it did not end") if outcome == "started" else (
                outcome, f"{layer}.{name}", reason)


def summary(folder):
    """The lines that stand before ctest's own summary."""
    named, counts = collections.defaultdict(list), collections.Counter()
    for outcome, name, reason in read_cases(folder):
        counts[outcome] += 1
        if outcome != "passed":
            named[outcome].append(f"  {outcome}: {name}" + (f" ({reason})" if reason else ""))
    total = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))
    return [f"cases: {total}"] + named["skipped"] + named["failed"]


def main():
    for line in sys.stdin:
        if "% tests passed, " in line:
            print("\n".join(summary(sys.argv[1])) + "\n")
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
