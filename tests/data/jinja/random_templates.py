"""Random templates by seed, of all of the language that the engine has; see make_goldens.py."""

import random

VARIABLES = {
    "s": "Hello <|im_end|> w\u00f6rld", "t": "  a,b,,c\n x ", "e": "", "n": 7, "z": 0, "neg": -3, "f": 2.5, "g": 1e20,
    "y": True, "no": False, "nil": None, "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "el": [],
    "mix": [1, "x", None, 2.5, [1]], "d": {"a": 1, "b": {"c": [1, 2]}, "k y": "v"}, "ed": {},
    "ms": [{"role": "system", "content": "sys", "n": 2},
           {"role": "user", "content": "hi\nthere", "n": 1, "x": None},
           {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "f": {"name": "go"}}]}]}

_LITERALS = ("'x'", '"a b"', "''", "'<|im_end|>'", "'\u00e9\\n'", "0", "1", "2", "-1", "10", "3.0", "0.5", "1e3",
             "true", "false", "none", "[]", "{}", "()", "'a,b'", "'%s-%d'", "'{} {}'")
_TEXT_METHODS = (
    "upper()", "lower()", "strip()", "lstrip()", "rstrip('x ')", "strip('b,')", "title()", "capitalize()",
    "swapcase()", "replace('l','LL')", "replace('','-')", "replace('a','b',1)", "split()", "split(',')",
    "split(',',1)", "rsplit(',',1)", "splitlines()", "splitlines(true)", "startswith('H')", "endswith(('x','d'))",
    "startswith('l',2)", "find('l')", "rfind('l')", "find('zz')", "count('l')", "index('l')", "index('q')",
    "center(30,'*')", "ljust(28)", "rjust(28,'.')", "zfill(30)", "isdigit()", "isalpha()", "isspace()", "isupper()",
    "islower()", "istitle()", "isalnum()", "partition('l')", "rpartition(',')", "removeprefix('He')",
    "removesuffix('d')", "format(1,2)", "join(['a','b'])", "join(ls)", "nosuch()", "casefold()", "isascii()",
    "count('')", "find('l',3,5)")
_LIST_FILTERS = (
    "list", "sort", "sort(reverse=true)", "sort|list", "sort(case_sensitive=true)", "unique|list", "reverse|list",
    "map('string')|list", "map('upper')|list", "map(attribute='role')|list", "map(attribute='n',default=9)|list",
    "map(attribute='tool_calls')|list", "select|list", "reject|list", "select('string')|list", "reject('none')|list",
    "select('gt',1)|list", "selectattr('n')|list", "selectattr('role','equalto','user')|list",
    "selectattr('n','defined')|list", "rejectattr('n','defined')|list", "selectattr('role','in',['user'])|list",
    "batch(2)|list", "batch(2,'-')|list", "slice(2)|list", "slice(3,0)|list", "groupby('role')",
    "groupby('n',default=0)", "sort(attribute='role')", "sort(attribute='n')", "map('length')|list",
    "map('default','D')|list", "map(attribute='role')|join(', ')", "map('int')|list", "map('nosuch')|list",
    "select('nosuch')|list", "map('tojson')|list")
_FILTERS = (
    "default('dd')", "default('dd',true)", "d(3)", "int", "int(5)", "float", "round", "round(1)", "round(0,'ceil')",
    "round(1,'floor')", "abs", "string", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)",
    "tojson(sort_keys=true)", "tojson(separators=(',',':'))", "upper", "title", "length", "list", "first", "last",
    "trim", "wordcount", "indent", "indent(2,true)", "indent(3,blank=true)", "truncate(7)", "truncate(9,true,'..')",
    "replace('l','L')", "center(20)", "reverse", "e", "safe", "escape", "capitalize", "format(1,2)", "string|urlencode",
    "dictsort", "items|list", "attr('a')", "string|length", "join('-')", "nosuch", "forceescape", "int(base=16)",
    "batch(3)|list", "sum", "count", "from_json")
_TESTS = (
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable",
    "sequence", "true", "false", "odd", "even", "divisibleby(2)", "divisibleby 3", "lower", "upper", "equalto 1",
    "eq(2)", "ne 3", "gt 1", "lt(2)", "ge 2", "in [1,2]", "in('abc')", "sameas none", "sameas(true)", "callable",
    "escaped", "filter", "nosuchtest", "le(1)", "greaterthan 0")
_PERCENTS = ("%s", "%d", "%5d|", "%-5s|", "%05.2f", "%x", "%+d", "%r", "%s %s", "%%", "%.2s", "%c", "%e", "%g",
             "%(a)s")
_BRACES = ("{}", "{0}{0}", "{a}", "{:>6}|", "{:05.1f}", "{:,}", "{!r}", "{0[0]}", "{:x}", "{}{}", "{{}}", "{:^9}|",
           "{:+}", "{:.3}", "{:%}", "{:d}")
