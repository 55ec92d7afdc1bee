"""Streams of completions from an OpenAI-compatible server: a client that does little while it
measures, since it shares the machine with the server. It notes when bytes came and reads them later.

Only the standard library is needed.
"""

import asyncio
import dataclasses
import json
import math
import random
import time

WORDS = "time river stone light paper north garden engine letter silver water road music field".split()


@dataclasses.dataclass
class Workload:
    """Closed loop: `streams` clients, each sends its next request when its last one is answered.
    Open loop (`rate`, requests a second): requests come when they are due, drawn by `seed`."""
    streams: int
    requests: int  # of all streams
    prompt: int
    answer: int
    rate: float = 0
    temperature: float = 0
    seed: int = 1
    words: bool = False  # prompts of words instead of token ids
    ids: tuple = (1000, 30000)
    shared: int = 0  # first tokens that all prompts of a salt have

    def prompts(self, salt=0):
        """Beyond the shared tokens no two are alike, so that no cache of prefixes helps."""
        head, drawn = random.Random(f"{self.seed} {salt} head"), random.Random(f"{self.seed} {salt}")
        one = (lambda source: source.choice(WORDS)) if self.words else (lambda source: source.randrange(*self.ids))
        first = [one(head) for _ in range(self.shared)]
        made = [first + [one(drawn) for _ in range(self.prompt - self.shared)] for _ in range(self.requests)]
        return [" ".join(each) for each in made] if self.words else made

    def due(self):
        """Seconds after the start at which each request is due."""
        drawn, at, times = random.Random(self.seed), 0.0, []
        for _ in range(self.requests):
            at += drawn.expovariate(self.rate)
            times.append(at)
        return times


@dataclasses.dataclass
class Answer:
    due: float
    status: int = 0
    arrivals: list = dataclasses.field(default_factory=list)  # (time, bytes of the body)
    ended: float = 0.0
    sent: float = 0.0
    retry_after: str = ""
    error: str = ""


class Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time. Undoes chunks, reads nothing else."""

    def __init__(self):
        self.transport = self.answer = self.done = None
        self.buffer, self.in_body, self.chunked, self.left, self.keeps = b"", False, False, None, True

    def connection_made(self, transport):
        self.transport = transport

    async def ask(self, request, due):
        self.answer, self.done = Answer(due, sent=time.perf_counter()), asyncio.get_running_loop().create_future()
        self.buffer, self.in_body, self.left = b"", False, None
        self.transport.write(request)
        return await self.done

    def data_received(self, data):
        now = time.perf_counter()
        self.buffer += data
        if self.answer is None:
            return
        if not self.in_body and not self._read_head():
            return
        if self.chunked:
            self._read_chunks(now)
        else:
            self._read_plain(now)

    def connection_lost(self, error):
        self.keeps = False
        if self.answer is None:
            return
        whole = self.in_body and not self.chunked and self.left is None
        came = "in the answer" if self.in_body else "before the answer"
        self._end(time.perf_counter(), "" if whole else f"the connection was closed {came}: {error}")

    def _read_head(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        self.buffer, self.in_body = self.buffer[end + 4:], True
        self.answer.status = int(lines[0].split()[1])
        headers = {name.strip().lower(): value.strip().lower()
                   for name, _, value in (line.partition(":") for line in lines[1:])}
        self.chunked = headers.get("transfer-encoding") == "chunked"
        self.keeps = headers.get("connection") != "close"
        self.answer.retry_after = headers.get("retry-after", "")
        self.left = int(headers["content-length"]) if "content-length" in headers else None
        return True

    def _read_plain(self, now):
        self.answer.arrivals.append((now, self.buffer))
        if self.left is not None:
            self.left -= len(self.buffer)
        self.buffer = b""
        if self.left == 0:
            self._end(now)

    def _read_chunks(self, now):
        while (line := self.buffer.find(b"\r\n")) >= 0:
            size = int(self.buffer[:line].partition(b";")[0], 16)
            end = line + 2 + size
            if len(self.buffer) < end + 2:
                return
            if size == 0:  # no server sends trailers here
                self._end(now)
                return
            self.answer.arrivals.append((now, self.buffer[line + 2:end]))
            self.buffer = self.buffer[end + 2:]

    def _end(self, now, error=""):
        self.answer.ended, self.answer.error = now, error
        made, self.answer = self.answer, None
        self.done.set_result(made)


class Client:
    """Sends requests of a workload to http://host:port."""

    def __init__(self, host, port, model, workload, salt=0):
        self.host, self.port, self.workload = host, port, workload
        self.requests = [self._request(model, prompt) for prompt in workload.prompts(salt)]
        self.answers = []

    def _request(self, model, prompt):
        load = self.workload
        body = json.dumps(({"model": model} if model else {}) | {
            "prompt": prompt, "max_tokens": load.answer, "temperature": load.temperature,
            "seed": load.seed, "stream": True, "stream_options": {"include_usage": True},
            "ignore_eos": True}).encode()
        return (f"POST /v1/completions HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body

    def run(self):
        """(answers, seconds from the first request to the last end)"""
        start = time.perf_counter()
        asyncio.run(self.open_loop(start) if self.workload.rate else self.closed_loop())
        return self.answers, max(answer.ended for answer in self.answers) - start

    async def _connect(self):
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, self.host, self.port))[1]

    async def _one(self, connection, request, due):
        """Sends a request on the connection that its stream has, or on a new one where there is none,
        or where the server closed it after the answer before."""
        try:
            answer = None
            if connection is not None and connection.keeps:
                answer = await connection.ask(request, due)
            if answer is None or answer.status == 0:
                connection = await self._connect()
                answer = await connection.ask(request, due)
        except OSError as error:
            answer, connection = Answer(due, ended=time.perf_counter(), error=str(error)), None
        self.answers.append(answer)
        return connection

    async def closed_loop(self):
        left = iter(self.requests)

        async def stream():
            connection = None
            for request in left:
                connection = await self._one(connection, request, time.perf_counter())
            if connection:
                connection.transport.close()

        await asyncio.gather(*(stream() for _ in range(self.workload.streams)))

    async def open_loop(self, start):
        async def at(due, request):
            await asyncio.sleep(max(0, due - time.perf_counter()))
            if connection := await self._one(None, request, due):
                connection.transport.close()

        await asyncio.gather(*(at(start + due, request)
                               for due, request in zip(self.workload.due(), self.requests)))


