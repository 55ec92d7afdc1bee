#!/usr/bin/env python3
"""Compares `sinter logits` with llama.cpp on model files of any architecture.

  compare.py --sinter SINTER --peer PEER_LOGITS [--decode N] [--tokens N] [--device NAME] FILE...

Runs 64 tokens, of which the last 24 are decoded, and prints for each file the largest KL divergence
of a position and whether the best tokens agree where their lead is at least 1e-3. Ends with 1 where
a file differs or does not run.
"""
import argparse
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_KL, LEAST_LEAD = 1e-4, 1e-3

# Tokens that an architecture never says; llama.cpp masks their logits in a batch's first row alone.
IMAGE_TOKENS = {"chameleon": range(4, 8196)}


def tokens_of(count, vocabulary):
    return [(i * i * 7 + i * 31 + 3) % vocabulary for i in range(count)]


def peer_rows(peer, path, tokens, stderr=None, text=None):
    """Rows of logits of each position; `text` says how the tokens run, if not as one batch."""
    text = text or ",".join(map(str, tokens))
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([peer, path, text, file.name], check=True, stdout=subprocess.DEVNULL,
                       stderr=stderr)
        data = file.read()
    values = struct.unpack(f"<{len(data) // 4}f", data)
    width = len(values) // len(tokens)
    return [list(values[i * width:(i + 1) * width]) for i in range(len(tokens))]


def without_images(architecture, row):
    """A row with logits of image tokens as low as they are meant to be."""
    images = IMAGE_TOKENS.get(architecture, ())
    return [-3e38 if i in images else x for i, x in enumerate(row)] if images else row


def sinter_rows(sinter, path, tokens, decode, width, options=()):
    command = [sinter, "logits", str(path), "--tokens", ",".join(map(str, tokens)), "--decode",
               str(decode), "--top", str(width), "--activations", "f32", "--json", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().split("\n")[-1])
    rows = []
    for position in json.loads(run.stdout)["positions"]:
        row = [0.0] * width
        for candidate in position["top"]:
            row[candidate["id"]] = candidate["logit"]
        rows.append(row)
    return rows


def log_softmax(row):
    top = max(row)
    total = math.log(sum(math.exp(x - top) for x in row)) + top
    return [x - total for x in row]


def kl(expected, found):
    p, q = log_softmax(expected), log_softmax(found)
    return sum(math.exp(a) * (a - b) for a, b in zip(p, q) if a > -80)


def same_best(expected, found):
    order = sorted(range(len(expected)), key=lambda i: -expected[i])
    if expected[order[0]] - expected[order[1]] < LEAST_LEAD:
        return True
    return max(range(len(found)), key=lambda i: found[i]) == order[0]


def compare(expected, found):
    """The largest KL, the position where it is, and how many best tokens differ."""
    each = [kl(a, b) for a, b in zip(expected, found)]
    worst = max(range(len(each)), key=lambda i: each[i] if each[i] == each[i] else math.inf)
    differ = sum(not same_best(a, b) for a, b in zip(expected, found))
    return each[worst], worst, differ


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sinter", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--decode", type=int, default=24)
    parser.add_argument("--vocabulary", type=int, default=128)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    failures = 0
    for path in arguments.files:
        tokens = tokens_of(arguments.tokens, arguments.vocabulary)
        try:
            expected = peer_rows(arguments.peer, path, tokens)
            found = sinter_rows(arguments.sinter, path, tokens, arguments.decode, len(expected[0]),
                                ["--device", arguments.device])
            largest, position, differ = compare(expected, found)
            good = largest <= MOST_KL and differ == 0
            verdict = "agrees" if good else "DIFFERS"
            print(f"{Path(path).stem:28} {verdict}  KL {largest:.1e} at {position}, "
                  f"{differ} best tokens differ", flush=True)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            good = False
            print(f"{Path(path).stem:28} refused  {str(error)[:200]}", flush=True)
        failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