_TEXTS = ("x\n", " ", "\n", "  \n", "a\n  ", "<b>", "|", "{# c #}", "{#- c -#}\n", "{% raw %}{{ x }}{% endraw %}",
          "\u00e9\t", "\n\n ", "#}")
_LOOPS = ("loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.previtem",
          "loop.nextitem", "loop.cycle('a','b')", "loop.changed(1)", "loop.depth", "loop.revindex0", "loop.zz")
_SEQUENCES = ("l", "ls", "el", "mix", "ms", "[1,2,3]", "(1,'b')", "d", "range(4)", "range(1,9,3)", "s[:4]", "'abc'")


class _Writer:
    def __init__(self, seed):
        self._random = random.Random(seed)
        self._names = []

    def _one(self, *choices):
        return self._random.choice(choices)

    def _made(self, *makers):
        return self._random.choice(makers)()

    def _variable(self):
        if self._names and self._random.random() < .3:
            return self._random.choice(self._names)
        return self._random.choice(list(VARIABLES) + ["undef"])

    def _plain_text(self):
        return self._one("s", "t", "e", "'Ab c'", "ls[1]")

    def _text(self, depth):
        if depth <= 0:
            return self._one("s", "t", "e", "'Ab c'")
        return self._made(
            lambda: self._one("s", "t", "e", "'Ab c'", "ms[1].content", "'x'", "'a.b-c'", "'\u00df \u00c9'"),
            lambda: self._one("s", "t") + "|" + self._one("upper", "lower", "title", "capitalize", "trim", "string",
                                                          "reverse", "escape"),
            lambda: f"({self._text(depth - 1)} ~ {self._expression(depth - 1)})",
            lambda: f"{self._plain_text()}.{self._one(*_TEXT_METHODS)}",
            lambda: f"{self._plain_text()}[{self._slice()}]",
            lambda: f"({self._plain_text()} + {self._plain_text()})")

    def _slice(self):
        def bound():
            return self._one("", "0", "1", "2", "-1", "-2", "5", "100", "-100")
        return self._one(bound() + ":" + bound(),
                         bound() + ":" + bound() + ":" + self._one("1", "2", "-1", "-2", "3"), "::-1")

    def _sequence(self, depth):
        if depth <= 0:
            return self._one("l", "ls", "ms", "el")
        return self._made(
            lambda: self._one(*_SEQUENCES),
            lambda: self._one("l", "ls", "mix", "ms", "[4,1]") + "|" + self._one(*_LIST_FILTERS),
            lambda: self._one("l", "ls", "mix", "ms") + "[" + self._slice() + "]",
            lambda: "d." + self._one("items()", "keys()", "values()"),
            lambda: f"[{self._expression(depth - 1)}, {self._expression(depth - 1)}]",
            lambda: f"({self._one('l', 'ls', 'el')} + {self._one('l', '[0]', 'mix')})")

    def _scalar(self, depth):
        summed = self._one("length", "count", "first", "last", "sum", "min", "max", "join", 'join(", ")', "string",
                           "list|length")
        return self._made(
            lambda: f"{self._sequence(depth)}|{summed}",
            lambda: f"{self._variable()}|{self._one(*_FILTERS)}",
            lambda: "d." + self._one("a", "b", "b.c", "zz", 'get("a")', 'get("q")', 'get("q",5)'),
            lambda: f"d['{self._one('a', 'b', 'k y', 'zz')}']",
            lambda: f"ms[{self._one('0', '1', '-1', '9')}]."
                    + self._one("role", "content", "n", "zz", "role.upper()", "tool_calls[0].f.name"))

    def _test(self):
        value = self._made(self._variable, self._variable, lambda: self._one(*_LITERALS))
        return f"{value} is {self._one('', 'not ')}{self._one(*_TESTS)}"

    def _format(self):
        percent = "'" + self._one(*_PERCENTS) + "' % " + self._one("n", "s", "f", "(n,s)", "d", "[n]", "l", "neg",
                                                                   "undef", "nil")
        braces = "'" + self._one(*_BRACES) + "'.format(" + self._one("n", "s", "f", "n,s", "a=n", "l", "neg", "nil",
                                                                     "123456", "y") + ")"
        return self._one(percent, braces)

    def _other(self, depth):
        return self._made(
            lambda: f"[{self._expression(depth - 1)},{self._expression(depth - 1)}]",
            lambda: "{'q': " + self._expression(depth - 1) + "}",
            lambda: f"-{self._expression(0)}",
            lambda: f"{self._expression(0)} ~ {self._expression(0)}",
            lambda: f"({self._expression(0)}, {self._expression(0)})",
            lambda: f"{self._one('2', 'n', 'f', 'neg')} ** {self._one('2', '3', '-1', '0.5')}",
            lambda: f"1 < {self._expression(0)} <= 5",
            lambda: self._one("[1,2][n]", "dict(a=1,b=s)|tojson", "namespace(a=1).a"))

    def _expression(self, depth):
        if depth <= 0:
            return self._made(self._variable, lambda: self._one(*_LITERALS), self._variable)

        def inner():
            return self._expression(depth - 1)
        kind = self._random.randrange(20)
        if kind < 2:
            return f"({inner()} {self._one('+', '-', '*', '/', '//', '%')} {inner()})"
        if kind < 4:
            return f"{inner()} {self._one('==', '!=', '<', '>', '<=', '>=', 'in', 'not in')} {inner()}"
        if kind < 5:
            return f"{inner()} {self._one('and', 'or')} {inner()}"
        if kind < 6:
            return f"not {inner()}"
        if kind < 8:
            return self._test()
        if kind < 9:
            other = " else " + inner() if self._random.random() < .7 else ""
            return f"({inner()} if {inner()}{other})"
        if kind < 12:
            return self._text(depth)
        if kind < 14:
            return self._sequence(depth)
        if kind < 18:
            return self._scalar(depth)
        return self._format() if kind < 19 else self._other(depth)

    def _tag(self, content):
        begin = "+" if self._random.random() < .06 else self._one("", "", "-")
        return "{%" + begin + " " + content + " " + self._one("", "", "-") + "%}"

    def _output(self, depth):
        return "{{" + self._one("", "", "-") + " " + self._expression(depth) + " " + self._one("", "", "-") + "}}"

    def _body(self, depth, *names):
        kept = list(self._names)
        self._names += names
        text = "".join(self.statement(depth) for _ in range(self._random.randrange(1, 4)))
        self._names = kept
        return text

    def _if(self, depth):
        text = self._tag("if " + self._expression(2)) + self._body(depth)
        if self._random.random() < .3:
            text += self._tag("elif " + self._expression(1)) + self._body(depth)
        if self._random.random() < .5:
            text += self._tag("else") + self._body(depth)
        return text + self._tag("endif")

    def _for(self, depth):
        target = self._one("i", "i", "i", "a, b")
        items = self._sequence(2) if target == "i" else self._one(
            "d.items()", "d|items", "d|dictsort", "[(1,2),(3,4)]", "ls|batch(2)", "[[1,2],'xy']")
        condition = " if " + self._expression(1) if self._random.random() < .15 else ""
        names = ["i"] if target == "i" else ["a", "b"]
        text = self._tag(f"for {target} in {items}{condition}") + self._body(depth, *names, self._one(*_LOOPS))
        if self._random.random() < .15:
            text += self._tag("if " + self._expression(1)) + self._tag(self._one("break", "continue"))
            text += self._tag("endif") + self._one(*_TEXTS)
        if self._random.random() < .2:
            text += self._tag("else") + self._body(depth)
        return text + self._tag("endfor")

    def _set(self):
        name = self._one("v", "w", "n")
        text = self._tag(f"set {name} = {self._expression(2)}")
        self._names.append(name)
        return text

    def _namespace(self):
        return (self._tag("set ns = namespace(c=0)") + self._tag("for q in l") + self._tag("set ns.c = ns.c + q")
                + self._tag("endfor") + "{{ ns.c }}")

    def _macro(self, depth):
        text = self._tag(f"macro m(p, q={self._expression(1)})") + self._body(depth, "p", "q") + self._tag("endmacro")
        return text + "{{ m(" + self._one("", "1", "s,2", "q=3", "l,q=1", "1,2,3", "zz=1", "s") + ") }}"

    def _block(self, depth):
        return self._made(
            lambda: self._tag("set blk" + self._one("", "|upper", "|trim|length")) + self._body(depth)
            + self._tag("endset") + "{{ blk }}",
            lambda: self._tag("filter " + self._one("upper", "trim", "replace('x','y')", "indent(2)"))
            + self._body(depth) + self._tag("endfilter"),
            lambda: self._tag("macro c(x=1)") + "[{{ caller(" + self._one("", "x") + ") }}]" + self._tag("endmacro")
            + self._tag("call" + self._one("", "(y)") + " c()") + self._body(depth) + self._tag("endcall"),
            lambda: self._tag("with k = " + self._expression(1)) + "{{ k }}" + self._body(depth)
            + self._tag("endwith"),
            lambda: self._tag("generation") + self._body(depth) + self._tag("endgeneration"))

    def statement(self, depth):
        kind = self._random.randrange(22)
        if depth <= 0 or kind < 4:
            return self._one(*_TEXTS)
        if kind < 9:
            return self._output(self._one(1, 2, 2, 3))
        if kind < 11:
            return self._if(depth - 1)
        if kind < 15:
            return self._for(depth - 1)
        if kind < 17:
            return self._set()
        if kind < 18:
            return self._namespace()
        return self._macro(depth - 1) if kind < 19 else self._block(depth - 1)


def template(seed):
    writer = _Writer(seed)
    return "".join(writer.statement(3) for _ in range(random.Random(seed).randrange(1, 4)))
