#!/usr/bin/env python3
"""Writes the goldens of encoders: small files as text, with llama.cpp's rows and scores.

  make_encoder_goldens.py --peer PEER_LOGITS [--out FOLDER] [NAME...]

Files are those of make_goldens.py, crafted here: test-llama-archs writes no encoders. `logits` are
rows of the last layer; `pooled NAME` follows for some poolings and for heads that rank.
"""
import argparse
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf_files
from compare import tokens_of
from make_goldens import draw_of, value_text
from variants import array, f32, flag, text, u32

WIDTH, HIDDEN, VOCABULARY, HEADS, LAYERS, TOKENS = 64, 96, 64, 4, 3, 40
POSITIONS = (0, 17, 39)
EXPERTS = 4
ATTENTION = "attention."
EPSILON = {ATTENTION + "layer_norm_epsilon": f32(1e-5)}
RMS_EPSILON = {ATTENTION + "layer_norm_rms_epsilon": f32(1e-5)}
TYPES = [("token_types.weight", [WIDTH, 2])]
EMBEDDING_NORM = [("token_embd_norm.weight", [WIDTH]), ("token_embd_norm.bias", [WIDTH])]
OUTPUT_NORM = [("output_norm.weight", [WIDTH])]


def biased(name, extents):
    return {name + ".weight": extents, name + ".bias": extents[-1:]}


def apart(bias=True, kv=HEADS):
    """Queries, keys, values and the output matrix."""
    shapes = {"attn_q": WIDTH, "attn_k": WIDTH * kv // HEADS, "attn_v": WIDTH * kv // HEADS,
              "attn_output": WIDTH}
    result = {}
    for name, rows in shapes.items():
        result.update(biased(name, [WIDTH, rows]) if bias else {name + ".weight": [WIDTH, rows]})
    return result


def fused(bias=False):
    result = biased("attn_qkv", [WIDTH, 3 * WIDTH]) if bias else {
        "attn_qkv.weight": [WIDTH, 3 * WIDTH]}
    return {**result, **(biased("attn_output", [WIDTH, WIDTH]) if bias else
                         {"attn_output.weight": [WIDTH, WIDTH]})}


def hidden(rows=HIDDEN, gate=False, bias=True):
    result = {"ffn_up.weight": [WIDTH, rows], "ffn_down.weight": [HIDDEN, WIDTH]}
    if gate:
        result["ffn_gate.weight"] = [WIDTH, HIDDEN]
    if bias:
        result.update({"ffn_up.bias": [rows], "ffn_down.bias": [WIDTH]})
    return result


def sum_norms():
    return {**biased("attn_output_norm", [WIDTH]), **biased("layer_output_norm", [WIDTH])}


def pre_norms():
    return {"attn_norm.weight": [WIDTH], "ffn_norm.weight": [WIDTH]}


def nomic_moe(layer):
    if layer % 2 == 0:
        return {**fused(True), **hidden(), **sum_norms()}
    return {**fused(True), **sum_norms(), "ffn_gate_inp.weight": [WIDTH, EXPERTS],
            "ffn_up_exps.weight": [WIDTH, HIDDEN, EXPERTS],
            "ffn_down_exps.weight": [HIDDEN, WIDTH, EXPERTS]}


def modern(layer):
    result = {**fused(), **hidden(2 * HIDDEN, bias=False), **pre_norms()}
    if layer == 0:
        del result["attn_norm.weight"]
    return result


