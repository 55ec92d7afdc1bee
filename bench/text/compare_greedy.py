#!/usr/bin/env python3
"""Compares Sinter's greedy tokens and logits with a peer's on fixed prompts.

    compare_greedy.py --sinter BINDIR --peer BINDIR [--prompts FILE] [--steps N] MODEL.gguf...

BINDIR of --sinter holds sinter-compiler and text_greedy (target `benchmarks`), that of --peer
holds peer_greedy (bench/peer/build_llama_cpp.sh). Both get the same token ids, choose the largest
logit N times and keep every row of logits. Rows are compared as far as both saw the same tokens: up
to and with the row where the choices first differ. Such a difference passes only if there the
peer's two largest logits are closer than twice the largest difference of any logit seen so far, and
that difference is at most 0.5 (0.05 for a file whose matrices are F16). A prompt without a first
difference passes whatever its logits; the summary also counts the prompts whose logits stay within
the limit. Exit code 0: every prompt passes.

--control judges, by the same rule, the peer against itself with its flash attention off: how much
of a difference is due to rounding alone. --exact judges both sides against Sinter with activations
in f32, which rounds only weights, keys and values: how far each side's own rounding leads. The
second side of a pair is the reference, whose gap between its two largest logits counts; only the
first pair decides on the exit code.
"""

