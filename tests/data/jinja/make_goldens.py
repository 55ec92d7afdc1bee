#!/usr/bin/env python3
"""Writes what jinja2 makes of templates, as the tests of tests/jinja expect it of Sinter's engine.

usage: make_goldens.py [--seed N] [--count N] [--out FILE] [--templates FOLDER]

Needs jinja2 3.1 (tested with 3.1.6), set up as transformers does it: the immutable sandbox with trim_blocks,
lstrip_blocks, loop controls, {% generation %}, tojson without HTML escapes. Two additions are ours: the filter
from_json, and the list methods append and pop.

generated.goldens: the variables, then random templates by random_templates.py, each with its output or null for
an error. Left out is what has no text of its own (addresses of objects), sets, complex numbers, whole numbers beyond
64 bits, and unknown names within conditions, where jinja2 refuses some at once.
conversations.json: messages and options. published.goldens, with --templates: for each .jinja file of a folder
(llama.cpp has one, models/templates) the first 8 digits of the SHA-256 of each conversation's output, '-' for an
error. The templates are other people's texts and are not committed; SINTER_CHAT_TEMPLATES=FOLDER shows them to
the test.
"""

import argparse
import datetime
import functools
import hashlib
import json
import pathlib
import re
import warnings

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

import conversations
import random_templates

HERE = pathlib.Path(__file__).resolve().parent
MOST_TEMPLATE_BYTES, MOST_OUTPUT_BYTES = 260, 200
MOST_ERRORS = 0.25
_NO_TEXT = re.compile(r" object at 0x|<function|<generator|&lt;generator|<built-in|<Macro|<LoopContext|"
                      r"\dj\)|\d{19,}|0X7F", re.IGNORECASE)
_SETS = re.compile(r" - .*\.(?:keys|items)\(|\.(?:keys|items)\(\).* - ")  # differences of keys


class Generation(jinja2.ext.Extension):
    """{% generation %}, as transformers has it: its body runs as a call block's."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Sandbox(ImmutableSandboxedEnvironment):
    def is_safe_attribute(self, obj, attr, value):
        grows = isinstance(obj, list) and attr in ("append", "pop")
        return grows or super().is_safe_attribute(obj, attr, value)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message):
    raise jinja2.exceptions.TemplateError(message)


def sandbox():
    env = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = _tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = _raise
    env.globals["strftime_now"] = lambda text: datetime.datetime(2024, 7, 26).strftime(text)
    return env


@functools.lru_cache(maxsize=1)
def _compiled(env, source):
    return env.from_string(source)


def rendered(env, source, variables):
    """The output, or None, and the error."""
    try:
        return _compiled(env, source).render(**json.loads(json.dumps(variables))), None
    except Exception as error:  # whatever a template does to Python
        return None, error


def is_comparable(source, text, error):
    if _SETS.search(source):
        return False
    if text is None:
        return not isinstance(error, jinja2.exceptions.TemplateAssertionError) or "if" not in source
    return len(text.encode()) <= MOST_OUTPUT_BYTES and not _NO_TEXT.search(text)


def write_generated(env, out, seed, count):
    lines, errors = [json.dumps(random_templates.VARIABLES, ensure_ascii=False)], 0
    while len(lines) <= count:
        source = random_templates.template(seed)
        seed += 1
        if len(source.encode()) > MOST_TEMPLATE_BYTES:
            continue
        text, error = rendered(env, source, random_templates.VARIABLES)
        if not is_comparable(source, text, error):
            continue
        if text is None and errors + 1 > MOST_ERRORS * len(lines):
            continue
        errors += text is None
        lines.append(json.dumps([source, text], ensure_ascii=False, separators=(",", ":")))
    out.write_text("\n".join(lines) + "\n")
    print(f"{out}: {count} templates, {errors} of them errors, up to seed {seed}")


def write_published(env, folder):
    (HERE / "conversations.json").write_text(json.dumps(
        {"conversations": conversations.CONVERSATIONS, "options": conversations.OPTIONS},
        ensure_ascii=False, separators=(",", ":")) + "\n")
    lines = []
    for path in sorted(pathlib.Path(folder).glob("*.jinja")):
        digests = []
        for messages in conversations.CONVERSATIONS.values():
            for options in conversations.OPTIONS.values():
                variables = {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", **options}
                text, _ = rendered(env, path.read_bytes().decode(), variables)
                digests.append("-" if text is None else hashlib.sha256(text.encode()).hexdigest()[:8])
        lines.append(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]} {' '.join(digests)}")
    (HERE / "published.goldens").write_text("\n".join(lines) + "\n")
    print(f"published.goldens: {len(lines)} templates")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "generated.goldens")
    parser.add_argument("--templates")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    env = sandbox()
    write_generated(env, arguments.out, arguments.seed, arguments.count)
    if arguments.templates:
        write_published(env, arguments.templates)


if __name__ == "__main__":
    main()
