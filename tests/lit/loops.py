"""Prints one line for each innermost loop of x86-64 assembly that multiplies: how many multiply-adds
and integer dot steps it has, and how many vectors it moves to or from the stack."""

import re
import sys

LABEL = re.compile(r"(\.LBB\w+):")
JUMP = re.compile(r"\s+j\w+\s+(\.LBB\w+)")
STACK = re.compile(r"\(%rsp.*%[yz]mm|%[yz]mm.*\(%rsp")


def loops(lines):
    """First and last line of every loop, found by its backward jump."""
    labels = {m.group(1): i for i, m in enumerate(map(LABEL.match, lines)) if m}
    found = []
    for i, jump in enumerate(map(JUMP.match, lines)):
        start = labels.get(jump.group(1)) if jump else None
        if start is not None and start <= i:
            found.append((start, i))
    return found


def innermost(found):
    def holds(outer, inner):
        return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]

    return sorted(a for a in found if not any(holds(a, b) for b in found))


def main(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for start, end in innermost(loops(lines)):
        body = lines[start:end + 1]
        multiplied = sum("vfmadd" in line for line in body)
        dots = sum("vpdpbusd" in line or "vpmaddwd" in line for line in body)
        moved = sum(bool(STACK.search(line)) for line in body)
        if multiplied or dots:
            print(f"loop: {multiplied} multiply-adds, {dots} integer dots, {moved} on the stack")


main(sys.argv[1])
