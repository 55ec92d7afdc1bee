#!/usr/bin/env python3
"""Writes a model of a family's shape with random weights, to time it beside a peer: families.py FAMILY OUT.gguf

gemma3: six layers of a 1B (windows of 512 in five of six). qwen35: eight layers of a 0.8B (gated delta nets in three
of four). qwen3moe: two layers of a 30B with 128 experts, 8 of a token. Matrices are Q8_0, experts' files Q4_K.
"""
import array
import math
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / "tests/archs"))
import gguf_files  # noqa: E402

VOCABULARY = 1024
F32, Q8_0, Q4_K = 0, 8, 12
BLOCKS = {Q8_0: (32, 34), Q4_K: (256, 144)}  # elements and bytes
POOL, SHIFTS = 8192, 13  # blocks drawn; of each run of them any of so many begins


def vocabulary():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]
    tokens = letters + ["\u0120t", "he"]
    tokens += [f"<x{i}>" for i in range(VOCABULARY - len(tokens))]
    return [("tokenizer.ggml.model", "str", "gpt2"), ("tokenizer.ggml.pre", "str", "gpt-2"),
            ("tokenizer.ggml.tokens", "arr", ("str", tokens)),
            ("tokenizer.ggml.token_type", "arr", ("i32", [1] * VOCABULARY)),
            ("tokenizer.ggml.merges", "arr", ("str", ["\u0120 t", "h e"])),
            ("tokenizer.ggml.eos_token_id", "u32", VOCABULARY - 1)]


def attention(width, heads, kv_heads, size, gates=1):
    return {"attn_q.weight": [width, gates * heads * size], "attn_k.weight": [width, kv_heads * size],
            "attn_v.weight": [width, kv_heads * size], "attn_output.weight": [heads * size, width],
            "attn_q_norm.weight": [size], "attn_k_norm.weight": [size]}


def dense(width, hidden):
    return {"ffn_gate.weight": [width, hidden], "ffn_up.weight": [width, hidden], "ffn_down.weight": [hidden, width]}


def gemma3(_):
    norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    return {f"{norm}.weight": [1152] for norm in norms} | attention(1152, 4, 1, 256) | dense(1152, 6912)


def qwen35(layer):
    width, state, heads = 1024, 128, 16
    inner, columns = state * heads, 3 * state * heads
    both = {"attn_norm.weight": [width], "post_attention_norm.weight": [width]} | dense(width, 3584)
    if layer % 4 == 3:
        return both | attention(width, 8, 2, 256, gates=2)
    return both | {"ssm_norm.weight": [state], "attn_qkv.weight": [width, columns], "attn_gate.weight": [width, inner],
                   "ssm_dt.bias": [heads], "ssm_out.weight": [inner, width], "ssm_conv1d.weight": [4, columns],
                   "ssm_a": [heads], "ssm_alpha.weight": [width, heads], "ssm_beta.weight": [width, heads]}


def qwen3moe(_):
    width, hidden, experts = 2048, 768, 128
    return {"attn_norm.weight": [width], "ffn_norm.weight": [width], "ffn_gate_inp.weight": [width, experts],
            "ffn_gate_exps.weight": [width, hidden, experts], "ffn_up_exps.weight": [width, hidden, experts],
            "ffn_down_exps.weight": [hidden, width, experts]} | attention(width, 32, 4, 128)


def numbers(layers, width, hidden, heads, kv_heads, size, base):
    return {"block_count": layers, "embedding_length": width, "feed_forward_length": hidden, "context_length": 8192,
            "attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.key_length": size,
            "attention.value_length": size, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": base}


FAMILIES = {
    "gemma3": (gemma3, numbers(6, 1152, 6912, 4, 1, 256, 1e6) | {"attention.sliding_window": 512}, Q8_0),
    "qwen35": (qwen35, numbers(8, 1024, 3584, 8, 2, 256, 1e7) | {
        "rope.dimension_count": 64, "rope.dimension_sections": [11, 11, 10, 0], "ssm.inner_size": 2048,
        "ssm.conv_kernel": 4, "ssm.state_size": 128, "ssm.time_step_rank": 16, "ssm.group_count": 16,
        "full_attention_interval": 4}, Q8_0),
    "qwen3moe": (qwen3moe, numbers(2, 2048, 6144, 32, 4, 128, 1e6) | {
        "expert_count": 128, "expert_used_count": 8, "expert_feed_forward_length": 768}, Q4_K),
}


def key_of(family, name, value):
    if isinstance(value, list):
        return f"{family}.{name}", "arr", ("i32", value)
    return f"{family}.{name}", "f32" if isinstance(value, float) else "u32", value


def pool_of(kind):
    """Blocks of a small scale (and minimum) and random codes."""
    head = struct.pack("<e", 0.0006) + (struct.pack("<e", 0.004) if kind == Q4_K else b"")
    return b"".join(head + random.randbytes(BLOCKS[kind][1] - len(head)) for _ in range(POOL))


def weights(name, count, kind, pool):
    if kind == F32:
        center = 1.0 if "norm" in name else -0.5 if name.endswith("ssm_a") else 0.0
        return array.array("f", [center + random.gauss(0, 0.02) for _ in range(count)]).tobytes()
    blocks, size, parts = count // BLOCKS[kind][0], BLOCKS[kind][1], []
    while blocks:
        run, first = min(blocks, POOL - SHIFTS), random.randrange(SHIFTS) * size
        parts.append(pool[first:first + run * size])
        blocks -= run
    return b"".join(parts)


def tensors_of(family):
    layer, keys, kind = FAMILIES[family]
    width = keys["embedding_length"]
    tensors = {"token_embd.weight": [width, VOCABULARY], "output_norm.weight": [width]}
    if family != "gemma3":
        tensors["output.weight"] = [width, VOCABULARY]
    for number in range(keys["block_count"]):
        tensors |= {f"blk.{number}.{name}": extents for name, extents in layer(number).items()}
    plain = ("conv1d", "gate_inp")
    return [(name, extents, F32 if len(extents) == 1 or any(word in name for word in plain) else kind)
            for name, extents in tensors.items()]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in FAMILIES:
        sys.exit(__doc__.split("\n", 1)[0] + f"; families: {', '.join(FAMILIES)}")
    random.seed(1)
    family, path = sys.argv[1:]
    _, keys, kind = FAMILIES[family]
    metadata = [("general.architecture", "str", family)] + vocabulary()
    metadata += [key_of(family, name, value) for name, value in keys.items()]
    gguf_files.write_typed(path, metadata, [
        (name, extents, type_, weights(name, math.prod(extents), type_, pool))
        for pool in [pool_of(kind)] for name, extents, type_ in tensors_of(family)])


if __name__ == "__main__":
    main()
