#!/usr/bin/env python3
"""Times PyTorch's kernels on the first CUDA device: cuBLAS products, torch.compile's row kernels, cuDNN's
attention.

Prints one JSON object: name -> median microseconds of a launch. Needs PyTorch with CUDA and, for
torch.compile, Triton. Inputs are random; the device's own clock is read around many launches.
"""
import argparse
import json
import statistics

import torch

import attention


def median_us(run, seconds):
    """The median over batches of launches, each batch between two events."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    batch = max(1, int(0.01 / max(start.elapsed_time(end) * 1e-3, 1e-6)))
    times = []
    while sum(times) * batch < seconds * 1e6:
        start.record()
        for _ in range(batch):
            run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / batch)
    return statistics.median(times)


def products(sizes, dtype):
    for size in sizes:
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        out = torch.empty(size, size, device="cuda", dtype=dtype)
        yield f"gemm_{size}", lambda a=a, b=b, out=out: torch.mm(a, b.t(), out=out)


def rows(count, columns, dtype):
    functional = torch.nn.functional
    x, gate = (torch.randn(count, columns, device="cuda").to(dtype) for _ in range(2))
    weight, bias = (torch.randn(columns, device="cuda").to(dtype) for _ in range(2))
    makers = {
        "rms_norm": lambda: functional.rms_norm(x, (columns,), weight, 1e-5),
        "layer_norm": lambda: functional.layer_norm(x, (columns,), weight, bias, 1e-5),
        "softmax": lambda: torch.softmax(x, dim=1),
        "silu_mul": lambda: functional.silu(gate) * x,
    }
    for name, maker in makers.items():
        yield name, torch.compile(maker)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="4096,8192,16384", help="edges of square products")
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--columns", type=int, default=8192)
    parser.add_argument("--lengths", default="4096,16384", help="of attention's sequences")
    parser.add_argument("--only", default="", help="figures whose names hold this")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",") if size]
    figures = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__}
    lengths = [int(length) for length in arguments.lengths.split(",") if length]
    for group in (products(sizes, torch.bfloat16), rows(arguments.rows, arguments.columns, torch.bfloat16),
                  attention.peers(lengths)):
        for name, run in group:
            if arguments.only not in name:
                continue
            figures[name] = round(median_us(run, arguments.seconds), 2)
    source = torch.randn(1 << 29, device="cuda")
    target = torch.empty_like(source)
    copy = median_us(lambda: target.copy_(source), arguments.seconds)
    figures["copy_gb_per_second"] = round(2 * source.numel() * 4 / copy * 1e-3, 1)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
