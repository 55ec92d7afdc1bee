#!/usr/bin/env python3
"""Compares a GPU's logits with a CPU's in every weight format, with random weights of the shape `tiny`.

    formats.py compile --sinter sinter --plans DIR                          # where the compiler is
    formats.py run --sinter sinter-portable --greedy text_greedy --plans DIR [--device cuda|vulkan]

`compile` makes a plan for each format and the GPU, and one of F32 for CPUs. `run` needs numpy. It fills each model
with weights drawn by --seed, scores a prompt (prefill) and decodes tokens on the GPU. The CPU does the same with
the weights that `sinter quantize` dequantizes to F32. A line says the mean KL divergence of the GPU's logits from the
CPU's, and how many of the tokens with the largest logit agree. The exit status is 1 where a divergence is beyond
--most.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import shapes

SHAPE, CPU, REFERENCE = "tiny", "avx2", "reference.plan"
PROMPT, SCORED, DECODED = "\n".join(f"{i * 37 % 101} of them, then {i}" for i in range(4)), 40, 8


def compile_plan(options, kind, target, activations, plan):
    if plan.exists():
        return
    model = options.plans / f"{SHAPE}-{kind}.gguf"
    shapes.write_header(model, shapes.SHAPES[SHAPE], shapes.TYPES[kind])
    done = subprocess.run([options.sinter, "compile", model, "--target", target, "--activations", activations, "-o",
                           plan], capture_output=True, text=True)
    model.unlink()
    print(f"{plan.name}: {done.stderr.strip()[-200:] if done.returncode else 'compiled'}", flush=True)


def compile_plans(options):
    options.plans.mkdir(parents=True, exist_ok=True)
    compile_plan(options, "F32", CPU, "f32", options.plans / REFERENCE)
    for kind in options.types:
        compile_plan(options, kind, options.target, options.activations, options.plans / f"{SHAPE}-{kind}.plan")


def dequantize(options, model, folder):
    """The model's weights in a file with the header that the CPU's plan was compiled for."""
    wide, path = folder / "wide.gguf", folder / f"{SHAPE}-F32.gguf"
    subprocess.run([options.sinter, "quantize", model, "--type", "F32", "-o", wide], check=True, capture_output=True)
    places = shapes.write_header(path, shapes.SHAPES[SHAPE], shapes.TYPES["F32"])
    data = wide.read_bytes()
    with open(path, "r+b") as file:  # tensors have the same order, and rows that need no padding
        first = places[0][0]
        size = path.stat().st_size - first
        file.seek(first)
        file.write(data[len(data) - size:])
    wide.unlink()
    return path


def logits_of(options, device, model, plan, folder):
    """Rows of a prompt's last positions, then those of decoded tokens; or why there are none."""
    import numpy
    prompt, out, rows = folder / "prompt.txt", folder / "logits", []
    prompt.write_text(PROMPT)
    for mode, count in ((["--score"], SCORED), ([], DECODED)):
        command = [options.greedy, "--device", device, *mode, model, plan, str(count), out, prompt]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.strip()[-300:]
        rows.append(numpy.fromfile(out, numpy.float32).reshape(-1, shapes.SHAPES[SHAPE].vocabulary))
    return rows, None


def divergence(base, other):
    """Mean over rows, in nats."""
    import numpy

    def logs(rows):
        rows = rows.astype(numpy.float64) - rows.max(axis=1, keepdims=True)
        return rows - numpy.log(numpy.exp(rows).sum(axis=1, keepdims=True))
    p, q = logs(base), logs(other)
    return float((numpy.exp(p) * (p - q)).sum(axis=1).mean())


def compare(options, kind, folder):
    """(what to print, whether it is within the bound)"""
    model = folder / f"{SHAPE}-{kind}.gguf"
    shapes.fill(model, shapes.SHAPES[SHAPE], shapes.TYPES[kind], options.seed)
    found, why = logits_of(options, options.device, model, options.plans / f"{SHAPE}-{kind}.plan", folder)
    if found:
        wide = dequantize(options, model, folder)
        expected, why = logits_of(options, "cpu", wide, options.plans / REFERENCE, folder)
    if why:
        return why, False
    # Tokens of both decodings agree up to the first that does not.
    same = (found[1].argmax(axis=1) == expected[1].argmax(axis=1)).tolist() + [False]
    until = min(same.index(False) + 1, DECODED)
    kl = divergence(expected[0], found[0]), divergence(expected[1][:until], found[1][:until])
    agree = int((found[0].argmax(axis=1) == expected[0].argmax(axis=1)).sum())
    spread = float(expected[0].std())
    return (f"prefill KL {kl[0]:.2e}, {agree}/{SCORED} agree; decode KL {kl[1]:.2e}, {same.index(False)}/{DECODED} "
            f"agree; deviation of logits {spread:.2f}"), max(kl) <= options.most and spread > 0.05


def run(options):
    os.environ.setdefault("XDG_CACHE_HOME", tempfile.gettempdir())
    bad = []
    with tempfile.TemporaryDirectory() as name:
        for kind in options.types:
            text, good = compare(options, kind, pathlib.Path(name))
            bad += [] if good else [kind]
            print(f"{kind:8} {'' if good else 'BAD '}{text}", flush=True)
    print(f"beyond the bound: {' '.join(bad) or 'none'}")
    sys.exit(1 if bad else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("compile", "run"))
    parser.add_argument("--sinter", required=True, type=pathlib.Path, help="the program; for `run` sinter-portable will do")
    parser.add_argument("--greedy", type=pathlib.Path, help="bench/text's text_greedy, for run")
    parser.add_argument("--plans", type=pathlib.Path, required=True, help="folder of plans")
    parser.add_argument("--types", nargs="+", default=list(shapes.TYPES), choices=list(shapes.TYPES))
    parser.add_argument("--target", default="cuda:sm_90a", help="for compile")
    parser.add_argument("--activations", default="fastest", help="of the GPU's plan")
    parser.add_argument("--device", default="cuda", help="for run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=2e-3, help="bound of the mean divergence, in nats")
    options = parser.parse_args()
    (compile_plans if options.verb == "compile" else run)(options)


if __name__ == "__main__":
    main()
