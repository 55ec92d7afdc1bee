"""Decoder shapes by name, and GGUF files of them: a header with a made-up vocabulary, and random weights.

A file's header depends on the shape and the type alone. So a plan that was compiled from a sparse file
(`write_header`) runs the file of the same name that `fill` filled elsewhere. Filling needs numpy.
"""
import concurrent.futures
import dataclasses
import math
import os
import random
import re
import struct


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    feed: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    tied: bool  # the embedding is the output matrix too


SHAPES = {
    "135M": Shape(30, 576, 1536, 9, 3, 64, 49152, True),
    "0.6B": Shape(28, 1024, 3072, 16, 8, 128, 151936, True),
    "1B": Shape(16, 2048, 8192, 32, 8, 64, 128256, True),
    "2B": Shape(18, 2048, 16384, 8, 1, 256, 256000, True),
    "3B": Shape(28, 3072, 8192, 24, 8, 128, 128256, True),
    "4B": Shape(36, 2560, 9728, 32, 8, 128, 151936, True),
    "8B": Shape(32, 4096, 14336, 32, 8, 128, 128256, False),
    "14B": Shape(40, 5120, 17408, 40, 8, 128, 151936, False),
    "32B": Shape(64, 5120, 25600, 64, 8, 128, 151936, False),
    # For logits alone: each method of multiplying has a matrix that is large enough for it.
    "tiny": Shape(1, 1024, 2048, 8, 2, 128, 1024, True),
    "70Bx4": Shape(4, 8192, 28672, 64, 8, 128, 128256, False),  # 4 of its 80 layers
}
CONTEXT = 32768
DRAWN = re.compile(r"drawn(\d+)")


