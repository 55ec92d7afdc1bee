#!/usr/bin/env python3
"""Runs the goldens of architectures on a device and compares them with llama.cpp's logits.

  check_goldens.py --sinter SINTER [--device cuda] [--goldens FOLDER] [--jobs N] [NAME...]

A line a golden: the largest KL divergence at its positions, prefilled and the last 24 tokens decoded, with
`--activations f32`. Ends with 1 where one is above 1e-4 or does not run. tests/cli/logits_test.cpp does the
same on the CPU, without Python.
"""
import argparse
import concurrent.futures
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf_files

MOST_KL, DECODED = 1e-4, 24


def value_of(kind, words):
    if kind == "str":
        return " ".join(words)
    if kind == "arr":
        return words[0], [value_of(words[0], [word]) for word in words[1:]]
    if kind == "bool":
        return words[0] in ("1", "true", "True")
    return float(words[0]) if kind in ("f32", "f64") else int(words[0])


def read_golden(path):
    keys, tensors, tokens, logits = [], [], [], {}
    for line in path.read_text().split("\n"):
        what, *words = line.split(" ")
        if what == "key":
            keys.append((words[0], words[1], value_of(words[1], words[2:])))
        elif what == "tensor":
            tensors.append((words[0], [int(word) for word in words[3:]], float(words[1]), int(words[2])))
        elif what == "tokens":
            tokens = [int(word) for word in words]
        elif what == "logits":
            pairs = [word.split(":") for word in words[1:]]
            logits[int(words[0])] = {int(pair[0]) if len(pair) > 1 else number: float(pair[-1])
                                     for number, pair in enumerate(pairs)}
    return keys, tensors, tokens, logits


def divergence(expected, found):
    """Over the tokens that the golden has."""
    expected_sum = sum(math.exp(logit) for logit in expected.values())
    found_sum = sum(math.exp(found[token]) for token in expected)
    shift = math.log(found_sum) - math.log(expected_sum)
    return sum(math.exp(logit) / expected_sum * (logit - found[token] + shift) for token, logit in expected.items())


def check(options, path):
    keys, tensors, tokens, logits = read_golden(path)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / f"{path.stem}.gguf"
        gguf_files.write_file(model, keys, tensors)
        command = [options.sinter, "logits", model, "--tokens", ",".join(map(str, tokens)), "--decode", str(DECODED),
                   "--top", "1000000", "--activations", "f32", "--json", "--device", options.device]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if run.returncode:
        return None, (run.stderr.strip().split("\n") or [""])[-1]
    rows = json.loads(run.stdout)["positions"]
    found = {at: {each["id"]: each["logit"] for each in rows[at]["top"]} for at in logits}
    return max(divergence(expected, found[at]) for at, expected in logits.items()), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sinter", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--goldens", type=Path, default=Path(__file__).parent.parent / "data/architectures")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    paths = sorted(path for path in options.goldens.glob("*.txt") if not options.names or path.stem in options.names)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, (worst, why) in zip(paths, pool.map(lambda path: check(options, path), paths)):
            agrees = worst is not None and worst <= MOST_KL
            failed += not agrees
            result = f"does not run: {why}" if worst is None else f"{'agrees' if agrees else 'DIFFERS'}, KL {worst:.1e}"
            print(f"{path.stem:22} {result}", flush=True)
    print(f"{len(paths) - failed} of {len(paths)} agree on {options.device}")
    sys.exit(1 if failed or not paths else 0)


if __name__ == "__main__":
    main()