def gemma(_):
    return {**apart(False, 1), **hidden(gate=True, bias=False), **pre_norms(),
            "attn_q_norm.weight": [WIDTH // HEADS], "attn_k_norm.weight": [WIDTH // HEADS],
            "post_attention_norm.weight": [WIDTH], "post_ffw_norm.weight": [WIDTH]}


def jina(norms):
    more = {**biased("attn_q_norm", [WIDTH]), **biased("attn_k_norm", [WIDTH]),
            **biased("attn_norm_2", [WIDTH])}
    return lambda _: {**apart(), **hidden(2 * HIDDEN if norms else HIDDEN), **sum_norms(),
                      **(more if norms else {})}


def head(labels):
    return [("cls.weight", [WIDTH, WIDTH]), ("cls.bias", [WIDTH]),
            ("cls.output.weight", [WIDTH, labels]), ("cls.output.bias", [labels])]


LABEL = {"classifier.output_labels": array("str", "LABEL_0")}
WINDOW = {ATTENTION + "sliding_window": u32(12), ATTENTION + "sliding_window_pattern": u32(3)}

# By name: architecture, keys, a layer's tensors, other tensors, poolings.
ENCODERS = {
    "bert": ("bert", {**EPSILON, **LABEL}, lambda _: {**apart(), **hidden(), **sum_norms()},
             TYPES + EMBEDDING_NORM + [("position_embd.weight", [WIDTH, 256])] + head(1),
             ("mean", "cls", "last", "rank")),
    "nomic-bert": ("nomic-bert", {**EPSILON, "rope.freq_base": f32(1000)},
                   lambda _: {**fused(), **hidden(gate=True, bias=False), **sum_norms()},
                   TYPES + EMBEDDING_NORM, ("mean",)),
    "nomic-bert-moe": ("nomic-bert-moe",
                       {**EPSILON, "moe_every_n_layers": u32(2), "expert_count": u32(EXPERTS),
                        "expert_used_count": u32(2)}, nomic_moe, TYPES + EMBEDDING_NORM, ()),
    "jina-bert-v2": ("jina-bert-v2", EPSILON, jina(True), TYPES + EMBEDDING_NORM, ()),
    "jina-bert-v2-rank": ("jina-bert-v2", {**EPSILON, **LABEL}, jina(False),
                          TYPES + EMBEDDING_NORM +
                          [("cls.weight", [WIDTH, 1]), ("cls.bias", [1])], ("rank",)),
    "jina-bert-v3": ("jina-bert-v3", EPSILON,
                     lambda _: {**fused(True), **hidden(), **sum_norms()},
                     TYPES + EMBEDDING_NORM, ()),
    "modern-bert": ("modern-bert",
                    {**EPSILON, **WINDOW, **LABEL, "rope.freq_base": f32(160000),
                     "rope.freq_base_swa": f32(1000)}, modern,
                    EMBEDDING_NORM[:1] + OUTPUT_NORM +
                    [("cls.weight", [WIDTH, WIDTH]), ("cls.norm.weight", [WIDTH]),
                     ("cls.output.weight", [WIDTH, 1]), ("cls.output.bias", [1])],
                    ("mean", "rank")),
    "modern-bert-silu": ("modern-bert", {**EPSILON, "hidden_activation": text("silu")}, modern,
                         EMBEDDING_NORM[:1] + OUTPUT_NORM, ()),
    "neo-bert": ("neo-bert", RMS_EPSILON,
                 lambda _: {**fused(), **hidden(2 * HIDDEN, bias=False), **pre_norms()},
                 [("enc.output_norm.weight", [WIDTH])], ()),
    "eurobert": ("eurobert", RMS_EPSILON,
                 lambda _: {**apart(False), **hidden(gate=True, bias=False), **pre_norms()},
                 OUTPUT_NORM, ()),
    "gemma-embedding": ("gemma-embedding",
                        {**RMS_EPSILON, **WINDOW, ATTENTION + "head_count_kv": u32(1),
                         "rope.freq_base": f32(1e6), "dense_2_feat_in": u32(WIDTH),
                         "dense_2_feat_out": u32(HIDDEN), "dense_3_feat_in": u32(HIDDEN),
                         "dense_3_feat_out": u32(WIDTH)}, gemma,
                        OUTPUT_NORM + [("dense_2.weight", [WIDTH, HIDDEN]),
                                       ("dense_3.weight", [HIDDEN, WIDTH])], ("mean",)),
    "llama-embed": ("llama-embed", {**RMS_EPSILON, ATTENTION + "head_count_kv": u32(2)},
                    lambda _: {**apart(False, 2), **hidden(gate=True, bias=False), **pre_norms()},
                    OUTPUT_NORM, ("mean",)),
    "qwen3-rank": ("qwen3", {**RMS_EPSILON, ATTENTION + "head_count_kv": u32(2),
                             ATTENTION + "causal": flag(True),
                             "classifier.output_labels": array("str", "yes", "no")},
                   lambda _: {**apart(False, 2), **hidden(gate=True, bias=False), **pre_norms(),
                              "attn_q_norm.weight": [WIDTH // HEADS],
                              "attn_k_norm.weight": [WIDTH // HEADS]},
                   OUTPUT_NORM + [("cls.output.weight", [WIDTH, 2])], ("last", "rank")),
}


def model(name):
    """Metadata and tensors with their draws."""
    architecture, keys, layer, others, _ = ENCODERS[name]
    own = {"context_length": u32(256), "embedding_length": u32(WIDTH), "block_count": u32(LAYERS),
           "feed_forward_length": u32(HIDDEN), ATTENTION + "head_count": u32(HEADS),
           "vocab_size": u32(VOCABULARY), ATTENTION + "causal": flag(False), **keys}
    metadata = [("general.architecture", *text(architecture))]
    metadata += [(f"{architecture}.{key}", *value) for key, value in own.items()]
    metadata += [("tokenizer.ggml.model", *text("no_vocab")),
                 ("tokenizer.ggml.token_type_count", *u32(2))]
    tensors = [("token_embd.weight", [WIDTH, VOCABULARY])] + others
    for i in range(LAYERS):
        tensors += [(f"blk.{i}.{part}", extents) for part, extents in layer(i).items()]
    return metadata, [(each, extents, *draw(each)) for each, extents in tensors]


def draw(name):
    return (0.0, -1) if name == "token_types.weight" else draw_of(name, False, {})


def peer_values(peer, path, tokens, pooling):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([peer, path, ",".join(map(str, tokens)), file.name, pooling], check=True)
        data = file.read()
    return struct.unpack(f"<{len(data) // 4}f", data)


def numbers(values):
    return " ".join(f"{value:.5g}" for value in values)


def make(arguments, name):
    metadata, tensors = model(name)
    tokens = tokens_of(TOKENS, VOCABULARY)
    lines = [f"key {key} {kind} {value_text(kind, value)}" for key, kind, value in metadata]
    for each, extents, center, spread in tensors:
        lines.append(f"tensor {each} {center:g} {spread} " + " ".join(map(str, extents)))
    lines.append("tokens " + " ".join(map(str, tokens)))
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        gguf_files.write_file(file.name, metadata, tensors)
        # Rows before dense layers, which llama.cpp puts after each row where nothing pools.
        gguf_files.write_file(file.name, *[[each for each in part if "dense_" not in each[0]]
                                           for part in (metadata, tensors)])
        rows = peer_values(arguments.peer, file.name, tokens, "none")
        lines += [f"logits {at} {numbers(rows[at * WIDTH:(at + 1) * WIDTH])}"
                  for at in POSITIONS]
        gguf_files.write_file(file.name, metadata, tensors)
        for pooling in ENCODERS[name][-1]:
            values = peer_values(arguments.peer, file.name, tokens, pooling)
            lines.append(f"pooled {pooling} {numbers(values)}")
    text_of = "\n".join(lines) + "\n"
    (Path(arguments.out) / f"{name}.txt").write_text(text_of)
    print(f"{name}: {len(text_of)} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True)
    parser.add_argument("--out", default=Path(__file__).parent.parent / "data" / "encoders")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    for name in ENCODERS:
        if not arguments.names or name in arguments.names:
            make(arguments, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
