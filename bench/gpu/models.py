#!/usr/bin/env python3
"""Measures whole models of many shapes on the first GPU, with random weights.

A row is SHAPE/TYPE/WORK: 8B/Q8_0/decode1. --rows takes patterns (`8B/*/decode*`), so a change reruns only what
it touched. Shapes: see shapes.py; `drawn` is a shape that no one tuned for, another one at each `compile`.
Works: prefill16, prefill128, prefill512, prefill4096; decode1, decode8, decode32, decode64 (sequences, after 512
tokens each); attention1, attention16 (sequences: all launches of attention in a step after 32,000 tokens each); load
(seconds to the first token, beside reading and copying the file plainly); start (the same of a first start, in which
the driver assembles the plan's code).

    models.py compile --sinter sinter --plans DIR --rows '8B/*'           # where the compiler is
    models.py run --sinter sinter-portable --plans DIR --rows '8B/*' --commit ID --out R.json    # where the GPU is

`run` needs PyTorch and numpy. It fills each model file with weights drawn by --seed (printed where not given),
measures the rates of a copy and of a matrix product, and runs `sinter bench` and `sinter explain`. A row's floor is
the larger of two times: weights and keys read once at the copy's rate, and operations at the product's rate. With
--llama DIR (llama-bench and llama-batched-bench, built for CUDA) the peer runs the same rows in the same call.
--device vulkan measures that driver, with plans compiled for its target (`sinter devices` prints it).
"""
import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import model_works
import shapes
from floors import measured_rates
from processes import run_limited

TYPES = ("F16", "Q8_0", "Q4_0", "Q4_K")
WORKS = {  # by name, how it is measured
    **{f"prefill{tokens}": model_works.speeds for tokens in (16, 128, 512, 4096)},
    **{f"decode{sequences}": model_works.speeds for sequences in (1, 8, 32, 64)},
    **{f"attention{sequences}": model_works.attention for sequences in (1, 16)},
    "load": model_works.load, "start": model_works.start}
DEPTH = 512  # tokens before those that decode makes
LONG_DEPTH = 32000  # the same where attention alone is measured
DECODED = {1: 64}  # of one sequence; of several:
DECODED_OF_MANY = 16
NUMBERED = re.compile(r"(prefill|decode|attention)(\d+)")


@dataclasses.dataclass(frozen=True)
class Row:
    shape: str
    kind: str
    work: str

    def __str__(self):
        return f"{self.shape}/{self.kind}/{self.work}"

    @property
    def model(self):
        return f"{self.shape}-{self.kind}"

    def number_of(self, work, otherwise):
        found = NUMBERED.fullmatch(self.work)
        return int(found.group(2)) if found and found.group(1) == work else otherwise

    @property
    def sequences(self):
        return self.number_of("decode", self.number_of("attention", 1))

    @property
    def prompt(self):
        return self.number_of("prefill", DEPTH if self.work.startswith("decode") else 16)

    @property
    def depth(self):
        return LONG_DEPTH

    @property
    def generated(self):
        return DECODED.get(self.sequences, DECODED_OF_MANY)


def rows_of(patterns, names):
    every = [Row(shape, kind, work) for shape in names for kind in shapes.TYPES for work in WORKS]
    found = [row for row in every if any(fnmatch.fnmatch(str(row), p) for p in patterns)]
    if not found:
        sys.exit(f"no row is called {' or '.join(patterns)}, expected SHAPE/TYPE/WORK with a shape of "
                 f"{', '.join(names)}, a type of {', '.join(shapes.TYPES)}, a work of {', '.join(WORKS)}")
    return found


def models_of(rows):
    """Rows by their model file, in order."""
    models = {}
    for row in rows:
        models.setdefault(row.model, []).append(row)
    return models


# ---- the verbs ----

def plans_in(folder, model):
    """The plan of a model, by exact name."""
    path = folder / f"{model}.plan"
    return path if path.exists() else None