import argparse
import array
import json
import operator
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONTEXT = 1024


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.gguf")
    parser.add_argument("--sinter", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--peer", required=True, type=pathlib.Path, metavar="BINDIR")
    parser.add_argument("--prompts", default=HERE / "prompts.json", type=pathlib.Path)
    parser.add_argument("--steps", default=64, type=int)
    parser.add_argument("--control", action="store_true", help="also compare the peer with itself")
    parser.add_argument("--exact", action="store_true",
                        help="also compare both with activations in f32")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    return parser.parse_args()


def run(command):
    """The JSON lines that a program prints."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_sinter(args, model, work, name, activations="fastest"):
    texts = json.loads(args.prompts.read_text(encoding="utf-8"))
    paths = []
    for index, text in enumerate(texts):
        paths.append(work / f"{index}.txt")
        paths[-1].write_bytes(text.encode("utf-8"))
    plan = work / "plan"
    subprocess.run(
        [args.sinter / "sinter-compiler", "plan", model, "-o", plan, "--activations", activations],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    command = [args.sinter / "text_greedy", model, plan, args.steps, work / name, *paths]
    return run(command)


def run_peer(args, model, work, name, flash):
    command = [args.peer / "peer_greedy", model, work / "prompts.jsonl", args.steps]
    return run(command + ["--logits", work / name, "--threads", 2, "--flash", flash])


class Rows:
    """Rows of f32 in a file, read one at a time."""

    def __init__(self, path, count):
        self._file = open(path, "rb")
        self.width = path.stat().st_size // 4 // count
        if self.width * 4 * count != path.stat().st_size:
            raise SystemExit(f"{path}: {path.stat().st_size} bytes, expected {count} equal rows")

    def __getitem__(self, index):
        self._file.seek(index * self.width * 4)
        row = array.array("f")
        row.fromfile(self._file, self.width)
        return row


def largest_difference(a, b):
    """Of any pair; not a number where a row holds one."""
    differences = list(map(operator.sub, a, b))
    total = sum(differences)
    return max(max(differences), -min(differences)) if total == total else total


def is_far(result):
    """Whether the reference's choice was clearer than the differences of logits explain."""
    return not result["gap"] < 2 * result["difference"]


def judge(side, reference, side_rows, reference_rows, first_row, limit):
    """One prompt: the result as a dict."""
    largest = 0.0
    for step, (ours, theirs) in enumerate(zip(side["tokens"], reference["tokens"])):
        row = reference_rows[first_row + step]
        difference = largest_difference(side_rows[first_row + step], row)
        if difference != difference:
            return {"same": step, "difference": difference, "gap": None, "pass": False}
        largest = max(largest, difference)
        if ours != theirs:
            second, first = sorted(row)[-2:]
            gap = first - second
            result = {"same": step, "difference": largest, "gap": gap}
            return {**result, "pass": not is_far(result) and largest <= limit}
    return {"same": len(reference["tokens"]), "difference": largest, "gap": None, "pass": True}


def judge_all(work, prompts, sides, names, limit):
    """The results of two sides, whose rows lie in the files of these names."""
    steps = len(sides[0][0]["tokens"])
    rows = [Rows(work / name, len(prompts) * steps) for name in names]
    if rows[0].width != rows[1].width:
        raise SystemExit(f"logits: {rows[0].width} and {rows[1].width} wide")
    results = []
    for index, (ours, theirs) in enumerate(zip(*sides, strict=True)):
        result = judge(ours, theirs, *rows, index * steps, limit)
        results.append({"prompt_tokens": len(prompts[index]), **result})
    return results


def compare(args, model):
    """A report for each pair of sides that is asked for."""
    limit = 0.05 if "F16" in model.name.upper() else 0.5
    report = {"model": model.name, "limit": limit, "steps": args.steps}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        sinter = run_sinter(args, model, work, "sinter.f32")
        prompts = [entry["prompt"] for entry in sinter]
        if any(len(ids) + args.steps > CONTEXT for ids in prompts):
            raise SystemExit(f"a prompt and {args.steps} steps exceed {CONTEXT} tokens")
        lines = [json.dumps({"tokens": ids}) + "\n" for ids in prompts]
        (work / "prompts.jsonl").write_text("".join(lines))
        peer = run_peer(args, model, work, "peer.f32", "on")
        sides = {"sinter": (sinter, "sinter.f32"), "peer": (peer, "peer.f32")}
        pairs = [("sinter", "peer")]
        if args.control:
            plain = run_peer(args, model, work, "plain.f32", "off")
            sides["peer without flash"] = (plain, "plain.f32")
            pairs.append(("peer without flash", "peer"))
        if args.exact:
            exact = run_sinter(args, model, work, "exact.f32", "f32")
            sides["exact"] = (exact, "exact.f32")
            pairs += [("sinter", "exact"), ("peer", "exact")]
        reports = []
        for names in pairs:
            tokens, files = zip(*(sides[name] for name in names))
            results = judge_all(work, prompts, tokens, files, limit)
            about = {"sides": ", ".join(names), "decides": names == pairs[0]}
            reports.append({**report, **about, "prompts": results})
    return reports


def show(report):
    print(f"{report['model']}: {report['sides']}; logits may differ by {report['limit']}")
    print("prompt  tokens  same  largest difference         gap")
    for index, result in enumerate(report["prompts"]):
        gap = "" if result["gap"] is None else f"{result['gap']:.4f}"
        verdict = "PASS" if result["pass"] else "FAIL"
        print(
            f"{index:6}  {result['prompt_tokens']:6}  {result['same']:4}"
            f"  {result['difference']:18.4f}  {gap:>10}  {verdict}"
        )
    prompts, count = report["prompts"], len(report["prompts"])
    same = sum(result["same"] == report["steps"] for result in prompts)
    within = sum(result["difference"] <= report["limit"] for result in prompts)
    close = sum(result["gap"] is not None and not is_far(result) for result in prompts)
    passed = sum(result["pass"] for result in prompts)
    largest = max(result["difference"] for result in prompts)
    print(
        f"{report['model']}: {report['sides']}: of {count} prompts {same} identical,"
        f" {close} differ first at a near tie, {within} within the limit,"
        f" largest difference {largest:.4f}, {passed} pass:"
        f" {'PASS' if passed == count else 'FAIL'}\n",
        flush=True,
    )
    return passed == count


def main():
    args = parse_arguments()
    reports, passed = [], True
    for model in args.models:
        for report in compare(args, model):
            passes = show(report)
            passed &= passes or not report["decides"]
            reports.append(report)
    if args.json:
        args.json.write_text(json.dumps(reports, indent=1) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
