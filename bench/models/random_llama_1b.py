#!/usr/bin/env python3
"""Writes a GGUF file of Llama-3.2-1B's shape with random F16 weights and another model's tokenizer,
padded with unused tokens to 128,256: for measuring speed where the real file cannot be had.

    random_llama_1b.py TOKENIZER.gguf llama.F16.gguf
    llama-quantize llama.F16.gguf llama.Q6_K.gguf Q6_K            # IQ4_XS, Q3_K_M, Q4_K_M likewise
    llama-quantize --tensor-type 'blk.*=mxfp4' llama.F16.gguf llama.MXFP4.gguf MXFP4_MOE

Without --tensor-type the peer's MXFP4_MOE has Q8_0 everywhere but in experts, of which there are none.
Needs the packages gguf and numpy."""

import sys

import gguf
import numpy

LAYERS, WIDTH, FEED, HEADS, KV_HEADS, VOCABULARY = 16, 2048, 8192, 32, 8, 128256
HEAD = WIDTH // HEADS
UNUSED = 5  # GGUF's token type
MATRICES = {"attn_q": (WIDTH, WIDTH), "attn_k": (KV_HEADS * HEAD, WIDTH),
            "attn_v": (KV_HEADS * HEAD, WIDTH), "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (FEED, WIDTH), "ffn_up": (FEED, WIDTH), "ffn_down": (WIDTH, FEED)}


def add_tokenizer(writer, source):
    """Copies the tokenizer's fields; token lists get unused tokens at their end."""
    for name, field in source.fields.items():
        if not name.startswith("tokenizer."):
            continue
        value = field.contents()
        kind = field.types[0]
        if name == "tokenizer.ggml.tokens":
            value = value + [f"<unused_{i}>" for i in range(len(value), VOCABULARY)]
        if name == "tokenizer.ggml.token_type":
            value = value + [UNUSED] * (VOCABULARY - len(value))
        element = field.types[1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, kind, element)


def add_shape(writer):
    writer.add_block_count(LAYERS)
    writer.add_context_length(8192)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def main():
    tokenizer, out = sys.argv[1:3]
    random = numpy.random.default_rng(1)

    def matrix(rows, columns):
        values = random.standard_normal((rows, columns), dtype=numpy.float32)
        return (values * numpy.float32(0.02)).astype(numpy.float16)

    writer = gguf.GGUFWriter(out, "llama", use_temp_file=True)
    add_shape(writer)
    add_tokenizer(writer, gguf.GGUFReader(tokenizer))
    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", matrix(VOCABULARY, WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        for name, shape in MATRICES.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