def drawn(seed):
    """A shape that nobody tuned for: extents are multiples of 256, so every type fits. At most 2.5 billion weights."""
    draw = random.Random(seed)
    head = draw.choice((64, 128, 256))
    kv_heads = draw.choice((1, 2, 3, 4, 5, 8))
    heads = kv_heads * draw.randint(1, 8)
    width = 256 * draw.randint(4, 20)
    feed = 256 * draw.randint(width // 128, width // 64)
    vocabulary = draw.randint(32000, 160000)
    layer = 2 * width * head * (heads + kv_heads) + 3 * width * feed
    most = (2_500_000_000 - 2 * width * vocabulary) // layer
    return Shape(max(2, min(most, draw.randint(4, 32))), width, feed, heads, kv_heads, head, vocabulary,
                 draw.random() < 0.5)


def shape_of(name):
    found = DRAWN.fullmatch(name)
    return drawn(int(found.group(1))) if found else SHAPES[name]


# ---- types ----

@dataclasses.dataclass(frozen=True)
class Type:
    """A GGUF tensor type. A random block is random bytes, in which `halves` are 16-bit numbers that keep the
    bits of `mask` and set `bits`: (byte offset, mask, bits). A minimum at `minimum` is `level` times the
    scale, a power of two, so that values have a mean near zero."""
    number: int
    length: int
    bytes: int
    halves: tuple
    minimum: int = -1
    level: int = 0
    negative: bool = False


# Scales are such that weights have a root mean square between 0.01 and 0.03.
_SCALE = 0x00ff
_SMALL = 0x007f, 0x0080  # a subnormal scale
TYPES = {
    "F32": Type(0, 1, 4, ((2, 0x80ff, 0x3c00),)),
    "F16": Type(1, 1, 2, ((0, 0x87ff, 0x2000),)),
    "BF16": Type(30, 1, 2, ((0, 0x80ff, 0x3c00),)),
    "Q4_0": Type(2, 32, 18, ((0, _SCALE, 0x1c00),)),
    "Q4_1": Type(3, 32, 20, ((0, _SCALE, 0x1c00),), 2, 8, True),
    "Q5_0": Type(6, 32, 22, ((0, _SCALE, 0x1800),)),
    "Q5_1": Type(7, 32, 24, ((0, _SCALE, 0x1800),), 2, 16, True),
    "Q8_0": Type(8, 32, 34, ((0, _SCALE, 0x0c00),)),
    "Q2_K": Type(10, 256, 84, ((80, _SCALE, 0x1400),), 82, 1),
    "Q3_K": Type(11, 256, 110, ((108, _SCALE, 0x1000),)),
    "Q4_K": Type(12, 256, 144, ((0, _SCALE, 0x0800),), 2, 8),
    "Q5_K": Type(13, 256, 176, ((0, _SCALE, 0x0400),), 2, 16),
    "Q6_K": Type(14, 256, 210, ((208, *_SMALL),)),
    "IQ2_XXS": Type(16, 256, 66, ((0, _SCALE, 0x1000),)),
    "IQ2_XS": Type(17, 256, 74, ((0, _SCALE, 0x1000),)),
    "IQ3_XXS": Type(18, 256, 98, ((0, _SCALE, 0x0c00),)),
    "IQ1_S": Type(19, 256, 50, ((0, _SCALE, 0x1c00),)),
    "IQ4_NL": Type(20, 32, 18, ((0, _SCALE, 0x0c00),)),
    "IQ3_S": Type(21, 256, 110, ((0, _SCALE, 0x0800),)),
    "IQ2_S": Type(22, 256, 82, ((0, _SCALE, 0x1000),)),
    "IQ4_XS": Type(23, 256, 136, ((0, *_SMALL),)),
    "IQ1_M": Type(29, 256, 56, ((52, 0x0fff, 0xc000), (54, 0x0fff, 0x1000))),  # a nibble each
    "TQ1_0": Type(34, 256, 54, ((52, _SCALE, 0x2400),)),
    "TQ2_0": Type(35, 256, 66, ((64, _SCALE, 0x2400),)),
    "MXFP4": Type(39, 32, 17, ((0, 0xff00, 0x0078),)),
    "NVFP4": Type(40, 64, 36, ((0, 0x0303, 0x0404), (2, 0x0303, 0x0404))),
    "Q1_0": Type(41, 128, 18, ((0, _SCALE, 0x2400),)),
    "Q2_0": Type(42, 64, 18, ((0, _SCALE, 0x2400),)),
}
_F32 = Type(0, 1, 4, ())


def tensors_of(shape, kind):
    """(name, extents innermost first, type), as they lie in the file."""
    queries, keys = shape.heads * shape.head, shape.kv_heads * shape.head
    found = [("token_embd.weight", (shape.width, shape.vocabulary), kind)]
    for layer in range(shape.layers):
        for name, extents in {
                "attn_norm": (shape.width,), "attn_q": (shape.width, queries), "attn_k": (shape.width, keys),
                "attn_v": (shape.width, keys), "attn_output": (queries, shape.width), "ffn_norm": (shape.width,),
                "ffn_gate": (shape.width, shape.feed), "ffn_up": (shape.width, shape.feed),
                "ffn_down": (shape.feed, shape.width)}.items():
            found.append((f"blk.{layer}.{name}.weight", extents, kind if len(extents) > 1 else _F32))
    found.append(("output_norm.weight", (shape.width,), _F32))
    if not shape.tied:
        found.append(("output.weight", (shape.width, shape.vocabulary), kind))
    return found


def bytes_of(extents, kind):
    if extents[0] % kind.length:
        raise ValueError(f"rows of {extents[0]} weights have no whole blocks of {kind.length}")
    return math.prod(extents) // kind.length * kind.bytes


# ---- the header ----

_U32, _F32_VALUE, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(key, value):
    out = _string(key)
    if isinstance(value, bool):
        return out + struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return out + struct.pack("<II", _U32, value)
    if isinstance(value, float):
        return out + struct.pack("<If", _F32_VALUE, value)
    if isinstance(value, str):
        return out + struct.pack("<I", _STRING) + _string(value)
    texts = isinstance(value[0], str)
    out += struct.pack("<IIQ", _ARRAY, _STRING if texts else _U32, len(value))
    return out + b"".join(map(_string, value) if texts else (struct.pack("<I", v) for v in value))


def _byte_alphabet():
    """GPT-2's character for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def _metadata(shape):
    tokens = _byte_alphabet() + ["\u0120t", "<begin>", "<end>"]
    types = [1] * 257 + [3, 3]
    tokens += [f"word{i}" for i in range(len(tokens), shape.vocabulary)]
    types += [1] * (shape.vocabulary - len(types))
    model = {"block_count": shape.layers, "context_length": CONTEXT, "embedding_length": shape.width,
             "feed_forward_length": shape.feed, "attention.head_count": shape.heads,
             "attention.head_count_kv": shape.kv_heads, "attention.key_length": shape.head,
             "attention.value_length": shape.head, "rope.dimension_count": shape.head,
             "rope.freq_base": 500000.0, "attention.layer_norm_rms_epsilon": 1e-5,
             "vocab_size": shape.vocabulary}
    vocabulary = {"model": "gpt2", "pre": "llama-bpe", "tokens": tokens, "token_type": types,
                  "merges": ["\u0120 t"], "bos_token_id": 257, "eos_token_id": 258, "add_bos_token": True}
    return ({"general.architecture": "llama"} | {f"llama.{key}": v for key, v in model.items()} |
            {f"tokenizer.ggml.{key}": v for key, v in vocabulary.items()})


def write_header(path, shape, kind):
    """Makes a sparse file; gives (byte offset, extents, type) of each tensor. ValueError: rows have no whole
    blocks."""
    align = 32
    values, tensors = _metadata(shape), tensors_of(shape, kind)
    out = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(values))
    out += b"".join(_value(key, value) for key, value in values.items())
    offset, places = 0, []
    for name, extents, of in tensors:
        out += _string(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, of.number, offset)
        places.append((offset, extents, of))
        offset += -(-bytes_of(extents, of) // align) * align
    out += bytes(-len(out) % align)
    with open(path, "wb") as file:
        file.write(out)
        file.truncate(len(out) + offset)
    return [(len(out) + at, extents, of) for at, extents, of in places]


# ---- weights ----

def _random_blocks(kind, count, generator):
    import numpy  # not needed where plans are compiled
    size = count * kind.bytes
    data = generator.integers(0, 1 << 64, -(-size // 8), dtype=numpy.uint64).view(numpy.uint8)[:size]
    blocks = data.reshape(count, kind.bytes)
    for offset, mask, bits in kind.halves:
        half = blocks[:, offset:offset + 2].copy().view(numpy.uint16) & numpy.uint16(mask) | numpy.uint16(bits)
        blocks[:, offset:offset + 2] = half.view(numpy.uint8)
        if kind.minimum >= 0:
            half = half + numpy.uint16(int(math.log2(kind.level)) << 10) | numpy.uint16(kind.negative << 15)
            blocks[:, kind.minimum:kind.minimum + 2] = half.view(numpy.uint8)
    return data


def _gains(count, generator):
    import numpy
    return (1 + generator.random(count, dtype=numpy.float32) / 4).view(numpy.uint8)


def fill(path, shape, kind, seed, threads=os.cpu_count()):
    """Writes the file with weights that `seed` decides."""
    import numpy
    pieces, piece_bytes = [], 16 << 20
    for offset, extents, of in write_header(path, shape, kind):
        left = math.prod(extents) // of.length
        while left:
            count = min(left, piece_bytes // of.bytes)
            pieces.append((offset, count, of))
            offset, left = offset + count * of.bytes, left - count
    file = os.open(path, os.O_WRONLY)

    def write(number):
        offset, count, of = pieces[number]
        generator = numpy.random.Generator(numpy.random.SFC64([seed, number]))
        data = _gains(count, generator) if of is _F32 else _random_blocks(of, count, generator)
        done = 0
        while done < len(data):
            done += os.pwrite(file, data[done:], offset + done)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(len(pieces))))
    os.close(file)
