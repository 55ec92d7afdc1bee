#!/usr/bin/env python3
"""Writes tests/data/tokenizer/small: one small tokenizer of each kind, and the tokens of some strings.

Usage: make_small_goldens.py FOLDER PEER_TOKENIZE    (needs the pip packages tokenizers and sentencepiece)

Files of tokenizers (NAME.json) come from make_tokenizers.py, their tokens from the tokenizers library.
GGUF files come from SentencePiece's trainer, their tokens from the peer (peer_tokenize of bench/peer).
NAME.goldens has the lines of make_goldens.py; control tokens are parsed in all strings.
"""
import io
import json
import os
import struct
import subprocess
import sys
import tempfile

import sentencepiece
from tokenizers import Tokenizer

sys.path.insert(0, os.path.dirname(__file__))
from compare_with_peer import differs_on_purpose, make_strings  # noqa: E402
from make_families import string  # noqa: E402
from make_goldens import escaped, shortened  # noqa: E402
from make_tokenizers import all_tokenizers  # noqa: E402

SIZE = 420
JSON_KINDS = ("llama3", "behaviors", "llama2", "gemma", "clip", "unigram", "bert", "words")
RULES = "41\t61\n1F600\t3A 29\n65 301\tE9\nFB01\t66 69\n"  # A: a, an emoji: two characters, e and accent: é


def write_goldens(path, texts, ids):
    with open(path, "w", encoding="ascii") as file:
        for text, own in zip(texts, ids):
            if text:
                file.write(f"s {escaped(text.encode())} {shortened(own)}".rstrip() + "\n")


def value(key, kind, data):
    return string(key) + struct.pack("<I", kind) + data


def array(key, kind, form, values):
    return value(key, 9, struct.pack(f"<IQ{len(values)}{form}", kind, len(values), *values))


def sentencepiece_gguf(texts, kind, rules):
    """SentencePiece's model as GGUF, as converters write it."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as tsv:
        tsv.write(RULES)
        tsv.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, model_type=kind, vocab_size=700,
            byte_fallback=kind == "bpe", user_defined_symbols=["<tool>"], num_threads=1, minloglevel=2,
            character_coverage=0.98, hard_vocab_limit=False,
            **({"normalization_rule_tsv": tsv.name} if rules else {"normalization_rule_name": "identity"}))
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    count = processor.get_piece_size()
    types = [2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 5 if processor.is_unused(i)
             else 6 if processor.is_byte(i) else 4 if processor.id_to_piece(i) == "<tool>" else 1 for i in range(count)]
    rows = [value("general.architecture", 8, string("llama")),
            value("tokenizer.ggml.model", 8, string("llama" if kind == "bpe" else "t5")),
            value("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, count)
                  + b"".join(string(processor.id_to_piece(i)) for i in range(count))),
            array("tokenizer.ggml.scores", 6, "f", [processor.get_score(i) for i in range(count)]),
            array("tokenizer.ggml.token_type", 5, "i", types),
            value("tokenizer.ggml.unknown_token_id", 4, struct.pack("<I", processor.unk_id())),
            value("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", processor.eos_id()))]
    if rules:
        rows += [array("tokenizer.ggml.precompiled_charsmap", 0, "B", charsmap_of(model.getvalue())),
                 value("tokenizer.ggml.add_space_prefix", 7, b"\1"),
                 value("tokenizer.ggml.remove_extra_whitespaces", 7, b"\1")]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows)) + b"".join(rows)


def charsmap_of(proto):
    """Field 2 of field 3 (normalizer_spec) of the model's protocol buffer."""
    def fields(data):
        at = 0

        def varint():
            nonlocal at
            result = shift = 0
            while True:
                byte = data[at]
                at += 1
                result |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return result
        while at < len(data):
            tag = varint()
            if tag & 7 == 2:
                size = varint()
                at += size
                yield tag >> 3, data[at - size:at]
            elif tag & 7 == 5:
                at += 4
            else:
                varint()
    spec = b"".join(data for number, data in fields(proto) if number == 3)
    return b"".join(data for number, data in fields(spec) if number == 2)


def main(folder, peer):
    os.makedirs(folder, exist_ok=True)
    texts = make_strings(["<tool>", "haha"])
    sample = [t for t in texts[::60] if len(t) < 200 and not differs_on_purpose(t, False)]
    for name, tokenizer in all_tokenizers(texts[::3], SIZE):
        if name in JSON_KINDS:
            path = os.path.join(folder, name)
            tokenizer.save(path + ".json", pretty=False)
            oracle = Tokenizer.from_file(path + ".json")
            write_goldens(path + ".goldens", sample, [oracle.encode(t, add_special_tokens=False).ids for t in sample])
    prose = [t for t in texts[::2] if "\n" not in t and "<" not in t and 0 < len(t) < 200 and max(map(ord, t)) < 0x180]
    for name, kind, rules in (("spm", "bpe", False), ("ugm", "unigram", True)):
        path = os.path.join(folder, name)
        with open(path + ".gguf", "wb") as file:
            file.write(sentencepiece_gguf(prose, kind, rules))
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
            lines.writelines(json.dumps({"text": t}) + "\n" for t in sample)
            lines.flush()
            out = subprocess.run([peer, path + ".gguf", lines.name, "--special"], capture_output=True, text=True, check=True)
        write_goldens(path + ".goldens", sample, [json.loads(line)["tokens"] for line in out.stdout.splitlines()])


if __name__ == "__main__":
    main(*sys.argv[1:3])
