"""Causal attention beside cuDNN: the peer's figures, and Sinter's results against f64 on sampled rows."""
import pathlib
import re
import subprocess
import tempfile

import torch

HEADS, WIDTH, TOKENS = 16, 128, 16384
# Weights and results are rounded to bf16: 2^-8 each, of values of at most the largest.
BOUND = 2 ** -7


def peers(lengths, dtype=torch.bfloat16):
    """cuDNN's forward pass through PyTorch, as many sequences as make TOKENS."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    functional = torch.nn.functional
    for length in lengths:
        shape = (TOKENS // length, HEADS, length, WIDTH)
        q, k, v = (torch.randn(shape, device="cuda").to(dtype) for _ in range(3))

        def run(q=q, k=k, v=v):
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        yield f"attention_{length // 1024}k", run


def operations(name):
    """Of both products, on the keys that each row sees."""
    length = int(re.search(r"_(\d+)k", name).group(1)) * 1024
    return 4 * HEADS * WIDTH * (TOKENS // length) * length * (length + 1) / 2


def shape_of(case, view):
    return [int(extent) for extent in re.search(rf"--shape {view}=([\dx]+)", case).group(1).split("x")]


def largest_error(case, folder, rows=32):
    """Of sampled rows of every head, as a share of the largest value."""
    def read(view, dtype):
        data = torch.frombuffer(bytearray((folder / f"{view}.bin").read_bytes()), dtype=dtype)
        return data.reshape(shape_of(case, view))
    q, keys, values, out = (read(view, torch.bfloat16) for view in ("q", "k_cache", "v_cache", "out"))
    table = read("page_table", torch.int32).long()
    positions = read("positions", torch.int32).flatten().long()
    scale = float(re.search(r"--scalar scale=([\d.]+)", case).group(1))
    length = len(positions) // len(table)
    worst = 0.0
    for row in torch.randint(len(positions), (rows,)).tolist() + [0, 127, 128, len(positions) - 1]:
        pages = table[row // length]
        k = keys[pages].cuda().double().permute(1, 2, 0, 3).flatten(2)
        v = values[pages].cuda().double().permute(1, 0, 2, 3).flatten(1, 2)
        seen = int(positions[row]) + 1
        scaled = (q[row].cuda().float() * scale).bfloat16().double()
        weights = torch.softmax(torch.einsum("hd,hdk->hk", scaled, k[:, :, :seen]), 1)
        exact = torch.einsum("hk,hkd->hd", weights, v[:, :seen])
        error = (out[row].cuda().double() - exact).abs().max().item()
        worst = max(worst, error / exact.abs().max().item())
    return worst


def check(arguments, cases):
    """Stops where a result is beyond the bound."""
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([arguments.sinter, "kernel", "bench", arguments.bundle, "--device", "cuda",
                            "--seconds", "0", "--only", case, "--dump", folder], check=True,
                           stdout=subprocess.DEVNULL)
            error = largest_error(case, pathlib.Path(folder))
        print(f"attention, {shape_of(case, 'page_table')[0]} sequences: largest error {error:.5f} of "
              f"a row's largest value, bound {BOUND:.5f}")
        if not error <= BOUND:
            raise SystemExit("attention is wrong")
