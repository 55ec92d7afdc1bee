#!/usr/bin/env python3
"""Compares the perplexity of a fixed text by Sinter with that by llama-perplexity.

    compare_perplexity.py --sinter BINDIR --peer BINDIR [--text FILE] [--window N] MODEL.gguf...

The text is a part of Alice's Adventures in Wonderland (Lewis Carroll, 1865, public domain). Both
programs cut it into the same windows and score the second half of each; the peer has flash
attention on. Exit code 0: for every model the two agree within 0.5 %.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 0.005
MIN_TOKENS = 8000
SINTER_LINE = re.compile(r"perplexity ([0-9.]+) over \d+ tokens in (\d+) windows of (\d+)")
PEER_CHUNKS = re.compile(r"calculating perplexity over (\d+) chunks, n_ctx=(\d+)")
PEER_LINE = re.compile(r"Final estimate: PPL = ([0-9.]+)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.gguf")
    parser.add_argument("--sinter", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--peer", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--text", default=HERE / "alice.txt", type=pathlib.Path)
    parser.add_argument("--window", default=512, type=int)
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    return parser.parse_args()


def output_of(command):
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{text}")
    return text


def find(pattern, text, program):
    match = pattern.search(text)
    if not match:
        raise SystemExit(f"{program} printed no '{pattern.pattern}':\n{text}")
    return match.groups()


def run_sinter(args, model):
    command = [args.sinter / "sinter", "perplexity", model, args.text]
    text = output_of(command + ["--threads", 2, "--window", args.window])
    value, windows, window = find(SINTER_LINE, text, "sinter")
    return float(value), (int(windows), int(window))


def run_peer(args, model):
    command = [args.peer / "llama-perplexity", "-m", model, "-f", args.text, "-c", args.window]
    text = output_of(command + ["-t", 2, "-tb", 2, "-fa", "on"])
    windows, window = find(PEER_CHUNKS, text, "llama-perplexity")
    (value,) = find(PEER_LINE, text, "llama-perplexity")
    return float(value), (int(windows), int(window))


def compare(args, model):
    ours, our_windows = run_sinter(args, model)
    peers, peer_windows = run_peer(args, model)
    if our_windows != peer_windows:
        raise SystemExit(f"windows of {model.name}: {our_windows}, the peer's {peer_windows}")
    windows, window = our_windows
    if windows * window < MIN_TOKENS:
        raise SystemExit(f"{windows} windows of {window}, expected {MIN_TOKENS} tokens or more")
    return {
        "model": model.name,
        "windows": windows,
        "window": window,
        "sinter": ours,
        "peer": peers,
        "ratio": ours / peers,
        "pass": abs(ours / peers - 1) <= LIMIT,
    }


def main():
    args = parse_arguments()
    results = []
    for model in args.models:
        result = compare(args, model)
        results.append(result)
        print(
            f"{result['model']}: {result['windows']} windows of {result['window']} tokens,"
            f" sinter {result['sinter']:.4f}, peer {result['peer']:.4f},"
            f" ratio {result['ratio']:.5f}: {'PASS' if result['pass'] else 'FAIL'}",
            flush=True,
        )
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if all(result["pass"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
