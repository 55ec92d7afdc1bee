#!/usr/bin/env python3
"""Compares what rounding activations costs Sinter and a peer: KL divergence from unrounded logits.

    compare_kl.py --sinter BINDIR --peer BINDIR [--excerpts N] [--positions N] MODEL.gguf...

BINDIR of --sinter holds sinter-compiler, text_greedy and text_divergence (target `benchmarks`),
that of --peer holds peer_greedy (bench/peer/build_llama_cpp.sh). Both score the same token ids: the prompts of
prompts.json and excerpts of alice.txt, of each the last positions. The base of both is Sinter with `--activations f32`, which quantizes no
activation. A row's divergence is the sum over the vocabulary of p * log(p / q), p by the base.
`--kv-type` and `--activations` are passed on to the side that is compared. Exit code 0: for every
model Sinter's mean is at most the peer's, within two standard errors of the paired difference.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare_greedy import CONTEXT, HERE, run

EXCERPT = 600  # characters
SAME = 1e-5  # mean divergences below are those of sums in another order


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.gguf")
    parser.add_argument("--sinter", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--peer", type=pathlib.Path, metavar="BINDIR", help="else Sinter alone")
    parser.add_argument("--excerpts", default=30, type=int)
    parser.add_argument("--positions", default=16, type=int)
    parser.add_argument("--kv-type", default="auto")
    parser.add_argument("--activations", default="fastest")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    return parser.parse_args()


def texts(args):
    """Prompts long enough to have the positions, and as many excerpts."""
    prompts = json.loads((HERE / "prompts.json").read_text(encoding="utf-8"))
    book = (HERE / "alice.txt").read_text(encoding="utf-8")
    starts = range(0, len(book) - EXCERPT, (len(book) - EXCERPT) // max(args.excerpts, 1))
    excerpts = [book[at : at + EXCERPT] for at in starts][: args.excerpts]
    return [text for text in prompts if len(text) >= 8 * args.positions] + excerpts


def score_by_sinter(args, model, work, name, options):
    """Sinter's logits in work/name; returns the prompts' token ids."""
    paths = []
    for index, text in enumerate(texts(args)):
        paths.append(work / f"{index}.txt")
        paths[-1].write_bytes(text.encode("utf-8"))
    plan = work / "plan"
    build = [args.sinter / "sinter-compiler", "plan", model, "-o", plan, *options]
    subprocess.run(build, stdout=subprocess.DEVNULL, check=True)
    command = [args.sinter / "text_greedy", "--score", model, plan, args.positions, work / name]
    return [line["prompt"] for line in run(command + paths)]


def score_by_peer(args, model, work, name, prompts):
    lines = [json.dumps({"tokens": ids}) + "\n" for ids in prompts]
    (work / "prompts.jsonl").write_text("".join(lines))
    command = [args.peer / "peer_greedy", model, work / "prompts.jsonl", args.positions]
    run(command + ["--logits", work / name, "--threads", 2, "--score"])


def divergences(args, work, name, count):
    """Of each row of the file from the base's."""
    size = (work / name).stat().st_size
    if size != (work / "base.f32").stat().st_size or size % (4 * count):
        raise SystemExit(f"{name}: {size} bytes, expected those of the base, {count} equal rows")
    width = size // (4 * count)
    command = [args.sinter / "text_divergence", width, work / "base.f32", work / name]
    return run(command)


def summary(values):
    error = statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": statistics.fmean(values), "median": statistics.median(values), "error": error}


def compare(args, model):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        prompts = score_by_sinter(args, model, work, "base.f32", ["--activations", "f32"])
        if any(len(ids) > CONTEXT for ids in prompts):
            raise SystemExit(f"a prompt exceeds {CONTEXT} tokens")
        count = len(prompts) * args.positions
        options = ["--activations", args.activations, "--kv-type", args.kv_type]
        score_by_sinter(args, model, work, "sinter.f32", options)
        ours = divergences(args, work, "sinter.f32", count)
        report = {"model": model.name, "positions": count, "sinter": summary(ours)}
        if args.peer:
            score_by_peer(args, model, work, "peer.f32", prompts)
            theirs = divergences(args, work, "peer.f32", count)
            report["peer"] = summary(theirs)
            report["difference"] = summary([a - b for a, b in zip(ours, theirs)])
    return report


def passes(report):
    if "peer" not in report:
        return math.isfinite(report["sinter"]["mean"])
    difference = report["difference"]
    return report["sinter"]["mean"] < SAME or difference["mean"] <= 2 * difference["error"]


def show(report):
    sides = "".join(
        f", {side} {report[side]['mean']:.5f} +- {report[side]['error']:.5f}"
        for side in ("sinter", "peer")
        if side in report
    )
    ratio = report["sinter"]["mean"] / report["peer"]["mean"] if "peer" in report else math.nan
    verdict = "PASS" if passes(report) else "FAIL"
    heading = f"{report['model']}: {report['positions']} positions"
    print(f"{heading}{sides}, ratio {ratio:.2f}: {verdict}", flush=True)


def main():
    args = parse_arguments()
    reports = []
    for model in args.models:
        reports.append(compare(args, model))
        show(reports[-1])
    if args.json:
        args.json.write_text(json.dumps(reports, indent=1) + "\n")
    return 0 if all(map(passes, reports)) else 1


if __name__ == "__main__":
    sys.exit(main())
