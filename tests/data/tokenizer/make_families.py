#!/usr/bin/env python3
"""Writes, for each family of byte-level pre-tokenizers, one small vocabulary as GGUF and as tokenizer.json.

Usage: make_families.py FOLDER    (needs the pip package tokenizers)

The families come from src/llm/tokenizer/pretokenizer_table.cpp. All share one list of merges, learned
without any split, so that each difference in a split shows in the tokens. compare_with_peer.py then takes
FOLDER/*.gguf with the peer (which approximates some expressions), and FOLDER/*.json with `tokenizers`.
"""
import json
import os
import re
import struct
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

sys.path.insert(0, os.path.dirname(__file__))
from compare_with_peer import make_strings  # noqa: E402

TABLE = os.path.join(os.path.dirname(__file__), "../../../src/llm/tokenizer/pretokenizer_table.cpp")
# What the published files say where the table has another form of it.
PUBLISHED = {
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", None],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "kimi-k2": [r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
                r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
                r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
                r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "exaone-moe": [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
                   r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
    "deepseek-llm": [None, None, None, r"\s+$", None, None],
}
PIECE = re.compile(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"|(k[A-Z]\w*)|SplitKind::(\w+)', re.S)


def families():
    """(name, [expression or rule]) of each family whose tokens are spelled in GPT-2's alphabet."""
    source = open(TABLE, encoding="utf-8").read()
    values = {}
    for name, body in re.findall(r"constexpr Text (k\w+) =\s*(.*?);\n", source, re.S):
        values[name] = "".join(raw or plain for raw, plain, _, _ in PIECE.findall(body))
    names = {key: re.findall(r'"([^"]+)"', body)
             for key, body in re.findall(r"constexpr Text (k\w+)\[\] = \{(.*?)\};", source, re.S)}
    splits = {}
    for name, body in re.findall(r"constexpr FamilySplit (k\w+)\[\] = \{(.*?)\};\n", source, re.S):
        rows = re.split(r"\},\s*(?://[^\n]*\n\s*)?\{", body)
        splits[name] = [[rule or values.get(ref) or raw or plain for raw, plain, ref, rule in PIECE.findall(row)]
                        for row in rows]
    for key, list_name, flags in re.findall(r"\{\s*(k\w+Names),\s*(k\w+)(.*?)\},\n", source, re.S):
        if "rawUtf8" not in flags:
            yield names[key][0], ["".join(part) for part in splits[list_name]]


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(pre, tokens, merges):
    rows = [("general.architecture", "llama"), ("tokenizer.ggml.model", "gpt2"), ("tokenizer.ggml.pre", pre)]
    body = b"".join(string(key) + struct.pack("<I", 8) + string(value) for key, value in rows)
    for key, values in (("tokenizer.ggml.tokens", tokens), ("tokenizer.ggml.merges", merges)):
        body += string(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))
    body += string("tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, len(tokens))
    body += struct.pack(f"<{len(tokens)}i", *[1] * len(tokens))
    body += string("tokenizer.ggml.add_bos_token") + struct.pack("<I?", 7, False)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(rows) + 4) + body


def published(name, splits):
    own = PUBLISHED.get(name, [None] * len(splits))
    chosen = [mine or theirs for mine, theirs in zip(own, splits)]
    if "DigitsByThrees" in chosen:
        return None
    return [{"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
            for expression in chosen]


def main(folder):
    os.makedirs(folder, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    # GGUF takes tokens such as <|im_end|> for control tokens by their text: none is to be learned.
    tokenizer.train_from_iterator((t for t in make_strings([]) if "<" not in t), trainers.BpeTrainer(
        vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    saved = json.loads(tokenizer.to_str())
    model = saved["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [" ".join(pair) for pair in model["merges"]]
    for name, splits in families():
        with open(os.path.join(folder, name + ".gguf"), "wb") as file:
            file.write(gguf(name, tokens, merges))
        steps = published(name, splits)
        if not steps:
            continue
        model["ignore_merges"] = name in ("llama-bpe", "glm4", "minicpm5", "granite-embed-multi-97m", "youtu", "tekken")
        saved["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps + [saved["pre_tokenizer"]]} \
            if saved["pre_tokenizer"]["type"] != "Sequence" else \
            {"type": "Sequence", "pretokenizers": steps + saved["pre_tokenizer"]["pretokenizers"][-1:]}
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(saved, file)


if __name__ == "__main__":
    main(sys.argv[1])
