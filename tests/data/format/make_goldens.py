#!/usr/bin/env python3
"""Writes the golden files of this folder: blocks of every tensor type with what they decode to, and rows of numbers
with what they quantise to. The values come from the pip package gguf; types that it cannot decode (integers, F64, Q8_1,
Q8_K, Q1_0, Q2_0) from a line of numpy here.

Usage: make_goldens.py FOLDER    (gguf 0.19.0, numpy 2; the same bytes on every run)

decode/TYPE.bin:   "SGLD", u32 blocks, u32 block bytes, u32 block length, the blocks, one f32 an element
quantize/TYPE.bin: the same header and order, the elements being the input
"""
import pathlib
import struct
import sys

import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T

# Where the F16 level-1 numbers of a block lie, for types that have them.
F16_AT = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ3_XXS": [0],
          "IQ1_S": [0], "IQ4_NL": [0], "IQ3_S": [0], "IQ2_S": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64],
          "Q1_0": [0], "Q2_0": [0]}
# zero, minus zero, one, subnormal, largest, infinities, NaN
SPECIAL = [0x0000, 0x8000, 0x3c00, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00]
# gguf 0.19.0 lacks Q2_0 and gives Q8_1 the size it had when its scale and sum were F32.
SIZES = {t.name: GGML_QUANT_SIZES[t] for t in T} | {"Q2_0": (64, 18), "Q8_1": (32, 36)}
ROUNDED = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]


def f16_column(blocks, at):
    return blocks[:, at:at + 2].copy().view(np.float16).astype(np.float32)


def own_decode(name, blocks):
    if name in ("I8", "I16", "I32", "I64"):
        return blocks.view(f"<i{int(name[1:]) // 8}").astype(np.float32)
    if name == "F64":
        return blocks.view("<f8").astype(np.float32)
    if name == "Q8_1":
        return f16_column(blocks, 0) * blocks[:, 4:36].copy().view(np.int8).astype(np.float32)
    if name == "Q8_K":
        return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].copy().view(np.int8).astype(np.float32)
    if name == "Q1_0":
        bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
        return f16_column(blocks, 0) * (2 * bits.astype(np.float32) - 1)
    assert name == "Q2_0", name
    codes = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    return f16_column(blocks, 0) * (codes.reshape(len(blocks), 64).astype(np.float32) - 1)


def decode(name, blocks):
    if hasattr(T, name) and (T[name] in quants._type_traits or name in ("F32", "F16")):
        return quants.dequantize(blocks, T[name]).astype(np.float32)
    return own_decode(name, blocks)


def every_code(name, blocks):
    """Overwrites codes so that each entry of the type's grid is used."""
    count = {"IQ2_XXS": 256, "IQ2_XS": 512, "IQ2_S": 1024, "IQ3_XXS": 256, "IQ3_S": 512, "IQ1_S": 2048}[name]
    per_block = 64 if name.startswith("IQ3") else 32
    code = np.arange(count).reshape(-1, per_block)
    b = blocks[:len(code)]
    if name == "IQ2_XXS":
        b[:, 2:66].reshape(-1, 8, 8)[:, :, :4] = code.reshape(-1, 8, 4)
    elif name == "IQ2_XS":
        words = b[:, 2:66].copy().view("<u2")
        b[:, 2:66] = ((words & 0xfe00) | code).astype("<u2").view(np.uint8)
    else:
        b[:, 2:2 + per_block] = code & 255
    if name == "IQ2_S":
        high = (code >> 8).reshape(-1, 8, 4) << np.array([0, 2, 4, 6])
        b[:, 66:74] = high.sum(axis=-1)
    elif name == "IQ3_S":
        b[:, 66:74] = np.packbits((code >> 8).astype(np.uint8), axis=1, bitorder="little")
    elif name == "IQ1_S":
        words = b[:, 34:50].copy().view("<u2")
        high = ((code >> 8).reshape(-1, 8, 4) << np.array([0, 3, 6, 9])).sum(axis=-1)
        b[:, 34:50] = ((words & 0xf000) | high).astype("<u2").view(np.uint8)
    b[:, :2] = np.array([0x3c00], "<u2").view(np.uint8)
    return len(code)


def decode_blocks(name, rng):
    length, size = SIZES[name]
    random = {1: 512, 32: 40, 64: 24, 128: 16, 256: 12}[length]
    covered = name[:3] in ("IQ2", "IQ3") or name == "IQ1_S"
    total = random + (2048 // 32 if name == "IQ1_S" else 1024 // 32 if covered else 0)
    blocks = rng.integers(0, 256, (total, size), dtype=np.uint8)
    start = every_code(name, blocks) if covered else 0
    blocks = blocks[:start + random].copy()
    for i, special in enumerate(SPECIAL):
        for k, at in enumerate(F16_AT.get(name, [])):
            word = SPECIAL[(i + 4 * k) % len(SPECIAL)]  # the minimum is finite where the scale is not
            blocks[start + i, at:at + 2] = np.array([word], "<u2").view(np.uint8)
    if name == "IQ1_M":
        for i, special in enumerate(SPECIAL):
            for k in range(4):
                blocks[i, 49 + 2 * k] = (blocks[i, 49 + 2 * k] & 15) | ((special >> 4 * k & 15) << 4)
    if name in ("MXFP4", "NVFP4"):
        blocks[:8, 0] = [0, 1, 2, 127, 128, 254, 255, 0x7e]
    return blocks


def quantize_rows(length, rng):
    rows = [rng.normal(0, s, 256) for s in (1, 1e-3, 100, 1e-7, 1e-12, 1e-30)]
    rows.append(rng.integers(-16, 17, 256) / 2)        # many ties
    rows.append(np.zeros(256))
    rows.append(np.full(256, -3.25))
    rows.append(np.where(np.arange(256) % 32 == 7, 60000.0, 0.0))
    rows.append(rng.uniform(5, 6, 256))
    return np.array(rows, np.float32).reshape(-1, length)


def write(path, blocks, values, length):
    blocks, values = np.ascontiguousarray(blocks, np.uint8), np.ascontiguousarray(values, "<f4")
    assert values.size == len(blocks) * length
    path.write_bytes(b"SGLD" + struct.pack("<III", len(blocks), blocks.shape[1], length) + blocks.tobytes() +
                     values.tobytes())


def main(folder):
    folder = pathlib.Path(folder)
    np.seterr(all="ignore")
    for name, (length, _) in SIZES.items():
        rng = np.random.default_rng(sum(map(ord, name)))
        blocks = decode_blocks(name, rng)
        write(folder / "decode" / f"{name}.bin", blocks, decode(name, blocks), length)
    for name in ROUNDED:
        length, size = SIZES[name]
        values = quantize_rows(max(length, 32), np.random.default_rng(7))
        blocks = quants.quantize(values, T[name]).view(np.uint8).reshape(-1, size)
        write(folder / "quantize" / f"{name}.bin", blocks, values, length)


main(sys.argv[1])
