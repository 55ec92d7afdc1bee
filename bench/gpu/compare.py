#!/usr/bin/env python3
"""Compares Sinter's kernels with cuBLAS, cuDNN and torch.compile on the first CUDA device, in turns.

Runs where there is a driver, PyTorch and Triton; no compiler of Sinter's is needed there. Make the
bundle on a machine with one:

    sinter kernel pack bench/gpu/cases.txt --target cuda:sm_90a -o kernels.bundle

Then: compare.py --sinter sinter --bundle kernels.bundle --out bench/results/NAME.json --commit ID
Every `run` case of the bundle is checked first, and sampled rows of each attention against f64; a
wrong result stops the comparison.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

import attention

PEERS = pathlib.Path(__file__).with_name("peers.py")
BARS = {"gemm": 0.85, "rms_norm": 1.0, "layer_norm": 1.0, "softmax": 1.0, "silu_mul": 1.0, "attention": 0.5}


def name_of(case):
    """`gemm_4096` of a square product, `attention_4k` by the sequences' length, the kernel's own name
    of another case."""
    kernel = case.split()[1]
    length = re.search(r"--fill kv_lengths=(\d+)", case)
    if kernel == "attention" and length:
        return f"attention_{int(length.group(1)) // 1024}k"
    size = re.search(r"--set n=(\d+)", case)
    return f"{kernel}_{size.group(1)}" if kernel == "gemm" and size else kernel


def sinter_figures(arguments):
    text = subprocess.run(
        [arguments.sinter, "kernel", "bench", arguments.bundle, "--device", "cuda", "--seconds",
         str(arguments.seconds), "--only", arguments.only], check=True, capture_output=True, text=True).stdout
    figures, case = {}, None
    for line in text.splitlines():
        if line.startswith("bench "):
            case = name_of(line)
        elif case and (found := re.search(r"median ([\d.]+) us", line)):
            figures[case] = float(found.group(1))
    return figures


def attention_cases(arguments):
    """Labels of the bundle's attentions that are timed."""
    text = subprocess.run([arguments.sinter, "kernel", "bench", arguments.bundle, "--device", "cuda",
                           "--seconds", "0", "--only", "attention"], check=False,
                          capture_output=True, text=True).stdout
    return [line for line in text.splitlines()
            if line.startswith("bench attention") and arguments.only in line]


def peer_figures(arguments):
    text = subprocess.run([sys.executable, PEERS, "--seconds", str(arguments.seconds), "--only",
                           arguments.only], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sinter", default="sinter")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure and round")
    parser.add_argument("--only", default="", help="the kernel of this name alone")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    subprocess.run([arguments.sinter, "kernel", "run", arguments.bundle, "--device", "cuda"],
                   check=True, stdout=subprocess.DEVNULL)
    attention.check(arguments, attention_cases(arguments))
    rounds = [(sinter_figures(arguments), peer_figures(arguments)) for _ in range(arguments.rounds)]
    result = {"device": rounds[0][1]["device"], "torch": rounds[0][1]["torch"],
              "commit": arguments.commit, "command": " ".join(sys.argv),
              "copy_gb_per_second": rounds[0][1]["copy_gb_per_second"], "kernels": {}}
    print(f"{'kernel':14} {'Sinter us':>10} {'peer us':>10} {'ratio':>6}   bar")
    for name in rounds[0][0]:
        mine = statistics.median(own[name] for own, _ in rounds)
        peer = statistics.median(other[name] for _, other in rounds)
        ratio = statistics.median(other[name] / own[name] for own, other in rounds)
        bar = BARS[name.split("_")[0] if name.startswith(("gemm", "attention")) else name]
        result["kernels"][name] = {"sinter_us": mine, "peer_us": peer, "ratio": round(ratio, 3)}
        print(f"{name:14} {mine:10.1f} {peer:10.1f} {ratio:6.2f}   {bar:4.2f} "
              f"{'PASS' if ratio >= bar else 'FAIL'}" +
              (f"   {attention.operations(name) / mine * 1e-6:.0f} TFLOP/s"
               if name.startswith("attention") else ""))
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
