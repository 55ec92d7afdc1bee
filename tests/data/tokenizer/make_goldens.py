#!/usr/bin/env python3
"""Writes strings and the tokens that llama.cpp gives them: what our tokenizer is compared with.

Usage: make_goldens.py VOCABULARY OUT [--full]
Needs the pip package llama-cpp-python (0.3.36 made the committed file). --full adds every assigned
character of the first two Unicode planes; that file is too large to commit.

One line a string: flags ('s': control tokens are parsed, '-': not), a space, the string with every byte
but 0x21-0x7E and '%' itself as %XX, a space, and the ids, of which 'ID*N' stands for N in a row.
The strings depend on nothing but this file. Left out are bytes that llama.cpp decodes against the
Unicode standard (overlong forms, surrogates, beyond U+10FFFF) and U+017F after an apostrophe, which the
published expressions, but not llama.cpp, take for an s.
"""
import itertools
import random
import re
import sys

try:
    import llama_cpp
except ImportError:  # other scripts need the strings alone
    llama_cpp = None

WORDS = """the of and to in is that it was for on are with as his they be at one have this from or had by
hot but some what there we can out other were all your when up use word how said an each she which do
their time if will way about many then them would write like so these her long make thing see him two has
look more day could go come did my sound no most number who over know water than call first people may
down side been now find any new work part take get place made live where after back little only round man
year came show every good me give our under name very through just form much great think say help low line
before turn cause same mean differ move right boy old too does tell sentence set three want air well also
play small end put home read hand port large spell add even land here must big high such follow act why
antidisestablishmentarianism Pneumonoultramicroscopic iPhone McDonald NASA HTTPServer getElementById
snake_case_name kebab-case-name SCREAMING_CASE x86_64 utf8 naive cooperate cafe resume""".split()
FOREIGN = """naïve café résumé Ångström Straße ÜBER ñandú piñata œuvre İstanbul ığdır łódź žluťoučký kůň
привет мир Ёжик здравствуйте Київ Ελληνικά ὀξεῖα Հայերեն עברית שָׁלוֹם العربية مَرْحَبًا فارسی اردو
हिन्दी नमस्ते বাংলা தமிழ் తెలుగు ಕನ್ನಡ മലയാളം ไทย สวัสดี ລາວ မြန်မာ ខ្មែរ ქართული አማርኛ ᏣᎳᎩ 中文 你好世界
漢字 日本語 こんにちは カタカナ ﾊﾝｶｸ 한국어 안녕하세요 조선글 ᠮᠣᠩᠭᠣᠯ བོད་སྐད Tiếng Việt ǅ ﬁ ﬂ ŉ ǆ""".split()
CODE = [
    "def f(x: int) -> int:\n    return x ** 2 + 1\n",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i] * b[i];\n}\n",
    "#include <vector>\n\ntemplate <typename T>\nclass Box final : public Base<T> {\n  T value_;\n};\n",
    '{"key": [1, 2.5e-3, null, true], "s": "a\\n\\"b\\""}',
    "SELECT name, COUNT(*) FROM users WHERE age >= 21 GROUP BY name HAVING COUNT(*) > 1;",
    "<div class=\"a b\">\n  <p>text &amp; more</p>\n</div>",
    "let v: Vec<u8> = s.bytes().filter(|b| *b != 0x0A).collect::<Vec<_>>();",
    "if [ -z \"$HOME\" ]; then echo \"${x:-none}\" >> /dev/null 2>&1; fi",
    "\\begin{equation}\n  \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}\n\\end{equation}",
    "const f = async (a, ...rest) => { await g(`${a}!`); return rest?.[0] ?? 42; };",
    "@decorator\nclass A(B, metaclass=M):\n        '''doc'''\n        x: dict[str, int] = {}\n",
    "E = mc^2; a != b && c || !d; x <<= 3; y ->* z; p::q; #!/usr/bin/env\r\n\r\n// end\r\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- [ ] item\n  - [x] item\n\n```py\nx\n```\n",
]
SPACES = [" ", " ", " ", "  ", "   ", "    ", "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n", "\r", " \n", "\n ",
          " \t ", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\u1680", "\u180e", "\ufeff",
          "\x0b", "\x0c", "\x1c", "\x1f"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "❤️", "☎", "1️⃣", "👨🏿‍💻", "🤷‍♀️", "🧑‍🚀", "🫠", "✨", "™️", "🚀🚀"]
