#!/usr/bin/env python3
"""Writes the goldens of architectures: small files as text, with llama.cpp's logits.

  make_goldens.py --archs TEST_LLAMA_ARCHS --peer PEER_LOGITS [--out FOLDER] [NAME...]

Each golden is a skeleton of what test-llama-archs writes: the keys without which llama.cpp computes
something else or refuses the file, and the tensors, whose weights a hash draws (gguf_files.py).
Then follow the tokens and the logits of some positions. Without names all of VARIANTS are written.
"""
import argparse
import functools
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf_files
from compare import peer_rows, tokens_of, without_images
from variants import VARIANTS

TOKENS = 64
POSITIONS = (0, 20, 40, 63)
MOST_LOGITS = 128  # of a position: of larger vocabularies the largest ones

# The ends of keys that most files need.
LIKELY = ("architecture", "vocab_size", "context_length", "embedding_length", "block_count",
          "feed_forward_length", "head_count", "head_count_kv", "epsilon", "ggml.model")

# (center, spread's exponent) by the end of a tensor's name; the first that fits.
DRAWS = (
    ("norm.weight", 1.0, -1), ("norm_2.weight", 1.0, -1), (".scale", 1.0, -2),
    ("input_scale", 1.0, -2), (".bias", 0.0, -2), ("rope_freqs.weight", 1.5, -1),
    ("rope_factors_long.weight", 2.0, 0), ("rope_factors_short.weight", 1.5, -1),
    ("act.scales", 1.5, -1), ("attn_sinks.weight", 0.0, 1), ("layer_output_scale.weight", 0.5, -2),
    ("post_attention_norm", 1.0, -1), ("post_ffw_norm", 1.0, -1), ("position_embd.weight", 0.0, -1),
    ("token_embd.weight", 0.0, -1), ("ssm_a", -0.5, -2), ("conv1d.weight", 0.0, -1),
    ("shortconv.conv.weight", 0.0, -1),
)
MATRIX = -3  # about sqrt(3 / 256)


def draw_of(name, tied, draws):
    for end, draw in draws.items():
        if name.endswith(end):
            return draw
    if name == ("token_embd.weight" if tied else "output.weight"):
        return 0.0, -2
    for end, center, spread in DRAWS:
        if name.endswith(end):
            return center, spread
    return 0.0, MATRIX


def drawn(tensors, variant):
    tied = all(name != "output.weight" for name, _ in tensors)
    return [(name, extents, *draw_of(name, tied, variant.draws)) for name, extents in tensors]


class Peer:
    """Logits of skeletons, with the weights of their tensors kept from call to call."""

    def __init__(self, program, folder):
        self.program, self.path = program, Path(folder) / "model.gguf"
        self.weights = functools.lru_cache(maxsize=None)(gguf_files.weights_of)

    def rows(self, variant, metadata, tensors, tokens, stderr=None):
        gguf_files.write_file(self.path, metadata, drawn(tensors, variant), self.weights)
        rows = peer_rows(self.program, str(self.path), tokens, stderr)
        return [without_images(variant.architecture, row) for row in rows]


def skeleton(archs, variant, folder):
    subprocess.run([archs, "-a", variant.architecture, "-s", "1", "-o", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name = f"{variant.architecture}-{'moe' if variant.moe else 'dense'}.gguf"
    return gguf_files.read_header(Path(folder) / name)


def changed(metadata, tensors, variant):
    """The skeleton with a variant's keys and tensors instead of its own, and no tokenizer."""
    keys = {key: (kind, value) for key, kind, value in metadata
            if not key.startswith(("tokenizer.", "general.name"))}
    keys["tokenizer.ggml.model"] = "str", "no_vocab"
    for key, value in variant.keys.items():
        keys[key.replace("ARCH", variant.architecture)] = value
    kept = [(name, variant.extents.get(name, extents)) for name, extents in tensors
            if not any(part in name for part in variant.without)]
    metadata = [(key, *value) for key, value in keys.items() if value is not None]
    return metadata, kept + list(variant.more)


def needed(peer, metadata, tensors, tokens, rows, variant):
    """The keys without which the logits are others, and the variant's own."""
    kept = list(metadata)
    own = {key.replace("ARCH", variant.architecture) for key in variant.keys}
    metadata = [entry for entry in metadata if entry[0] not in own]

    def drop(chunk):
        fewer = [entry for entry in kept if entry not in chunk]
        try:
            if peer.rows(variant, fewer, tensors, tokens, subprocess.DEVNULL) == rows:
                kept[:] = fewer
                return
        except subprocess.CalledProcessError:
            pass
        if len(chunk) > 1:
            drop(chunk[:len(chunk) // 2])
            drop(chunk[len(chunk) // 2:])

    likely = [entry for entry in metadata if entry[0].endswith(LIKELY)]
    drop([entry for entry in metadata if entry not in likely])
    for entry in likely:
        drop([entry])
    return kept


def value_text(kind, value):
    if kind == "arr":
        element, values = value
        return f"{element} " + " ".join(value_text(element, each) for each in values)
    if kind == "f32":
        return repr(struct.unpack("<f", struct.pack("<f", value))[0])
    return str(int(value)) if kind == "bool" else str(value)


def row_text(row):
    if len(row) <= MOST_LOGITS:
        return " ".join(f"{x:.5g}" for x in row)
    order = sorted(range(len(row)), key=lambda i: -row[i])[:MOST_LOGITS]
    return " ".join(f"{i}:{row[i]:.5g}" for i in sorted(order))


def golden_text(variant, metadata, tensors, tokens, rows):
    lines = [f"key {key} {kind} {value_text(kind, value)}" for key, kind, value in metadata]
    for name, extents, center, spread in drawn(tensors, variant):
        lines.append(f"tensor {name} {center:g} {spread} " + " ".join(map(str, extents)))
    lines.append("tokens " + " ".join(map(str, tokens)))
    lines += [f"logits {at} {row_text(rows[at])}" for at in POSITIONS]
    return "\n".join(lines) + "\n"


def make(arguments, variant, peer):
    metadata, tensors = ([], []) if variant.whole else skeleton(arguments.archs, variant,
                                                                peer.path.parent)
    metadata, tensors = changed(metadata, tensors, variant)
    vocabulary = next(value for key, _, value in metadata if key.endswith(".vocab_size"))
    tokens = tokens_of(TOKENS, min(vocabulary, 128))
    rows = peer.rows(variant, metadata, tensors, tokens)
    metadata = needed(peer, metadata, tensors, tokens, rows, variant)
    text = golden_text(variant, metadata, tensors, tokens, rows)
    (Path(arguments.out) / f"{variant.name}.txt").write_text(text)
    print(f"{variant.name}: {len(metadata)} keys, {len(tensors)} tensors, {len(text)} bytes",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--archs", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--out", default=Path(__file__).parent.parent / "data" / "architectures")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(arguments.peer, folder)
        for variant in VARIANTS:
            if not arguments.names or variant.name in arguments.names:
                make(arguments, variant, peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
