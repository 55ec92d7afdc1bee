#!/usr/bin/env python3
"""Trains small tokenizers of every kind on the strings of make_goldens.py and writes them to a folder.

Usage: make_tokenizers.py FOLDER [VOCABULARY_SIZE]    (needs the pip package tokenizers, 0.21 or later)

Each is a tokenizer.json with another set of normalizers, pre-tokenizers, model and post-processor, as
published models have them; tekken.json has Mistral's format. compare_with_peer.py compares them.
"""
import base64
import json
import os
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

sys.path.insert(0, os.path.dirname(__file__))
from compare_with_peer import make_strings  # noqa: E402

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def template(tokenizer, begin, end):
    special = [(t, tokenizer.token_to_id(t)) for t in (begin, end) if t]
    single = " ".join(part for part in (begin, "$A", end) if part)
    return processors.TemplateProcessing(single=single, special_tokens=special)


def byte_level(texts, size, splits, normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=ALPHABET, special_tokens=["<|begin|>", "<|end|>"], show_progress=False))
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("haha", normalized=True, single_word=True),
                          AddedToken("!!", lstrip=True, rstrip=True)])
    tokenizer.post_processor = template(tokenizer, "<|begin|>", None)
    return tokenizer


def llama2(texts, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<unk>", "<s>", "</s>"] + BYTES, limit_alphabet=200, show_progress=False))
    saved = json.loads(tokenizer.to_str())
    # Tokens of bytes are no special tokens.
    saved["added_tokens"] = [t for t in saved["added_tokens"] if not t["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(saved))
    tokenizer.post_processor = template(tokenizer, "<s>", None)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    return tokenizer


def unigram(texts, size, scheme, normalizer, splits=()):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(splits) + [pre_tokenizers.Metaspace(prepend_scheme=scheme)])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    texts = [text for text in texts if max(map(ord, text), default=0) < 0x250]  # each character takes a token
    tokenizer.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=size, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    tokenizer.post_processor = template(tokenizer, "<s>", "</s>")
    return tokenizer


def word_piece(texts, size, lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=400,
        show_progress=False))
    ids = tokenizer.token_to_id
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids("[SEP]")), ("[CLS]", ids("[CLS]")))
    return tokenizer


def word_level(texts, size):
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(vocab_size=size, special_tokens=["[UNK]"],
                                                                   show_progress=False))
    return tokenizer


def clip(texts, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<end>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                                 normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=ALPHABET, special_tokens=["<begin>", "<end>"], end_of_word_suffix="</w>",
        show_progress=False))
    return tokenizer


def gemma(texts, size):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<pad>", "<eos>", "<bos>", "<unk>"], limit_alphabet=300, show_progress=False))
    return tokenizer


def tekken(byte_tokenizer, size):
    """The vocabulary of a byte-level tokenizer in tekken's format; ids of bytes first."""
    import tiktoken._educational as educational
    del byte_tokenizer
    ranks = educational.bpe_train("".join(make_strings([])[:600]), size, TEKKEN, visualise=None)
    vocab = [{"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
             for token, rank in sorted(ranks.items(), key=lambda item: item[1])]
    return {"config": {"pattern": TEKKEN, "num_vocab_tokens": len(vocab), "default_vocab_size": len(vocab) + 20 - 10,
                       "default_num_special_tokens": 20, "version": "v3"}, "vocab": vocab}


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def all_tokenizers(texts, size):
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    yield "gpt2", byte_level(texts, size, [pre_tokenizers.ByteLevel(add_prefix_space=True)])
    yield "llama3", byte_level(texts, size, [split(LLAMA3), plain], ignore_merges=True)
    yield "digits", byte_level(texts, size, [pre_tokenizers.Digits(True), pre_tokenizers.Punctuation(), plain],
                               normalizers.NFC())
    yield "behaviors", byte_level(texts, size, [split("[aeiou]", "merged_with_next"), split(r"\d", "contiguous"),
                                                split("[.,]+", "merged_with_previous"), plain], normalizers.NFKD())
    yield "llama2", llama2(texts, size)
    yield "gemma", gemma(texts, size)
    yield "clip", clip(texts, size)
    yield "unigram", unigram(texts, size, "always", normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]))
    yield "unigram-first", unigram(texts, size, "first", normalizers.StripAccents(), [pre_tokenizers.WhitespaceSplit()])
    yield "bert", word_piece(texts, size, True)
    yield "bert-cased", word_piece(texts, size, False)
    yield "words", word_level(texts, size)


def main(folder, size=1500):
    os.makedirs(folder, exist_ok=True)
    texts = make_strings(["<tool>", "haha"])
    for name, tokenizer in all_tokenizers(texts[::3], int(size)):
        tokenizer.save(os.path.join(folder, name + ".json"), pretty=False)
    with open(os.path.join(folder, "tekken.json"), "w", encoding="utf-8") as file:
        json.dump(tekken(None, 600), file)


if __name__ == "__main__":
    main(*sys.argv[1:3])