NUMBERS = ["0", "7", "42", "123", "2024", "3.14159", "1,000,000", "1e-9", "0xFF", "12:34:56", "2023-01-31",
           "١٢٣", "１２３", "Ⅻ", "½", "²", "③", "੧੨", "𝟘𝟙", "-5", "+1", "100%", "$9.99", "1st"]
SUFFIXES = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'VE", "'LL", "'", "''", "'x", "’s"]
MARKS = ["\u0301", "\u0308", "\u0327", "\u0323\u0302", "\u20d7", "\u0483", "\u093c", "\u0e31", "\ufe0f", "\u200d"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + [
    "...", "--", "==", "!=", "->", "::", "//", "/*", "*/", "<!--", "?!", "…", "—", "«", "»", "„", "“", "。", "、",
    "「", "！", "€", "£", "©", "°", "±", "×", "→", "∑", "√", "∞", "≠", "█", "\u0000", "\u0001", "\u001b[0m", "\u007f"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<reponame>", "<file_sep>", "<filename>",
           "<gh_stars>", "<issue_start>", "<jupyter_code>", "<empty_output>"]
BROKEN = ["<|im_start|", "|im_end|>", "<|im_ end|>", "<<|im_end|>>", "<|im_start|><|im_start|>", "<|IM_END|>",
          "<|im_start|>system\n", "<|im_end|>\n<|im_start|>assistant\n", "<repo_name", "< file_sep>"]
RANGES = [(0x21, 0x7e), (0xa1, 0x24f), (0x250, 0x36f), (0x370, 0x52f), (0x531, 0x5f4), (0x600, 0x6ff),
          (0x900, 0x97f), (0xe01, 0xe5b), (0x10a0, 0x10ff), (0x1100, 0x11ff), (0x1e00, 0x1fff), (0x2000, 0x206f),
          (0x2070, 0x20bf), (0x2100, 0x22ff), (0x2500, 0x27bf), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3),
          (0xe000, 0xe0ff), (0xfb00, 0xfdff), (0xff00, 0xffef), (0x10400, 0x104af), (0x12000, 0x12399),
          (0x1d400, 0x1d7ff), (0x1f300, 0x1faff), (0x20000, 0x2a6df)]
LAX = re.compile(rb"[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xed[\xa0-\xbf][\x80-\xbf]"
                 rb"|\xf0[\x80-\x8f][\x80-\xbf]{2}|\xf4[\x90-\xbf][\x80-\xbf]{2}|[\xf5-\xf7][\x80-\xbf]{3}"
                 rb"|'\xc5\xbf")


def fixed():
    yield from ["", " ", "  ", "\n", "\t", "a", "'", "''", "' ", " '", "\u0301", "e\u0301", "\u200d", "\x00", "\x04"]
    yield from CODE + FOREIGN + EMOJI + NUMBERS + SPACES + SPECIAL + BROKEN + PUNCTUATION
    yield from [a + b + c for a in ("", "a", "1", "!") for b in SPACES for c in ("", "a", "1", "!")]
    yield from [p + "can" + s + e for s in SUFFIXES for p in ("", " ") for e in ("", "x", " x", "1")]


def assigned_mix(rng):
    low, high = rng.choice(RANGES)
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 12)))


def prose(rng):
    out = ""
    for _ in range(rng.randint(2, 14)):
        word = rng.choice(WORDS) if rng.random() < 0.7 else rng.choice(FOREIGN)
        word = rng.choice([word, word, word, word.capitalize(), word.upper()])
        out += word + rng.choice(["", "", "", rng.choice(SUFFIXES), rng.choice([",", ".", "!", "?", ";"])])
        out += rng.choice([" "] * 8 + SPACES)
    return out


