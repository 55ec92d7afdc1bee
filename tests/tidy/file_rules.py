"""Rules on one file at a time. Each takes a SourceFile and yields (line, message)."""

import re

import cpp_text
import layers
import old_names

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 120

# Words are put together from halves so that this file passes its own rules.
_UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
_MACHINE_PATH = re.compile(
    r"(?<![\w.$}~-])(?:/ho" r"me/\w|/ro" r"ot/|/Us" r"ers/\w|/wo" r"rk/\w)|[A-Z]:\\\\?Us" r"ers"
)
_REGISTRY_HOST = re.compile(r"py" r"pi\.org|python" r"hosted\.org|npm" r"js\.(?:com|org)|crates\.io")
_BANNED_CALL = re.compile(
    r"\bstd::regex\b|(?<!\w)<regex>"
    r"|\b(?:std::)?(?:sto(?:i|l|ll|ul|ull|f|d|ld)|strcpy|strcat|v?sprintf|gets|strtok)\s*\("
    r"|(?<![\w.:>])(?:std::|::)?(?:system|popen|rand|srand|ato(?:i|l|ll|f))\s*\("
)
_SNAKE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*(?:\.[a-z0-9]+)+")
_COMMENT = {
    "cpp": ("//", "/*"),
    "td": ("//",),
    "mlir": ("//",),
    "tile": ("//",),
    "cmake": ("#",),
    "script": ("#",),
    "py": ("#", '"""'),
}


def _visible_to(file):
    extra = layers.TEST_EXTRA.get(file.layer, set()) if file.top == "tests" else set()
    return layers.visible(file.layer) | extra


def layer_order(file):
    """The layers of a source file's includes, and that a quoted include names a file."""
    if file.kind != "cpp":
        return
    for line, path, angled in cpp_text.includes(file.text):
        if path.startswith(layers.COMPILER_HEADERS):
            if file.layer is not None and file.layer not in layers.COMPILER_SIDE:
                yield line, f"layer '{file.layer}' includes '{path}', expected no MLIR, LLVM or lld"
            continue
        first = path.split("/")[0]
        ours = "/" in path and first in layers.names()
        if ours and file.layer is not None and first not in _visible_to(file):
            allowed = ", ".join(sorted(_visible_to(file)))
            yield line, f"layer '{file.layer}' includes '{path}', expected one of: {allowed}"
        quoted = not angled and file.top in ("src", "include", "tests")
        if quoted and not path.endswith(".inc") and not file.resolves(path):
            yield line, f"include \"{path}\" names no file of this tree, expected \"layer/file.h\""


def banned_calls(file):
    if file.kind != "cpp":
        return
    for number, line in enumerate(cpp_text.strip(file.text).split("\n"), 1):
        for match in _BANNED_CALL.finditer(line):
            yield number, f"'{match.group(0).strip()}' is banned"


def function_length(file):
    if file.kind != "cpp" or file.path.endswith(".inc"):
        return
    try:
        found = cpp_text.functions(file.text)
    except ValueError as error:
        yield 1, f"functions cannot be measured: {error}"
        return
    for first, last in found:
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, f"a function has {last - first + 1} lines, at most {MAX_FUNCTION_LINES}"


def file_length(file):
    count = len(file.text.splitlines())
    if file.kind is not None and count > MAX_FILE_LINES:
        yield 1, f"the file has {count} lines, at most {MAX_FILE_LINES}"


