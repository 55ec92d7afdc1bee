#!/usr/bin/env python3
"""Measures whole models of many shapes on the first CUDA device, with random weights.

A row is SHAPE/TYPE/WORK: 8B/Q8_0/decode1. --rows takes patterns (`8B/*/decode*`), so a change reruns only what
it touched. Shapes: see shapes.py; `drawn` is a shape that no one tuned for, another one at each `compile`.
Works: load, prefill512, prefill4096, decode1, decode8, decode32, decode64 (sequences, after 512 tokens each).

    models.py compile --sinter sinter --plans DIR --rows '8B/*'           # where the compiler is
    models.py run --sinter sinter-portable --plans DIR --rows '8B/*' --commit ID --out R.json    # where the GPU is

`run` needs PyTorch and numpy. It fills each model file with weights drawn by --seed (printed where not given),
measures the rates of a copy and of a matrix product, and runs `sinter bench`. A row's floor is the larger of two
times: weights and keys read once at the copy's rate, and operations at the product's rate. With --llama DIR
(llama-bench and llama-batched-bench, built for CUDA) the peer runs the same rows in the same call.
"""
import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

import shapes

TYPES = ("F16", "Q8_0", "Q4_0", "Q4_K")
WORKS = ("load", "prefill512", "prefill4096", "decode1", "decode8", "decode32", "decode64")
DEPTH = 512  # tokens before those that decode makes
DECODED = {1: 64}  # of one sequence; of several:
DECODED_OF_MANY = 16


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

    @property
    def sequences(self):
        return int(self.work[len("decode"):]) if self.work.startswith("decode") else 1

    @property
    def prompt(self):
        return int(self.work[len("prefill"):]) if self.work.startswith("prefill") else DEPTH

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


# ---- processes ----

def run_limited(command, seconds):
    """(output, None), or (None, why there is none). The whole process group ends with its limit."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, f"not done in {seconds:g} s"
    if process.returncode:
        return None, f"ended with {process.returncode}: {errors.strip()[-300:]}"
    return out, None


def sinter_figures(sinter, model, plan, row, seconds):
    """Tokens per second by work (load: seconds), or why there are none."""
    repeat = 3 if row.sequences == 1 else 1
    command = [sinter, "bench", model, "--plan", plan, "--device", "cuda", "--no-weight-cache", "--json",
               "--prompt", row.prompt, "--gen", row.generated, "--parallel", row.sequences, "--repeat", repeat,
               "--context", row.prompt + row.generated + 64]
    out, why = run_limited([str(word) for word in command], seconds)
    if why:
        return None, why
    found = json.loads(out)
    return {"load": found["first_token_seconds"], f"prefill{row.prompt}": found["prefill_tokens_per_second"],
            f"decode{row.sequences}": found["decode_tokens_per_second"]}, None


def peer_figure(folder, model, row, seconds):
    """llama.cpp's tokens per second, or why there are none."""
    if row.work == "load":
        return None, "llama-bench does not tell"
    if row.sequences == 1:
        shape = ["-p", row.prompt, "-n", 0] if row.work.startswith("prefill") else \
            ["-p", 0, "-n", row.generated, "-d", DEPTH]
        command = [folder / "llama-bench", "-m", model, "-ngl", 99, "-fa", "on", "-o", "json", "-r", 3, *shape]
    else:
        command = [folder / "llama-batched-bench", "-m", model, "-ngl", 99, "-fa", "on", "-npp", DEPTH,
                   "-ntg", row.generated, "-npl", row.sequences, "--output-format", "jsonl",
                   "-c", row.sequences * (DEPTH + row.generated + 32)]
    out, why = run_limited([str(word) for word in command], seconds)
    if why:
        return None, why
    if row.sequences == 1:
        return json.loads(out)[0]["avg_ts"], None
    return json.loads([line for line in out.splitlines() if line.startswith("{")][0])["speed_tg"], None


# ---- floors ----

def measured_rates():
    """Of this device: bytes per second of a copy (read and written), operations of a bf16 product."""
    import torch
    from peers import median_us
    source = torch.randn(1 << 29, device="cuda")
    target = torch.empty_like(source)
    copy = median_us(lambda: target.copy_(source), 0.3)
    a, b = (torch.randn(8192, 8192, device="cuda").bfloat16() for _ in range(2))
    product = median_us(lambda: torch.mm(a, b.t()), 0.3)
    return {"device": torch.cuda.get_device_name(0), "bytes_per_second": 2 * source.numel() * 4 / copy * 1e6,
            "operations_per_second": 2 * 8192**3 / product * 1e6}


def work_of(row):
    """(tokens of a step, bytes that it must read, operations)."""
    shape, kind = shapes.shape_of(row.shape), shapes.TYPES[row.kind]
    tensors = [(e, k) for name, e, k in shapes.tensors_of(shape, kind)
               if len(e) > 1 and (shape.tied or name != "token_embd.weight")]
    output = shape.width * shape.vocabulary
    weights = sum(e[0] * e[1] for e, _ in tensors) - output  # of the layers
    read = sum(shapes.bytes_of(e, k) for e, k in tensors)
    per_key = shape.layers * shape.head
    if row.work.startswith("prefill"):
        keys = row.prompt * (row.prompt + 1) // 2  # that rows see
        return row.prompt, read, 2 * (weights * row.prompt + output) + 4 * keys * per_key * shape.heads
    keys = row.sequences * (DEPTH + row.generated // 2)
    return (row.sequences, read + keys * 2 * 2 * per_key * shape.kv_heads,
            2 * (weights + output) * row.sequences + 4 * keys * per_key * shape.heads)


def figures_of(row, tokens_per_second, rates):
    """What is said of a row: its speed, how many times its floor a step takes, and what share of the copy's
    bandwidth it reads at."""
    tokens, read, operations = work_of(row)
    seconds = tokens / tokens_per_second
    floor = max(read / rates["bytes_per_second"], operations / rates["operations_per_second"])
    return {"tokens_per_second": round(tokens_per_second, 2), "times_of_floor": round(seconds / floor, 2),
            "share_of_copy": round(read / seconds / rates["bytes_per_second"], 3)}


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
        _, why = run_limited([options.sinter, "compile", str(path), "--target", options.target, "-o",
                              str(options.plans / f"{model}.plan")], options.seconds)
        path.unlink()
        print(f"{model}: {why or 'compiled'}", flush=True)


def run_model(options, path, plan, rows, rates):
    """Yields (row, figures) once measured; a process that measures several rows runs once."""
    known = {}
    for row in rows:
        figures, why = known.get(row.work), None
        if figures is None:
            found, why = sinter_figures(options.sinter, path, plan, row, options.seconds)
            known.update(found or {})
            figures = known.get(row.work)
        if why:
            result = {"why": why}
        elif row.work == "load":
            result = {"seconds": round(figures, 3)}
        else:
            result = figures_of(row, figures, rates)
        if options.llama and row.work != "load":
            peer, why = peer_figure(options.llama, path, row, options.seconds)
            result["peer"] = {"why": why} if why else figures_of(row, peer, rates)
        yield row, result


def line_of(row, result):
    def told(r):
        if "why" in r:
            return f"{r['why']:>10}"
        if "seconds" in r:
            return f"{r['seconds']:10.2f} s"
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
    taken = {"device": rates["device"], "commit": options.commit, "seed": seed,
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
                results["rows"][str(row)] = result | taken
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