def soup(rng):
    pools = [WORDS, FOREIGN, SPACES, EMOJI, NUMBERS, SUFFIXES, MARKS, PUNCTUATION, SPACES, NUMBERS]
    pieces = (rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 16)))
    return "".join(piece if rng.random() < 0.9 else assigned_mix(rng) for piece in pieces)


def code(rng):
    lines = "".join(rng.choice(CODE) for _ in range(2)).splitlines(keepends=True)
    begin = rng.randrange(len(lines))
    indent = rng.choice(["", " ", "    ", "\t", "\t  "])
    return "".join(indent + line for line in lines[begin:begin + rng.randint(1, 6)])


def special(rng):
    pools = [SPECIAL, SPECIAL, BROKEN, WORDS, SPACES, FOREIGN]
    return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 8)))


def invalid(rng):
    out = b""
    for _ in range(rng.randint(1, 8)):
        whole = rng.choice(FOREIGN + EMOJI + WORDS).encode()
        out += rng.choice([whole, whole[:rng.randint(0, len(whole))], whole[rng.randint(0, len(whole)):],
                           bytes(rng.randrange(256) for _ in range(rng.randint(1, 5))), b" ", b"\n"])
    return out


def classes(rng):
    """Characters where the class of one decides where words end."""
    picks = (chr(rng.randint(*rng.choice(RANGES))) for _ in range(3))
    return "".join(f"a{c}1{c} {c}!{c}" for c in picks)


def runs():
    for unit in ["a", "A", "é", "中", "1", " ", "\n", "\t", "!", "=", "-", "😀", "ab", " a", "\r\n", "\u0301", "haha", "'s"]:
        for count in (2, 3, 5, 17, 64, 257, 1009):
            yield unit * count
            yield "x" + unit * count + "y"


def full():
    import unicodedata
    points = [c for c in range(0x20000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    for begin in range(0, len(points), 8):
        yield "".join(f"a{c}1{c} {c}!{c}" for c in map(chr, points[begin:begin + 8]))


def strings():
    rng = random.Random(20240229)
    makers = [(prose, 1100), (soup, 1500), (code, 400), (special, 600), (invalid, 500), (classes, 400),
              (assigned_mix, 500)]
    drawn = (make(rng) for make, count in makers for _ in range(count))
    made = itertools.chain(fixed(), runs(), drawn)
    seen = set()
    for text in made:
        text = text if isinstance(text, bytes) else text.encode()
        parse = len(seen) % 2 == 0 if b"<" in text else False
        if (text, parse) not in seen and not LAX.search(text):
            seen.add((text, parse))
            yield text, parse
    if "--full" in sys.argv:
        yield from ((text.encode(), False) for text in full())


def peer(path):
    silent = llama_cpp.llama_log_callback(lambda *_: None)
    llama_cpp.llama_log_set(silent, None)
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(path.encode(), params)
    vocab = llama_cpp.llama_model_get_vocab(model)

    def tokenize(text, parse):
        room = 3 * len(text) + 8
        ids = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(vocab, text, len(text), ids, room, False, parse)
        assert count >= 0, text
        return ids[:count]
    return tokenize


def escaped(text):
    return "".join(chr(b) if 0x21 <= b <= 0x7e and b != 0x25 else f"%{b:02X}" for b in text)


def shortened(ids):
    groups = ((i, len(list(group))) for i, group in itertools.groupby(ids))
    return " ".join(f"{i}*{n}" if n > 3 else " ".join([str(i)] * n) for i, n in groups)


def main(vocabulary, out):
    tokenize = peer(vocabulary)
    with open(out, "w", encoding="ascii") as file:
        for text, parse in strings():
            line = f"{'s' if parse else '-'} {escaped(text)} {shortened(tokenize(text, parse))}"
            file.write(line.rstrip() + "\n" if text else "-  \n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
