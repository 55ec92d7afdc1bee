"""Headless Chromium, driven by the DevTools protocol with the standard library alone."""

import base64
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, "")}
SHIFT = 8


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


class WebSocket:
    """A client for one peer that sends whole, unmasked text messages."""

    def __init__(self, url):
        host, port, path = re.fullmatch(r"ws://([^:/]+):(\d+)(/.*)", url).groups()
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._file = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                              f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        if b" 101 " not in self._file.readline():
            raise ConnectionError("the browser refuses the websocket")
        while self._file.readline() != b"\r\n":
            pass

    def send(self, text):
        data = text.encode()
        size = bytes([0x80 | len(data)]) if len(data) < 126 else (
            b"\xfe" + struct.pack(">H", len(data)) if len(data) < 1 << 16 else b"\xff" + struct.pack(">Q", len(data)))
        self._socket.sendall(b"\x81" + size + b"\0\0\0\0" + data)  # a mask of zeros

    def receive(self):
        whole, is_last = b"", False
        while not is_last:
            first, size = self._file.read(2)
            if size >= 126:
                size = int.from_bytes(self._file.read(2 if size == 126 else 8), "big")
            whole += self._file.read(size)
            is_last = first & 0x80
        return whole.decode()

    def close(self):
        self._file.close()
        self._socket.close()


class Browser:
    """One page. `events` has every event that the browser reported."""

    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--window-size=1000,500",
             "--disable-dev-shm-usage", "--remote-debugging-port=0",
             f"--user-data-dir={self._folder.name}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.events, self._ids = [], itertools.count(1)
        self._socket = WebSocket(self._page_address())
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def _page_address(self):
        path = os.path.join(self._folder.name, "DevToolsActivePort")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with open(path, encoding="utf-8") as file:
                    port = int(file.readline())
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
                    return next(each["webSocketDebuggerUrl"] for each in json.load(answer) if each["type"] == "page")
            except (OSError, ValueError, StopIteration):
                time.sleep(0.05)
        raise TimeoutError("the browser did not start within 60 s")

    def call(self, method, **parameters):
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if "method" in message:
                self.events.append(message)
                if message["method"] == "Page.javascriptDialogOpening":
                    self._socket.send(json.dumps({"id": next(self._ids), "method": "Page.handleJavaScriptDialog",
                                                  "params": {"accept": True}}))
            elif message["id"] == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, script, seconds=30):
        deadline = time.monotonic() + seconds
        while not (value := self.evaluate(script)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{script}: not within {seconds} s; the page says: " +
                                   self.evaluate("document.body.innerText.slice(-600)"))
            time.sleep(0.05)
        return value

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && document.querySelector('#model')?.options.length > 0 "
                  "&& document.querySelector('#log').childElementCount > 0")

    def key(self, name, modifiers=0):
        code, text = KEYS[name]
        common = {"key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def close(self):
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=30)
        self._folder.cleanup()