def line_length(file):
    if file.kind != "cpp":
        return
    for number, line in enumerate(file.text.split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            yield number, f"the line has {len(line)} columns, at most {MAX_COLUMNS}"


def opening_comment(file):
    starts = _COMMENT.get(file.kind)
    if starts is None:
        return
    lines = file.text.split("\n")
    if lines[0].startswith("#!"):
        lines = lines[1:]
    if not lines or not lines[0].startswith(starts) or len(lines[0].strip("/#*\" -=")) < 10:
        yield 1, "the file does not open with a comment on its purpose"


def file_name(file):
    name = file.path.rsplit("/", 1)[-1]
    named_by_others = name in ("CMakeLists.txt", "README.md")
    if file.top in ("src", "include", "tests", "bench") and not file.is_data and not named_by_others:
        if not _SNAKE.fullmatch(name):
            yield 1, f"the file is named '{name}', expected snake_case"


def words(file):
    if file.is_data:
        return
    for number, line in enumerate(file.text.split("\n"), 1):
        if match := _UNFINISHED.search(line):
            yield number, f"'{match.group(0)}' marks unfinished work"
        if match := _MACHINE_PATH.search(line):
            yield number, f"'{match.group(0)}' is a path of one machine"
        if match := _REGISTRY_HOST.search(line):
            yield number, f"'{match.group(0)}' is a registry's host"


_CHOICE = "src/engine/choice/"
_KIND = re.compile(r"\bTargetKind\b|[.>]kind\s*[!=]=\s*\w*(?:Cpu|Simt)\b")
_TARGET_PREFIX = re.compile(r'"(?:cpu|cuda|amd|metal|vulkan):')


def targets_are_values(file):
    """The engine asks what a target is in one folder, and reads no target's name."""
    if file.kind != "cpp" or not file.path.startswith("src/engine/"):
        return
    for number, line in enumerate(file.text.split("\n"), 1):
        code = line.split("//")[0]
        if not file.path.startswith(_CHOICE) and (match := _KIND.search(code)):
            yield number, f"'{match.group(0)}' outside of {_CHOICE}, expected a function of that folder"
        if match := _TARGET_PREFIX.search(code):
            yield number, f"'{match.group(0)}' begins a target's name, expected its TargetProfile"


def old_identifiers(file):
    """No identifier that was replaced by the field's own word."""
    if file.kind not in old_names.KINDS:
        return
    for number, line in enumerate(file.text.split("\n"), 1):
        for match in old_names.PATTERN.finditer(line):
            old = match.group(1)
            yield number, f"'{old}' is now called '{old_names.NAMES[old]}'"


_USE_LIST = re.compile(r"\b(?:hasOneUse|hasNUses|getUsers|getUses|getNumUses|user_begin|use_begin|use_empty"
                       r"|hasNUsesOrMore|onlyUser|onlyLaunch)\b")


def use_lists(file):
    """The engine lowers what launches say: which operations go together is decided in graph/fuse."""
    if file.kind != "cpp" or not file.path.startswith("src/engine/"):
        return
    code = cpp_text.strip(file.text)
    for match in _USE_LIST.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, f"'{match.group(0)}' asks who reads a value; graph/fuse does"


# Where a decoder's or a tokenizer's family may be named: tables.
_FAMILY_TABLES = ("src/models/decoder_families.cpp", "src/models/expert_families.cpp",
                  "src/format/known_names_table.cpp", "src/format/ollama_dialect_table.cpp",
                  "src/llm/ranking_families.cpp",
                  "src/llm/tokenizer/pretokenizer_table.cpp", "src/llm/chat/builtin_templates.cpp",
                  "src/host/go_templates.cpp")
_FAMILY = re.compile(r'"(?:llama|qwen[0-9]\w*|gemma\w*|phi[0-9]?|mistral\w*|falcon\w*)"')


def family_names(file):
    """A model's architecture is a row of a table: no other code knows its name."""
    if file.kind != "cpp" or not file.path.startswith("src/") or file.path in _FAMILY_TABLES:
        return
    for number, line in enumerate(file.text.split("\n"), 1):
        if match := _FAMILY.search(line):
            yield number, f"{match.group(0)} names an architecture outside of tables ({', '.join(_FAMILY_TABLES)})"


ALL = (layer_order, banned_calls, function_length, file_length, line_length, opening_comment,
       file_name, words, old_identifiers, targets_are_values, use_lists, family_names)