# ---- what came ----

def events_of(answer):
    """(time, parsed JSON) of each server-sent event, [DONE] left out."""
    text = b""
    for when, data in answer.arrivals:
        text = (text + data).replace(b"\r\n", b"\n")
        *whole, text = text.split(b"\n\n")
        for event in whole:
            payload = event.removeprefix(b"data:").strip()
            if event.startswith(b"data:") and payload != b"[DONE]":
                yield when, json.loads(payload)


def read_answer(answer, wanted):
    """(times of events with tokens, prompt tokens, answer tokens, error)"""
    if answer.error:
        return [], 0, 0, answer.error
    if answer.status != 200:
        text = b"".join(data for _, data in answer.arrivals).decode(errors="replace")
        return [], 0, 0, f"status {answer.status}: {text[:200]}"
    times, usage, error = [], {}, ""
    for when, event in events_of(answer):
        if "error" in event:
            error = f"an error in the stream: {event['error']}"
        usage = event.get("usage") or usage
        if any(not choice.get("finish_reason") for choice in event.get("choices", [])):
            times.append(when)
    made = usage.get("completion_tokens", 0)
    if not error and made != wanted:
        error = f"{made} tokens came, expected {wanted}"
    return times, usage.get("prompt_tokens", 0), made, error


def at_share(values, share):
    """The smallest value with at least that share of all at or below it."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else None


def percentiles(values):
    return {"median": at_share(values, 0.5), "p99": at_share(values, 0.99), "most": max(values, default=None)}


def figures(answers, seconds, workload):
    """Figures of a run. Between tokens: from one event with tokens to the next of the same answer."""
    first, between, errors, events, prompts, made = [], [], {}, 0, 0, 0
    for answer in answers:
        times, read, written, error = read_answer(answer, workload.answer)
        if error:
            errors[error] = errors.get(error, 0) + 1
        if not times:
            continue
        first.append(times[0] - answer.due)
        between += [b - a for a, b in zip(times, times[1:])]
        events, prompts, made = events + len(times), prompts + read, made + written
    return {"seconds": seconds, "requests": len(answers), "errors": errors, "prompt_tokens": prompts,
            "answer_tokens": made, "tokens_in_an_event": made / events if events else None,
            "tokens_per_second": (prompts + made) / seconds, "answer_tokens_per_second": made / seconds,
            "first_token_seconds": percentiles(first), "between_tokens_seconds": percentiles(between)}
