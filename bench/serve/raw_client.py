"""HTTP/1.1 by hand, for clients that stop, drip or send what no library sends; and a server's process
with its metrics. Only the standard library is needed.
"""

import asyncio
import collections
import json
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

MOST_HEAD, READ_BYTES, END_SECONDS = 1 << 16, 1 << 16, 60


def request_bytes(path, body=None, method=None, headers=()):
    """A whole request. `body`: bytes, or what becomes JSON."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    method = method or ("GET" if body is None else "POST")
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}",
             "Content-Type: application/json", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


class Connection:
    """One connection; `reset` closes it as a killed process does."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address, receive_bytes=None):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_bytes:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            await asyncio.get_running_loop().sock_connect(made, address)
            return cls(*await asyncio.open_connection(sock=made, limit=MOST_HEAD))
        except OSError:
            made.close()
            raise

    def send(self, data):
        self.writer.write(data)

    def end_sending(self):
        self.writer.write_eof()

    def close(self, reset=False):
        if reset:
            self.writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()
        else:
            self.writer.close()

    async def head(self):
        """(status, {name: value})"""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip()
                   for name, _, value in (line.partition(":") for line in lines[1:])}
        return int(lines[0].split()[1]), headers

    async def parts(self, headers):
        """The body as it comes."""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
            return
        left = int(headers.get("content-length", 0))
        while left:
            data = await self.reader.readexactly(min(left, READ_BYTES))
            left -= len(data)
            yield data

    async def answer(self):
        """(status, headers, body)"""
        status, headers = await self.head()
        return status, headers, b"".join([part async for part in self.parts(headers)])


async def ask(address, path, body=None, method=None, headers=()):
    """(status, headers, body) over a connection of its own."""
    connection = await Connection.open(address)
    try:
        connection.send(request_bytes(path, body, method, headers))
        return await connection.answer()
    finally:
        connection.close()


def events_of(body):
    """Parsed server-sent events, or lines of JSON, without [DONE]."""
    for line in body.split(b"\n"):
        payload = line.removeprefix(b"data:").strip()
        if payload and payload != b"[DONE]" and payload.startswith(b"{"):
            yield json.loads(payload)


def text_of(event):
    """The part of an answer that an event of any family has."""
    if choices := event.get("choices"):
        return "".join(each.get("text") or each.get("delta", {}).get("content") or "" for each in choices)
    return event.get("response") or event.get("content") or event.get("message", {}).get("content") or ""


class Figures(dict):
    """{name: {labels: value}} of /metrics."""

    @classmethod
    async def read(cls, address):
        found = cls()
        for line in (await ask(address, "/metrics"))[2].decode().splitlines():
            if parts := re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", line):
                found.setdefault(parts[1], {})[parts[2] or ""] = float(parts[3])
        return found

    def total(self, name):
        return sum(self.get(name, {}).values())


class Server:
    """`sinter serve` on a port that the system chooses; or one that runs (`url`)."""

    def __init__(self, command=None, url=None):
        self.command, self.url, self.process, self.code = command, url, None, None
        self.said = collections.deque(maxlen=20)  # last lines on stderr

    def __enter__(self):
        if self.url is None:
            self.errors = tempfile.TemporaryFile()
            self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, stdout=self.errors)
            self.url = self._listening()
        host, port = self.url.removeprefix("http://").rstrip("/").rsplit(":", 1)
        self.address = (host, int(port))
        return self

    def _listening(self):
        for line in self.process.stderr:
            self.said.append(line.decode(errors="replace"))
            if found := re.search(r"listening on (http://\S+)", self.said[-1]):
                threading.Thread(target=self._read_errors, daemon=True).start()
                return found[1]
        sys.exit(f"{shlex.join(self.command)} ended with {self.process.wait()}:\n{''.join(self.said)}")

    def _read_errors(self):
        self.said.extend(line.decode(errors="replace") for line in self.process.stderr)

    def __exit__(self, *_):
        """It must end well when it is told to."""
        if self.process is None:
            return
        if self.process.poll() is not None:
            print(f"the server ended early with {self.process.returncode}:\n{''.join(self.said)}", file=sys.stderr)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.code = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.code = self.process.wait()


async def until(condition, seconds, step=0.1):
    """Whether the condition comes to hold; asked again and again."""
    limit = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > limit:
            return False
        await asyncio.sleep(step)
    return True
