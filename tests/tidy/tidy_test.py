"""Tidy's own tests: a clean small tree passes, and each rule catches a file that breaks it."""

import pathlib
import tempfile
import unittest

import cpp_text
import layers
import old_names
import page_rules
import tidy

CLEAN = {
    "CMakeLists.txt": "# Builds the layers of this tree.\nsinter_layer(base)\nsinter_layer(plan)\n",
    "cmake/Tests.cmake": "# Builds the tests of this tree.\nforeach(layer base plan)\nendforeach()\n",
    "src/base/size.h": "// Sizes that remember overflow.\n#pragma once\n",
    "src/base/size.cpp": '// Printing of sizes, for messages.\n#include "base/size.h"\n',
    "src/plan/plan.cpp": '// Reading of plans, for the runtime.\n#include "base/size.h"\n',
    "tests/base/size_test.cpp": '// Sizes overflow as promised.\nauto f = "good.bin";\n',
    "tests/data/good.bin": "x\n",
}


def findings(changes):
    """What tidy finds in the clean tree with `changes` laid over it."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**CLEAN, **changes}.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tidy.check(folder)


class TidyTest(unittest.TestCase):
    def expect_one(self, path, text, message):
        """Exactly one finding, in `path`, with `message` in it."""
        found = findings({path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(path + ":"), found)
        self.assertIn(message, found[0])

    def test_a_clean_tree_has_no_findings(self):
        self.assertEqual(findings({}), [])

    def test_an_empty_tree_is_a_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(tidy.check(folder)), 1)

    def test_a_lower_layer_may_not_include_a_higher_one(self):
        self.expect_one("src/base/up.cpp", '// Looks up at a plan.\n#include "plan/plan.cpp"\n',
                        "layer 'base' includes")

    def test_a_test_may_not_include_a_higher_layer(self):
        self.expect_one("tests/base/up_test.cpp", '// Looks up at a plan.\n#include "plan/plan.cpp"\n',
                        "layer 'base' includes")

    def test_brackets_do_not_hide_a_layer(self):
        self.expect_one("src/base/up.cpp", "// Looks up at a plan.\n#include <plan/plan.cpp>\n",
                        "layer 'base' includes")

    def test_sub_folders_belong_to_their_layer(self):
        self.expect_one("src/base/deep/up.cpp", '// Looks up at a plan.\n#include "plan/plan.cpp"\n',
                        "layer 'base' includes")
        self.assertEqual(findings({
            "src/plan/deep/size.h": '// Sizes of plans, a folder below.\n#include "base/size.h"\n',
            "src/plan/deep/size.cpp": '// Printing of plans\' sizes.\n#include "plan/deep/size.h"\n'}), [])

    def test_an_old_identifier_is_told_its_new_one(self):
        self.expect_one("src/base/old.cpp", "// A use of what was renamed.\nRowBucket rows;\n",
                        "'RowBucket' is now called 'MBucket'")
        self.expect_one("tests/lit/old.tile", "// A use of what was renamed.\n%d = tile.decode %q\n",
                        "'tile.decode' is now called 'tile.dequantize'")
        self.expect_one("src/base/old.cpp", "// Phases were renamed.\nauto p = Phase::Prompt;\n",
                        "'Phase::Prompt' is now called 'Phase::Prefill'")

    def test_the_engine_asks_for_a_targets_kind_in_one_folder(self):
        build = {"CMakeLists.txt": CLEAN["CMakeLists.txt"] + "sinter_layer(engine)\n"}
        for code in ("profile.kind == TargetKind::Simt", "p.kind != Simt", 'name.starts_with("cuda:")'):
            text = f"// Looks at a target.\nbool f() {{ return {code}; }}\n"
            found = findings({**build, "src/engine/lowering.cpp": text})
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith("src/engine/lowering.cpp:2"), found)
        text = "// Looks at a target.\nbool f() { return profile.kind == TargetKind::Simt; }\n"
        self.assertEqual(findings({**build, "src/engine/choice/tile.cpp": text}), [])

    def test_an_old_identifier_within_another_is_none(self):
        text = "// Longer identifiers.\nint rowBucket, RowBuckets, makeRingOp, Phase::PromptX;\n"
        self.assertEqual(findings({"src/base/new.cpp": text}), [])

    def test_no_new_identifier_is_an_old_one(self):
        for old, new in old_names.NAMES.items():
            self.assertIsNone(old_names.PATTERN.fullmatch(new), f"{old} became {new}, which is old too")

    def test_only_the_compiler_side_includes_llvm(self):
        for header in ("mlir/IR/Value.h", "llvm/ADT/Twine.h", "lld/Common/Driver.h"):
            self.expect_one("src/plan/x.cpp", f'// Includes a compiler.\n#include "{header}"\n',
                            "expected no MLIR")

    def test_an_include_names_a_file(self):
        self.expect_one("src/base/gone.cpp", '// Includes nothing.\n#include "base/gone.h"\n',
                        "names no file")

    def test_an_include_in_a_comment_is_none(self):
        self.assertEqual(findings({"src/base/c.cpp": '// Has words.\n/*\n#include "gone.h"\n*/\n'}), [])

    def test_banned_calls_are_found(self):
        for call in ("std::reg" "ex r", "std::sto" "i(s)", "sto" "f (s)", "str" "cpy(a, b)", "spr"
                     "intf(a, b)", "::sys" "tem(a)", "std::ra" "nd()", "ato" "i(s)"):
            self.expect_one("src/base/c.cpp",
                            f"// Calls what is banned.\nvoid f() {{ {call}; }}\n", "is banned")

    def test_words_like_banned_calls_are_let_be(self):
        text = ("// Calls nothing banned: ato" "i(s).\n"
                'void f() { opera' 'nd(); message.sys' 'tem("ra' 'nd()"); }\n')
        self.assertEqual(findings({"src/base/c.cpp": text}), [])

    def test_a_function_of_71_lines_is_too_long(self):
        body = '  g("}"); // }\n' * 69
        self.expect_one("src/base/f.cpp", "// One long function.\nint f(int a) {\n" + body + "}\n",
                        "has 71 lines")

    def test_a_function_of_70_lines_is_not(self):
        body = "  g('{', 1'000);\n" * 68
        self.assertEqual(findings({"src/base/f.cpp": "// One function.\nnamespace a {\nint f() const {\n"
                                   + body + "}\n} // namespace a\n"}), [])

    def test_a_file_of_801_lines_is_too_long(self):
        self.expect_one("src/base/f.cpp", "// One long file.\n" + "int a;\n" * 800, "801 lines")

    def test_a_line_of_121_columns_is_too_long(self):
        self.expect_one("src/base/f.cpp", "// One long line.\n" + "a" * 121 + "\n", "121 columns")

    def test_columns_are_characters_not_bytes(self):
        self.assertEqual(findings({"src/base/f.cpp": "// One wide line.\n" + "é" * 120 + "\n"}), [])

    def test_a_file_opens_with_a_comment(self):
        for path in ("src/base/f.cpp", "cmake/F.cmake", "tools/f.py"):
            self.expect_one(path, "\n\n", "does not open")

    def test_file_names_are_snake_case(self):
        self.expect_one("src/base/FooBar.cpp", "// A file with a bad name.\n", "snake_case")

    def test_unfinished_work_and_machine_paths_are_found(self):
        self.expect_one("src/base/f.cpp", "// TO" "DO: a purpose.\n", "unfinished")
        self.expect_one("README.md", "FIX" "ME\n", "unfinished")
        self.expect_one("README.md", "see /ho" "me/me/x\n", "one machine")
        self.expect_one("tools/get", "#!/bin/sh\n# Gets a thing.\ncurl https://py" "pi.org\n", "host")

    def test_a_source_that_nothing_builds_is_found(self):
        self.expect_one("src/hal/f.cpp", "// Not in any library.\n", "builds this file")
        self.expect_one("src/base/main.cpp", "// Not in any program.\n", "no program")
        self.expect_one("tests/base/helper.cpp", "// Not in any test.\n", "no test program")
        self.expect_one("tests/hal/hal_test.cpp", "// Not in any test.\n", "no test program")

    def test_a_link_against_the_layers_is_found(self):
        self.expect_one("cmake/More.cmake", "# More layers.\nsinter_layer(hal DEPS layout plan LIBS dl)\n",
                        "layer 'hal' links 'plan'")

    def test_a_folder_that_cmake_globs_is_built(self):
        self.assertEqual(findings({
            "cmake/More.cmake": "# More programs.\nfile(GLOB f ${CMAKE_SOURCE_DIR}/tests/fuzz/*.cpp)\n",
            "tests/fuzz/plan_fuzz.cpp": "// Feeds bytes to plans.\n"}), [])

    def test_a_header_that_nothing_includes_is_found(self):
        self.expect_one("src/base/alone.h", "// A header without readers.\n", "no file includes")

    def test_data_that_nothing_names_is_found(self):
        self.expect_one("tests/data/unused.bin", "x\n", "names this data file")

    def test_a_page_names_what_exists(self):
        for text in ("See `src/base/gone.h`.\n", "```\ncat src/base/gone.h\n```\n", "See tests/gone/*_test.cpp.\n",
                     "See `gone.h`.\n", "See `base/gone.cpp`.\n"):
            self.expect_one("docs/page.md", text, "gone")
        self.assertEqual(findings({"docs/page.md": "`src/base/size.h`, src/base. `size.h`, `base/size.cpp`, "
                                   "tests/LAYER/*_test.cpp, `sinter run mine.cpp`, a/src/gone\n"}), [])

    def test_a_name_of_code_is_in_a_source(self):
        source = {"src/base/size.h": "// Sizes of pages.\n#pragma once\nstruct PageSize { int rowsOf() const; };\n"}
        for text in ("`rowsIn`", "`PageSize::rowsIn`", "`kMostRows`", "`PageSizes`"):
            found = findings({**source, "docs/page.md": text + "\n"})
            self.assertEqual(len(found), 1, found)
            self.assertIn("which no source has", found[0])
        self.assertEqual(findings({**source, "docs/page.md": "`PageSize::rowsOf`, `rowsOf`, `PageSize`, `Q4_K`, "
                                   "`tile.dot`, `a fooBar`, wordInText, `vpdpbusd`\n"}), [])

    def test_a_link_leads_to_a_file(self):
        self.expect_one("docs/page.md", "[There](there.md)\n", "leads nowhere")
        self.assertEqual(findings({"docs/page.md": "[There](there.md#part), [web](https://example.org/x)\n",
                                   "docs/there.md": "[Up](../README.md)\n", "README.md": "[It](docs/page.md)\n"}), [])

    def test_a_page_is_short(self):
        for path, most in {**page_rules.MAX_LINES, "docs/page.md": page_rules.MAX_LINES_OF_DOCS}.items():
            text = "\n## Layers\n" + self.layers_table() + "A line.\n" * most
            found = findings({path: text})
            self.assertEqual(len(found), 1, found)
            self.assertIn("lines, at most", found[0])

    def test_the_table_of_layers_is_that_of_the_check(self):
        table = self.layers_table()
        self.assertEqual(findings({"ARCHITECTURE.md": "\n## Layers\n" + table}), [])
        for old, new, message in (("| base |  |", "| base | plan |", "sees 'plan'"),
                                  ("| base |  | x |\n", "", "no row 'base'"),
                                  ("| base |  | x |\n", "| base |  | x |\n| basement |  | x |\n", "no layer")):
            self.expect_one("ARCHITECTURE.md", "\n## Layers\n" + table.replace(old, new), message)

    @staticmethod
    def layers_table():
        rows = [f"| {name} | {', '.join(layers.seen_by(name))} | x |\n" for name in layers.names()]
        return "| layer | sees | holds |\n| --- | --- | --- |\n" + "".join(rows)

    def test_no_code_knows_a_model_family(self):
        text = '// Builds.\nbool f(const char *name) { return name == "qwen3"; }\n'
        found = [f for f in findings({"src/engine/value.cpp": text}) if "names an architecture" in f]
        self.assertEqual(len(found), 1, found)
        self.assertEqual([f for f in findings({"src/models/decoder_families.cpp": text}) if "architecture" in f], [])

    def test_the_engine_asks_no_use_list(self):
        for query in ("v.hasOneUse()", "v.getUsers()", "v.use_empty()", "onlyUser<Op>(v)"):
            text = f"// Lowers values.\n// No hasOneUse in a comment.\nbool f() {{ return {query}; }}\n"
            found = [f for f in findings({"src/engine/value.cpp": text}) if "asks who reads" in f]
            self.assertEqual(len(found), 1, query)
            self.assertTrue(found[0].startswith("src/engine/value.cpp:3:"), found)

    def test_the_layers_are_as_designed(self):
        self.assertEqual(layers.visible("plan"), {"base", "numeric", "layout", "plan"})
        self.assertIn("runtime", layers.visible("cli"))
        self.assertNotIn("format", layers.visible("graph"))
        self.assertNotIn("engine", layers.visible("cli"))
        for layer in layers.names():
            for below in layers.visible(layer) - {layer}:
                self.assertNotIn(layer, layers.visible(below), f"{layer} and {below} see each other")


class FunctionsTest(unittest.TestCase):
    def test_only_functions_count_as_functions(self):
        text = ("namespace a {\nstruct S {\n  S() : a{1} {\n  }\n  int b = {3};\n};\n"
                "enum class E { kA };\nconst int t[] = {1,\n2};\nauto f() -> int {\n if (a) {\n}\n}\n}\n")
        self.assertEqual(cpp_text.functions(text), [(3, 4), (10, 13)])

    def test_macros_before_a_scope_make_it_no_function(self):
        text = "MACRO(elf)\nnamespace a {\nclass alignas(64) B : C<int> {\n};\nint f() {}\n}\n"
        self.assertEqual(cpp_text.functions(text), [(5, 5)])

    def test_templates_and_elaborated_types_are_functions(self):
        text = ("template <class T, typename U = int> auto f() -> std::vector<T> {\n}\n"
                "struct S g(int) {\n}\nenum E h() const {\n}\n")
        self.assertEqual(cpp_text.functions(text), [(1, 2), (3, 4), (5, 6)])

    def test_literals_and_directives_hide_no_brace(self):
        text = '#define A {\nint f() { return R"x({)x"[0] + \'{\' + 1\'0; } // {\n'
        self.assertEqual(cpp_text.functions(text), [(2, 2)])

    def test_braces_that_do_not_balance_are_an_error(self):
        for text in ("void f() {\n", "}\n"):
            with self.assertRaises(ValueError):
                cpp_text.functions(text)


if __name__ == "__main__":
    unittest.main()
