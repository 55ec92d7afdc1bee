"""C++ source as tidy needs it: comments and literals blanked, includes listed, functions measured."""

import re

_TOKEN = re.compile(
    r"""(?P<line>//(?:\\\n|[^\n])*)
      | (?P<block>/\*.*?\*/)
      | (?P<raw>\b(?:u8|u|U|L)?R"(?P<delim>[^()\\\s]{0,16})\(.*?\)(?P=delim)")
      | (?P<number>\b[0-9](?:'?[0-9a-zA-Z_.])*)
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<char>'(?:\\.|[^'\\\n])*')""",
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_AFTER_INITIALISER = re.compile(r"\s*[,{]")
_SCOPE_HEAD = re.compile(r"\b(?:namespace|class|struct|union|enum|extern|concept)\b[^()]*$")
_SCOPE_WORD = re.compile(r"\b(?:class|struct|union|enum)\b")
_TEMPLATE_PARAMETER = re.compile(r"\b(?:class|struct|typename)\b(?=\s*\w*\s*(?:=[^,>]*)?[,>])")


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip(text):
    """The text with comments and the insides of literals blanked; lines and columns stay."""

    def replace(match):
        kind = match.lastgroup if match.lastgroup != "delim" else "raw"
        if kind == "number":
            return match.group(0)
        if kind in ("line", "block"):
            return _blank(match.group(0))
        quote = '"' if kind != "char" else "'"
        return quote + _blank(match.group(0)[1:-1]) + quote

    return _TOKEN.sub(replace, text)


def includes(text):
    """(line number, path, whether in angle brackets) of each #include outside comments."""
    blanked = re.sub(r"/\*.*?\*/", lambda m: _blank(m.group(0)), text, flags=re.DOTALL)
    for match in _INCLUDE.finditer(blanked):
        token = match.group(1)
        yield blanked.count("\n", 0, match.start(1)) + 1, token[1:-1], token[0] == "<"


def _opens_function(head):
    """Whether `head`, the code between the last ; { or } and a {, begins a function's body."""
    head = re.sub(r"\b(?:public|private|protected)\s*:", " ", head).strip()
    head = _TEMPLATE_PARAMETER.sub(" ", head)
    if "(" not in head or head.endswith(("=", ",", "(", "return")) or _SCOPE_HEAD.search(head):
        return False
    # `struct Foo makeFoo() {` is a function; `class alignas(64) Foo {` is none.
    scope = _SCOPE_WORD.search(head)
    return scope is None or scope.start() > head.index("(") or head.endswith((")", "const", "noexcept"))


def functions(text):
    """(first line, last line) of each function's braces outside any function, by a brace heuristic.

    Raises ValueError where braces do not balance.
    """
    code = _DIRECTIVE.sub(lambda m: _blank(m.group(0)), strip(text))
    stack, found, head_start, line = [], [], 0, 1
    for at, symbol in enumerate(code):
        if symbol == "\n":
            line += 1
        elif symbol == "{":
            inside = any(is_function for is_function, _, _ in stack)
            opens = not inside and _opens_function(code[head_start:at])
            stack.append((opens, line, head_start))
            head_start = at + 1
        elif symbol == "}":
            if not stack:
                raise ValueError(f"a closing brace at line {line} has no opening one")
            is_function, first, head = stack.pop()
            # The braces of a member initialiser are followed by the next one or by the body.
            initialiser = _AFTER_INITIALISER.match(code, at + 1) is not None
            if is_function and not initialiser:
                found.append((first, line))
            head_start = head if initialiser else at + 1
        elif symbol == ";":
            head_start = at + 1
    if stack:
        raise ValueError(f"the brace at line {stack[-1][1]} is never closed")
    return found