def compile_plans(options):
    options.plans.mkdir(parents=True, exist_ok=True)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    patterns = [re.sub(r"^drawn/", f"drawn{seed}/", pattern) for pattern in options.rows]
    rows = rows_of(patterns, [*shapes.SHAPES, f"drawn{seed}"])
    for model, of in models_of(rows).items():
        path = options.plans / f"{model}.gguf"
        try:
            shapes.write_header(path, shapes.shape_of(of[0].shape), shapes.TYPES[of[0].kind])
        except ValueError as error:
            print(f"{model}: {error}")
            continue
        _, why = run_limited([options.sinter, "compile", path, "--target", options.target, "-o",
                              options.plans / f"{model}.plan"], options.seconds)
        path.unlink()
        print(f"{model}: {why or 'compiled'}", flush=True)


def run_model(options, path, plan, rows, rates):
    """Yields (row, figures) once measured."""
    for row in rows:
        result, why = WORKS[row.work](options, path, plan, row, rates)
        result = {"why": why} if why else result
        if options.llama and row.work.startswith(("prefill", "decode")):
            found, why = model_works.peer(options, path, row, rates)
            result["peer"] = {"why": why} if why else found
        yield row, result


def line_of(row, result):
    def told(r):
        if "why" in r:
            return f"{r['why']:>10}"
        if "plain_seconds" in r:
            return f"{r['seconds']:10.2f} s, {r['times_of_plain']:.2f} times reading and copying plainly"
        if "seconds" in r:
            return f"{r['seconds']:10.2f} s"
        if "microseconds" in r:
            return f"{r['microseconds']:10.1f} us {'':7}{r['share_of_copy']:7.1%}"
        return f"{r['tokens_per_second']:10.1f} {r['times_of_floor']:9.2f} {r['share_of_copy']:7.1%}"
    return f"{str(row):28}{told(result)}" + (f"   peer {told(result['peer'])}" if "peer" in result else "")


def save(path, results):
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.replace(path)


def run_rows(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    there = {path.stem.rsplit("-", 1)[0] for path in options.plans.glob("drawn*.plan")}
    patterns = [re.sub(r"^drawn/", "drawn*/", pattern) for pattern in options.rows]
    models = models_of(rows_of(patterns, [*shapes.SHAPES, *sorted(there)]))
    rates = measured_rates()
    taken = {"device": rates["device"], "driver": options.device, "commit": options.commit, "seed": seed,
             "copy_gb_per_second": round(rates["bytes_per_second"] * 1e-9),
             "bf16_tflops": round(rates["operations_per_second"] * 1e-12)}
    print(json.dumps(taken))
    print(f"{'row':28}{'tokens/s':>10} {'of floor':>9} {'of copy':>7}", flush=True)
    results = json.loads(options.out.read_text()) if options.out and options.out.exists() else {"rows": {}}
    results["command"] = "bench/gpu/models.py " + " ".join(sys.argv[1:])
    with tempfile.TemporaryDirectory(dir=options.models) as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for model, rows in models.items():
            path, plan = pathlib.Path(folder) / f"{model}.gguf", plans_in(options.plans, model)
            if not plan:
                print(f"{model}: no plan in {options.plans}")
                continue
            try:
                shapes.fill(path, shapes.shape_of(rows[0].shape), shapes.TYPES[rows[0].kind], seed)
            except ValueError as error:
                print(f"{model}: {error}")
                continue
            for row, result in run_model(options, path, plan, rows, rates):
                print(line_of(row, result), flush=True)
                key = str(row) if options.device == "cuda" else f"{row}@{options.device}"
                results["rows"][key] = result | taken
                if options.out:
                    save(options.out, results)
            path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("compile", "run"))
    parser.add_argument("--sinter", required=True, help="the program; for `run` sinter-portable will do")
    parser.add_argument("--plans", type=pathlib.Path, required=True, help="folder of plans")
    parser.add_argument("--rows", nargs="+", default=[f"*/{kind}/*" for kind in TYPES], help="patterns")
    parser.add_argument("--target", default="cuda:sm_90a", help="for compile")
    parser.add_argument("--device", default="cuda", help="for run: cuda, vulkan")
    parser.add_argument("--seconds", type=float, default=120, help="limit of one process")
    parser.add_argument("--seed", type=int, help="of weights (run) or of the drawn shape (compile)")
    parser.add_argument("--llama", type=pathlib.Path, help="folder of the peer's programs")
    parser.add_argument("--models", help="folder for model files while they run (default: the system's)")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=pathlib.Path, help="results (JSON); rows that are there are replaced")
    options = parser.parse_args()
    (compile_plans if options.verb == "compile" else run_rows)(options)


if __name__ == "__main__":
    main()
