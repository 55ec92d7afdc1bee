#!/usr/bin/env python3
"""Compares `sinter tokenize` with another tokenizer on thousands of strings, token by token.

Usage: compare_with_peer.py SINTER PEER_TOKENIZE VOCABULARY.gguf...    (peer_tokenize of bench/peer)
       compare_with_peer.py SINTER tokenizers TOKENIZER.json...        (needs the pip package tokenizers)
       compare_with_peer.py SINTER tokenizers VOCABULARY.gguf...       (the same, with VOCABULARY.json beside it)
       compare_with_peer.py SINTER tiktoken TEKKEN.json...             (needs the pip package tiktoken)

The strings are those of make_goldens.py that are UTF-8, with the vocabulary's own special tokens in
place of SmolLM2's. Both programs parse special tokens, as templates need it. Prints the number of
strings that differ, and the first of them. differs_on_purpose() has what
is left out.
"""
import json
import random
import re
import struct
import subprocess
import sys
import tempfile
import unicodedata

def differs_on_purpose(text, is_bert):
    """The peer's code stands for the published rules and simplifies them here."""
    if "'\u017f" in text:  # a long s is an s in any case
        return True
    # A token that takes white space along takes all of Unicode's, the peer's only ASCII's.
    if re.search("[>\\]][\\s\x85]*[\x85\xa0\u1680\u2000-\u3000]|[\x85\xa0\u1680\u2000-\u3000][\\s\x85]*[<\\[]", text):
        return True
    # BERT drops nonspacing marks only, and controls but tabs and line ends; the peer drops all marks,
    # keeps the first character of each decomposition, and takes more controls for spaces.
    return is_bert and any(
        c in "\x0b\x0c\x85" or unicodedata.category(c) in ("Mc", "Me", "Co")
        or any(unicodedata.category(d) != "Mn" for d in unicodedata.normalize("NFD", c)[1:]) for c in text)


def make_strings(specials):
    import make_goldens
    if specials:
        make_goldens.SPECIAL[:] = specials[:24]
    texts = [text for text, _ in make_goldens.strings()]
    kept = []
    for text in texts:
        try:
            kept.append(text.decode())
        except UnicodeDecodeError:
            pass
    return kept


def run(command, path):
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    if out.returncode != 0:
        sys.exit(f"{command[0]} failed: {out.stderr[:400]}")
    return [json.loads(line)["tokens"] for line in out.stdout.splitlines()]


SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


def gguf_arrays(path):
    """The arrays of strings and of 32-bit integers among a file's metadata."""
    data = open(path, "rb").read()
    at = 24

    def number(form):
        nonlocal at
        at += struct.calcsize(form)
        return struct.unpack_from(form, data, at - struct.calcsize(form))[0]

    def text():
        nonlocal at
        size = number("<Q")
        at += size
        return data[at - size:at]
    arrays = {}
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        key, kind = text().decode(), number("<I")
        if kind == 9:
            element, count = number("<I"), number("<Q")
            if element == 8:
                arrays[key] = [text() for _ in range(count)]
            else:
                size = struct.calcsize(SCALARS[element])
                arrays[key] = struct.unpack_from(f"<{count}{SCALARS[element][1]}", data, at)
                at += size * count
        elif kind == 8:
            text()
        else:
            number(SCALARS[kind])
    return arrays


def specials_of_gguf(path):
    arrays = gguf_arrays(path)
    kinds, tokens = arrays.get("tokenizer.ggml.token_type", []), arrays["tokenizer.ggml.tokens"]
    special = [i for i, kind in enumerate(kinds) if kind in (3, 4)]
    random.Random(1).shuffle(special)
    texts = [tokens[i].decode("utf-8", "replace") for i in special[:200]]
    return [text for text in texts if text and "\ufffd" not in text]


def oracle_of(kind, path):
    if kind == "tokenizers":
        from tokenizers import Tokenizer
        path = path.removesuffix(".gguf").removesuffix(".json") + ".json"
        tokenizer = Tokenizer.from_file(path)
        specials = [t["content"] for t in json.load(open(path, encoding="utf-8"))["added_tokens"]]
        return specials, lambda texts: [tokenizer.encode(t, add_special_tokens=True).ids for t in texts]
    if kind == "tiktoken":
        import base64
        import tiktoken
        data = json.load(open(path, encoding="utf-8"))
        special = data["config"]["default_num_special_tokens"]
        count = data["config"]["default_vocab_size"] - special
        ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in data["vocab"][:count]}
        encoding = tiktoken.Encoding("tekken", pat_str=data["config"]["pattern"], mergeable_ranks=ranks,
                                     special_tokens={})
        return [], lambda texts: [[special + i for i in encoding.encode_ordinary(t)] for t in texts]
    return specials_of_gguf(path), None


def compare(sinter, kind, path):
    specials, oracle = oracle_of(kind, path)
    is_bert = "bert-bge" in path and oracle is None
    texts = [t for t in make_strings(specials) if not differs_on_purpose(t, is_bert)]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as lines:
        lines.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        lines.flush()
        bare = [] if path.endswith(".json") and kind == "tokenizers" else ["--bare"]
        parse = [] if kind == "tiktoken" else ["--special"]
        ours = run([sinter, "tokenize", path, "--lines", lines.name] + bare + parse, path)
        theirs = oracle(texts) if oracle else run([kind, path, lines.name, "--special"], path)
    wrong = [i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    print(f"{path.rsplit('/', 1)[-1]}: {len(texts)} strings, {len(wrong)} differ", flush=True)
    for i in wrong[:4]:
        print(f"  {texts[i][:60]!r}\n    ours   {ours[i][:16]}\n    theirs {theirs[i][:16]}")
    return len(wrong) + abs(len(ours) - len(theirs))


if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 1)[0])
    sys.exit(1 if sum([compare(sys.argv[1], sys.argv[2], path) for path in sys.argv[3:]]) else 0)
