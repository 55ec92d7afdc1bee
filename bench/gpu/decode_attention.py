#!/usr/bin/env python3
"""Measures attention of decode over long contexts on the first CUDA device: each form of a plan, one sequence and
several, at the rate of a copy in the same process.

    decode_attention.py compile --compiler sinter-compiler --plans DIR     # where the compiler is
    decode_attention.py run --sinter sinter-portable --plans DIR           # where the GPU is

A model of --shape has --layers layers, so that its caches fit; `run` needs numpy and fills it with random weights. The
last column is the share of the copy's rate at which a kernel moves keys and values.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

import shapes

FORMS = ("registers", "pipeline")


def shape_of(options):
    return dataclasses.replace(shapes.shape_of(options.shape), layers=options.layers)


def compile_plans(options):
    options.plans.mkdir(parents=True, exist_ok=True)
    path = options.plans / "model.gguf"
    shapes.write_header(path, shape_of(options), shapes.TYPES["Q8_0"])
    for form in FORMS:
        subprocess.run([options.compiler, "plan", str(path), "--target", options.target, "--decode-attention", form,
                        "-o", str(options.plans / f"{form}.plan")], check=True, stdout=subprocess.DEVNULL)
    path.unlink()


def kernels_of(options, model, form, sequences):
    out = subprocess.run([options.sinter, "explain", str(model), "--plan", str(options.plans / f"{form}.plan"),
                          "--device", "cuda", "--no-weight-cache", "--prompt", "16", "--depth", str(options.depth),
                          "--parallel", str(sequences), "--json"], check=True, capture_output=True, text=True).stdout
    decode = json.loads(out)["steps"][-1]
    return [kernel for kernel in decode["kernels"] if kernel["kernel"].startswith("attention")]


def run(options):
    print(f"{'form':10} {'sequences':>9} {'kernel':28} {'us a layer':>10} {'of floor':>8} {'of copy':>8}")
    with tempfile.TemporaryDirectory(dir=options.models) as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        model = pathlib.Path(folder) / "model.gguf"
        shapes.fill(model, shape_of(options), shapes.TYPES["Q8_0"], 1)
        for sequences in options.sequences:
            for form in FORMS:
                for kernel in kernels_of(options, model, form, sequences):
                    each = kernel["seconds"] / kernel["launches"] * 1e6
                    floor = kernel["seconds"] / kernel["floor_seconds"]
                    print(f"{form:10} {sequences:9} {kernel['kernel']:28} {each:10.1f} {floor:8.2f} {1 / floor:8.1%}",
                          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("compile", "run"))
    parser.add_argument("--plans", type=pathlib.Path, required=True, help="folder of plans")
    parser.add_argument("--compiler", default="sinter-compiler", help="for compile")
    parser.add_argument("--sinter", default="sinter", help="for run")
    parser.add_argument("--target", default="cuda:sm_90a", help="for compile")
    parser.add_argument("--shape", default="8B")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--depth", type=int, default=32000, help="tokens of each sequence before the step")
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--models", help="folder for the model file while it runs (default: the system's)")
    options = parser.parse_args()
    (compile_plans if options.verb == "compile" else run)(options)


if __name__ == "__main__":
    main()
