#!/usr/bin/env python3
"""Drives the chat page in headless Chromium against a server of scripted answers.

usage: page_test.py [TEST]...      exit status 77 where no Chromium is installed
"""

import pathlib
import sys
import time
import unittest

import browser
import upstream

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src/serve/page"
NOTHING_RAN = 77
HOSTILE = """<script>window.broken = 1</script><img src=x onerror="window.broken = 1">

[a](javascript:window.broken=1) [b](data:text/html,x) [c](https://example.org/"onmouseover="x) <b>d</b>

| one |
|-----|
| <i>e</i> |

1. first
   - nested
     ```py
     if x:
         y()
     ```
2. second

```html
<script>window.broken = 1</script>"""
HUGE = ["x" * 200_000, "`" * 30_000 + " " + "[" * 30_000, "\n" * 50_000, "> " * 20_000 + "deep", "- " * 20_000 + "\n" + " " * 40_000 + "x",
        "**a " * 5_000, "[a](https://" * 10_000, "*" * 50_000, "|" * 50_000 + "\n" + "|-" * 25_000, "`a``" * 5_000, "- - " * 20_000]
ANSWERS = {
    "hello": ["Hel", "lo, **wor", "ld**"],
    "endless": ["first", "hold"],
    "hostile": [HOSTILE[i:i + 9] for i in range(0, len(HOSTILE), 9)],
    "thought": [{"reasoning_content": "I wonder"}, "I know"],
}
LAST = "[...document.querySelectorAll('#log .assistant .body')].at(-1)"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        self.page.events.clear()
        self.start()

    def start(self, **options):
        self.server = upstream.Upstream(FOLDER, ANSWERS, **options)
        self.addCleanup(self.server.close)
        if not options:
            self.page.open(self.server.address)

    def tearDown(self):
        faults = [event for event in self.page.events if event["method"] == "Runtime.exceptionThrown"]
        self.page.call("Page.navigate", url="about:blank")  # so that the next test sees its own events only
        self.page.wait("location.href === 'about:blank'")
        self.assertEqual(faults, [])

    def text(self, script):
        return self.page.evaluate(script + ".innerText")

    def write(self, text):
        self.page.evaluate("document.querySelector('#message').focus()")
        self.page.type(text)

    def send(self, text):
        self.write(text)
        self.page.key("Enter")
        self.page.wait("!document.querySelector('#send').hidden")

    def press(self, name, within="document"):
        self.page.evaluate(f"[...{within}.querySelectorAll('button')].find(each => each.textContent === '{name}').click()")

    def sent(self):
        return [[each["content"] for each in request["messages"]] for request in self.server.requests]

    def test_an_answer_is_shown_as_markdown_and_sent_back_as_history(self):
        self.send("hello")
        self.assertEqual(self.page.evaluate(f"{LAST}.innerHTML"), "<p>Hello, <strong>world</strong></p>")
        self.send("more")
        self.assertEqual(self.sent()[1], ["hello", "Hello, **world**", "more"])

    def test_text_appears_while_the_answer_streams_and_stop_ends_it(self):
        self.write("endless")
        self.page.key("Enter")
        self.page.wait(f"{LAST}.innerText === 'first'")
        self.assertEqual(self.text("document.querySelector('.count')"), "1 token")
        self.assertEqual(self.server.gone, 0)
        self.page.key("Escape")
        self.page.wait(f"{LAST}.innerText.includes('Stopped')")
        deadline = time.monotonic() + 30
        while not self.server.gone and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.server.gone, 1)
        self.send("hello")
        self.assertIn("Hello, world", self.text(LAST))

    def test_editing_replaces_what_follows_once_it_is_sent(self):
        self.send("hello")
        self.send("more")
        self.press("Edit")
        self.page.key("Escape")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('article').length"), 4)
        self.press("Edit")
        self.send(" again")
        self.assertEqual(self.sent()[2], ["hello again"])
        self.assertEqual(self.page.evaluate("document.querySelectorAll('article').length"), 2)

    def test_regenerating_asks_the_same_again(self):
        self.send("hello")
        self.press("Regenerate")
        self.page.wait(f"document.querySelector('#send').hidden === false && {LAST}.innerText === 'Hello, world'")
        self.assertEqual(self.sent(), [["hello"], ["hello"]])

    def test_chats_outlive_a_reload_and_are_deleted_alone(self):
        self.send("hello")
        self.press("New chat")
        self.send("second chat")
        self.page.open(self.server.address)
        self.assertEqual(self.page.evaluate("[...document.querySelectorAll('.open')].map(each => each.innerText)"),
                         ["second chat", "hello"])
        self.page.evaluate("document.querySelectorAll('#chats .open')[1].click()")
        self.assertEqual(self.text(LAST), "Hello, world")
        self.page.evaluate("document.querySelectorAll('#chats li button:last-child')[0].click()")
        self.page.open(self.server.address)
        self.assertEqual(self.text("document.querySelector('#chats')").split("\n")[0], "hello")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('#chats li').length"), 1)

    def test_hostile_markdown_stays_text(self):
        self.send("hostile")
        self.assertIsNone(self.page.evaluate("window.broken"))
        self.assertEqual(self.page.evaluate(f"{LAST}.querySelectorAll('script, img, b, i, [onmouseover]').length"), 0)
        self.assertEqual(self.page.evaluate(f"[...{LAST}.querySelectorAll('a')].map(each => new URL(each.href).protocol)"),
                         ["https:"])
        self.assertEqual(self.page.evaluate(f"{LAST}.querySelectorAll('td').length"), 1)
        self.assertEqual(self.page.evaluate(f"{LAST}.querySelector('li pre').innerText"), "if x:\n    y()")
        self.assertIn("<script>window.broken = 1</script>", self.page.evaluate(f"{LAST}.lastChild.innerText"))

    def test_huge_answers_without_structure_are_read_in_bounded_time(self):
        self.page.evaluate("import('/markdown.js').then(it => { window.markdown = it.markdown; })")
        for text in HUGE:
            self.page.evaluate(f"{{ const began = performance.now(); window.read = markdown({text!r});"
                               "window.took = performance.now() - began; }")
            self.assertLess(self.page.evaluate("took"), 5000, text[:20])  # a quadratic pattern takes minutes

    def test_thinking_and_errors_stand_apart(self):
        self.send("thought")
        self.assertEqual(self.page.evaluate(f"{LAST}.querySelector('details p').textContent"), "I wonder")
        self.assertEqual(self.page.evaluate(f"{LAST}.lastChild.textContent"), "I know")
        self.page.evaluate("document.querySelector('#model').value = 'gone'")
        self.send("hello")
        self.assertEqual(self.page.evaluate(f"{LAST}.querySelector('.error').textContent"), "no model 'gone'")

    def test_a_key_is_asked_for_and_sent(self):
        self.start(key="secret")
        self.page.call("Page.navigate", url=self.server.address)
        self.page.wait("document.activeElement?.id === 'key'")
        self.page.type("secret")
        self.page.key("Tab")
        self.page.wait("document.querySelector('#model').options.length === 2")
        self.send("hello")
        self.assertEqual(self.text(LAST), "Hello, world")

    def open_models(self):
        self.press("Models")
        self.page.wait("document.querySelectorAll('#models li').length === 2")

    def pull(self, name):
        self.page.evaluate("document.querySelector('#pull-name').focus()")
        self.page.type(name)
        self.page.key("Enter")

    def test_a_pull_shows_how_far_it_is_and_its_model_is_chosen(self):
        self.open_models()
        self.assertIn("Q8_0 · 144 MB", self.text("document.querySelector('#models')"))
        self.pull("new")
        self.page.wait("document.querySelector('#models progress').value === 1500")  # of both digests
        self.assertEqual(self.page.evaluate("document.querySelector('#models progress').max"), 4000)
        self.assertIn("1.5 KB of 4.0 KB", self.text("document.querySelector('#models .said')"))
        self.assertNotIn("Infinity", self.text("document.querySelector('#models .said')"))
        self.server.pulls.set()
        self.page.wait("document.querySelector('#model').value === 'new'")
        self.page.wait("document.querySelectorAll('#models li').length === 3")
        self.assertEqual(self.text("document.querySelector('#models .said')"), "new is here.")

    def test_a_pull_that_fails_says_why(self):
        self.server.pulls.set()
        self.open_models()
        self.pull("broken")
        self.page.wait("document.querySelector('#models .bad')?.innerText.includes('the digest is another')")
        self.server.has_store = False
        self.press("Pull", "document.querySelector('#models')")
        self.page.wait("document.querySelector('#models .bad')?.innerText.includes('there is no store of models')")
        self.assertEqual(self.server.models, ["fake", "gone"])

    def test_a_model_is_deleted_once_that_is_confirmed(self):
        self.open_models()
        self.press("Delete", "document.querySelector('#models li:last-child')")
        self.page.wait("document.querySelector('#model').options.length === 1")
        self.assertEqual(self.server.models, ["fake"])

    def test_the_roofline_is_drawn_from_steps_and_the_weights_bytes(self):
        # 20 steps a second or a little less, of 100 that memory allows; two sequences a step.
        self.page.wait("document.querySelectorAll('.roofline circle').length > 0")
        self.assertIn("Memory 1.0 GB/s, weights 10 MB a step: at most 100 steps a second", self.text("document.querySelector('#live')"))
        share = int(self.page.evaluate("/at (\\d+) %/.exec(document.querySelector('.roofline').getAttribute('aria-label'))[1]"))
        self.assertTrue(2 <= share <= 30, share)
        self.assertIn("Sequences a step\n2.0", self.text("document.querySelector('#live')"))

    def test_code_and_whole_answers_are_copied(self):
        self.page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
        self.send("hostile")
        self.press("Copy", f"{LAST}")
        self.page.wait("window.copied !== undefined")
        self.assertEqual(self.page.evaluate("copied"), "if x:\n    y()")
        self.page.evaluate("navigator.clipboard.writeText = async () => { throw new Error('refused'); };"
                           "document.execCommand = () => { window.copied = getSelection().toString(); }")
        self.press("Copy", f"{LAST}.closest('article')")
        self.page.wait("copied.startsWith('<script>')")

    def test_nothing_is_wider_than_a_phone(self):
        self.page.call("Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True)
        self.addCleanup(self.page.call, "Emulation.clearDeviceMetricsOverride")
        self.send("hostile")
        self.open_models()
        self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth"), 360)
        self.assertGreater(self.page.evaluate("document.querySelector('#model').clientWidth"), 60)  # names are read
        self.press("Settings")
        self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth"), 360)

    def test_the_keyboard_alone_reaches_everything(self):
        self.write("one")
        self.page.key("Enter", browser.SHIFT)
        self.page.type("two")
        self.assertEqual(self.page.evaluate("document.querySelector('#message').value"), "one\ntwo")
        self.page.key("Enter")
        self.page.wait(f"{LAST}?.innerText === 'an answer'")
        self.page.evaluate("document.activeElement.blur(); getSelection().setPosition(document.body, 0)")
        reached = set()
        for _ in range(25):
            self.page.key("Tab")
            reached.add(self.page.evaluate("document.activeElement.id || document.activeElement.innerText"))
        self.assertLessEqual({"new", "toggle-side", "model", "toggle-models", "export", "toggle-settings", "log", "message", "send",
                              "Copy", "Edit", "Regenerate"}, reached)

    def test_no_request_leaves_the_server(self):
        self.send("hostile")
        self.press("Export")
        self.page.wait("document.querySelector('#live').innerText.includes('Sequences running')")
        asked = [event["params"]["request"]["url"] for event in self.page.events
                 if event["method"] == "Network.requestWillBeSent"]
        self.assertEqual([url for url in asked if not url.startswith((self.server.address, "data:,", "blob:"))], [])
        refused = [event for event in self.page.events if "Content Security Policy" in str(event)]
        self.assertEqual(refused, [])


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if not browser.find():
        print("SKIPPED page: none of these is installed: " + ", ".join(browser.NAMES))
        sys.exit(NOTHING_RAN)
    unittest.main()
