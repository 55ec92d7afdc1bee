#!/usr/bin/env python3
"""Loads `sinter serve` with clients that no server likes, and checks what must hold.

  stress.py disconnects --sinter PROGRAM --model FILE     clients that go at any moment
  stress.py slow ...                                      1,000 that drip their request, 200 that never read
  stress.py overload ...                                  4 times the requests that the server can take
  stress.py memory ...                                    minutes of traffic, a tenth of it hostile

--url http://HOST:PORT takes a server that runs. Each run is appended to --out with the machine and the
commit. Exit status 1 where a bar is missed. Only the standard library is needed.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import platform
import random
import shlex
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]
import compare  # noqa: E402
import raw_client  # noqa: E402
import streams  # noqa: E402
from raw_client import Connection, Figures, ask, events_of, request_bytes, text_of, until  # noqa: E402

# Bars of the load tests.
MOST_P99_RATIO, MOST_REFUSAL_SECONDS, LEAST_GOODPUT = 1.3, 0.1, 0.85
MOST_RECOVERY_SECONDS, MOST_GROWTH, OVERLOAD = 5.0, 0.01, 4
UNREAD_SECONDS = 65  # a server's --timeout, beyond which it closes what nobody reads
SETTLE_SECONDS = 90  # for a server to give back all that clients left behind
GONE = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
NOTHING_RAN = 77  # exit status
MEASURED = ("p99", "memory", "goodput", "refused within", "as before")  # bars that a busy machine can miss
ENDINGS = ("finished", "failed", "cancelled")


# ---- what a server holds ----

async def held(address):
    """What is not back yet, by name; this question's own connection apart."""
    now = await Figures.read(address)
    ends = sum(now.total(f"sinter_answers_{each}_total") for each in ENDINGS)
    return {
        "sequences": now.total("sinter_sequences_running") + now.total("sinter_sequences_waiting"),
        "pages": now.total("sinter_pages") - now.total("sinter_pages_free"),
        "states": now.total("sinter_state_slots") - now.total("sinter_state_slots_free"),
        "connections": now.total("sinter_http_connections") - 1,
        "answers without an end": now.total("sinter_answers_accepted_total") - ends,
        "descriptors": now.total("process_open_fds"),
    }


async def settle(address, before):
    """Waits until all is back; what is not, by name."""
    left = {}

    async def is_settled():
        left.clear()
        left.update({name: count - before[name] for name, count in (await held(address)).items()
                     if count > before[name]})
        return not left

    await until(is_settled, SETTLE_SECONDS)
    return left


# ---- clients that go ----

WITNESSES = [
    {"prompt": "Once upon a time", "max_tokens": 24, "temperature": 0, "stream": True},
    {"prompt": "The capital of France", "max_tokens": 16, "temperature": 1, "seed": 7, "stream": True},
    {"prompt": "word " * 150, "max_tokens": 12, "temperature": 0, "stream": True},
]
STATES = ("head", "body", "queued", "prefill", "token", "last", "whole")
PATHS = ("/v1/completions", "/v1/completions", "/v1/chat/completions", "/api/generate", "/completion")


async def witness_text(address, body):
    status, _, data = await ask(address, "/v1/completions", body)
    if status != 200:
        return f"status {status}: {data[:200]!r}"
    return "".join(text_of(event) for event in events_of(data))


def leaving_request(drawn):
    path = drawn.choice(PATHS)
    prompt, tokens = "word " * drawn.choice((2, 20, 60, 200)), drawn.choice((1, 4, 16))
    body = {"prompt": prompt, "temperature": 1, "stream": drawn.random() < 0.75}
    if path == "/v1/chat/completions":
        body["messages"] = [{"role": "user", "content": body.pop("prompt")}]
    if path.startswith("/v1") and drawn.random() < 0.2:
        body["n"] = 2
    body |= {"options": {"num_predict": tokens}} if path.startswith("/api") else {"max_tokens": tokens}
    if path == "/completion":
        body["n_predict"] = tokens
    return request_bytes(path, body)


async def read_and_leave(connection, drawn, state):
    """Reads events up to one of them, or up to the last; the end of the body stays unread."""
    status, headers = await connection.head()
    wanted, events = drawn.randint(1, 12), 0
    async for part in connection.parts(headers):
        events += part.count(b"\n\n") or 1
        ends = b"[DONE]" in part or b'"done":true' in part or b'"stop":true' in part
        if status == 200 and ((state == "token" and events >= wanted) or (state == "last" and ends)):
            return


async def leave(address, drawn, state):
    """One client: sends a request, or a part of one, and goes when it is in that state."""
    connection = await Connection.open(address)
    reset = drawn.random() < 0.4
    try:
        data = leaving_request(drawn)
        if state in ("head", "body"):
            end = data.index(b"\r\n\r\n") + 4
            data = data[:drawn.randrange(end) if state == "head" else drawn.randrange(end, len(data))]
        connection.send(data)
        await connection.writer.drain()
        if state in ("queued", "head", "body"):
            await asyncio.sleep(0 if drawn.random() < 0.5 else drawn.random() * 0.02)
        elif state == "prefill":
            if drawn.random() < 0.3:
                connection.end_sending()
            await asyncio.sleep(drawn.random() * 0.3)
        else:
            await read_and_leave(connection, drawn, state)
    finally:
        connection.close(reset)


async def disconnects(options, address):
    expected = [await witness_text(address, body) for body in WITNESSES]
    before = await held(address)
    before |= {name: 0 for name in before if name != "descriptors"}
    left, gone, differing, compared = iter(range(options.requests)), dict.fromkeys(STATES, 0), [], [0]
    churning = True

    async def client():
        for number in left:
            drawn = random.Random(f"{options.seed} {number}")
            state = drawn.choice(STATES)
            with contextlib.suppress(*GONE):
                await leave(address, drawn, state)
            gone[state] += 1

    async def witness(number):
        while churning or compared[0] < len(WITNESSES):
            text = await witness_text(address, WITNESSES[number])
            compared[0] += 1
            if text != expected[number]:
                differing.append(text[:200])

    watching = [asyncio.create_task(witness(number)) for number in range(len(WITNESSES))]
    await asyncio.gather(*(client() for _ in range(options.clients)))
    churning = False
    await asyncio.gather(*watching)
    not_back = await settle(address, before)
    now = await Figures.read(address)
    figures = {"gone": gone, "streams_compared": compared[0], "streams_that_differ": differing[:5],
               "not_back": not_back, "accepted": now.total("sinter_answers_accepted_total"),
               **{each: now.total(f"sinter_answers_{each}_total") for each in ENDINGS}}
    bars = {"all is back": not not_back, "other streams have the same bytes": not differing,
            "accepted = finished + failed + cancelled":
                figures["accepted"] == sum(figures[each] for each in ENDINGS),
            "no answer failed": figures["failed"] == 0}
    return figures, bars


# ---- clients that are slow ----

DRIP = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
       b"Content-Length: 4000\r\n\r\n" + b" " * 4000


async def drip(address, seconds, number, ready):
    """Sends a byte at a time; comes again where it is sent away."""
    while True:
        with contextlib.suppress(*GONE):
            connection = await Connection.open(address)
            ready()
            await asyncio.sleep(seconds * (number % 97) / 97)
            for byte in DRIP:
                connection.send(bytes([byte]))
                await connection.writer.drain()
                await asyncio.sleep(seconds)
                if connection.reader.at_eof():
                    break
            connection.close()
        await asyncio.sleep(seconds)


async def never_read(address, number, ready):
    """Asks for a short answer, then for pages until the server stops reading, and reads nothing."""
    first = request_bytes("/v1/completions", {"prompt": f"{number}", "max_tokens": 4, "stream": True})
    page = request_bytes("/")
    while True:
        with contextlib.suppress(*GONE):
            connection = await Connection.open(address, receive_bytes=4096)
            connection.writer.transport.pause_reading()
            connection.send(first + page * 200)
            ready()
            await asyncio.sleep(UNREAD_SECONDS)
            connection.close(reset=True)
        await asyncio.sleep(1)


async def hostiles(options, address):
    """A process of its own, so that the good clients' own speed is not theirs: says when all are there."""
    waiting = options.drips + options.deaf

    def ready():
        nonlocal waiting
        waiting -= 1
        if waiting == 0:
            print("ready", flush=True)

    await asyncio.gather(*(drip(address, options.byte_seconds, i, ready) for i in range(options.drips)),
                         *(never_read(address, i, ready) for i in range(options.deaf)))


@contextlib.asynccontextmanager
async def hostile_process(options, address):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-B", __file__, "hostiles", "--url", f"http://{address[0]}:{address[1]}",
        "--drips", str(options.drips), "--deaf", str(options.deaf),
        "--byte-seconds", str(options.byte_seconds), stdout=asyncio.subprocess.PIPE)
    try:
        await process.stdout.readline()
        async def is_idle():
            return not (await Figures.read(address)).total("sinter_sequences_running")
        await until(is_idle, SETTLE_SECONDS)  # their short answers are load, not an attack
        yield
    finally:
        process.kill()
        await process.wait()


async def good_clients(options, address, salt):
    load = streams.Workload(options.streams, options.requests, 64, 32, seed=options.seed, words=True)
    client = streams.Client(*address, "", load, salt)
    start = time.perf_counter()
    await client.closed_loop()
    made = streams.figures(client.answers, time.perf_counter() - start, load)
    whole = [answer.ended - answer.due for answer in client.answers if not answer.error]
    return {"first_token": made["first_token_seconds"]["p99"], "whole": streams.at_share(whole, 0.99),
            "between_tokens": made["between_tokens_seconds"]["p99"], "errors": made["errors"],
            "tokens_per_second": made["tokens_per_second"]}


async def slow(options, address):
    before = await held(address)
    before |= {name: 0 for name in before if name != "descriptors"}
    await good_clients(options, address, "warm")
    alone, beside = [], []
    for number in range(options.rounds):
        alone.append(await good_clients(options, address, f"a{number}"))
        async with hostile_process(options, address):
            there = (await Figures.read(address)).total("sinter_http_connections")
            beside.append(await good_clients(options, address, f"b{number}") | {"connections": there})
    not_back = await settle(address, before)
    ratios = {name: statistics.median(each[name] for each in beside)
                    / statistics.median(each[name] for each in alone)
              for name in ("first_token", "between_tokens", "whole")}
    errors = [each["errors"] for each in alone + beside if each["errors"]]
    bars = {f"p99 of {name} at most {MOST_P99_RATIO}x": ratio <= MOST_P99_RATIO
            for name, ratio in ratios.items()}
    bars |= {"no error of a good client": not errors, "all is back": not not_back}
    return {"alone": alone, "beside": beside, "p99_ratios": ratios, "not_back": not_back}, bars


# ---- more than the server can take ----

def answered(answers, wanted, slo):
    """Those that came whole, with their first token in time."""
    for answer in answers:
        times, _, _, error = streams.read_answer(answer, wanted)
        if not error and times and times[0] - answer.due <= slo:
            yield answer


async def probe(address):
    """Seconds of a short answer; none: it was refused."""
    start = time.perf_counter()
    status, _, _ = await ask(address, "/v1/completions", {"prompt": "Hi", "max_tokens": 2})
    return time.perf_counter() - start if status == 200 else None


async def recovery_seconds(address, start, usual):
    """From the overload's end to the first of three answers in a row that come as before it."""
    first, row = None, 0
    while row < 3 and time.perf_counter() < start + SETTLE_SECONDS:
        asked = time.perf_counter()
        took = await probe(address)
        row = row + 1 if took is not None and took <= 2 * usual + 0.05 else 0
        first = asked if row == 1 else first
        await asyncio.sleep(0.1)
    return first - start if row == 3 else SETTLE_SECONDS


async def cpu_seconds(address):
    return (await Figures.read(address)).total("process_cpu_seconds_total")


async def overload(options, address):
    load = streams.Workload(options.streams, 10**9, options.prompt, options.answer, seed=options.seed,
                            words=True)
    load.requests = options.streams * options.peak_rounds
    usual = statistics.median([await probe(address) for _ in range(5)])
    peak_client = streams.Client(*address, "", load, "peak")
    start, cpu = time.perf_counter(), await cpu_seconds(address)
    await peak_client.closed_loop()
    at_peak = len(list(answered(peak_client.answers, options.answer, options.slo)))
    peak = at_peak / (time.perf_counter() - start)
    cpu_of_peak = await cpu_seconds(address) - cpu
    if not peak:
        return {"errors": streams.figures(peak_client.answers, 1, load)["errors"]}, {"a peak was found": False}
    load.rate = OVERLOAD * peak
    load.requests = int(load.rate * options.seconds)
    client = streams.Client(*address, "", load, "overload")
    start, cpu = time.perf_counter(), await cpu_seconds(address)
    running = asyncio.create_task(client.open_loop(start))
    await asyncio.sleep(start + load.due()[-1] - time.perf_counter())
    end, cpu = time.perf_counter(), await cpu_seconds(address) - cpu
    recovery = await recovery_seconds(address, end, usual)
    await running
    refused = [answer for answer in client.answers if answer.status in (429, 503)]
    good = [answer for answer in answered(client.answers, options.answer, options.slo) if answer.ended <= end]
    other = {}
    for answer in client.answers:
        error = streams.read_answer(answer, options.answer)[3]
        if error and answer.status not in (429, 503):
            other[error[:120]] = other.get(error[:120], 0) + 1
    took = [answer.ended - answer.sent for answer in refused]
    figures = {"peak_per_second": peak, "offered_per_second": load.rate, "requests": load.requests,
               "good_per_second": len(good) / (end - start), "refused": len(refused),
               "refusal_seconds": streams.percentiles(took), "other_errors": other,
               "refused_without_retry_after": sum(not answer.retry_after for answer in refused),
               "goodput_share": len(good) / (end - start) / peak, "recovery_seconds": recovery,
               # What a crowded machine does not change.
               "good_per_cpu_second": {"peak": at_peak / cpu_of_peak, "overload": len(good) / cpu},
               "cpu_seconds": {"peak": cpu_of_peak, "overload": cpu}, "usual_probe_seconds": usual}
    bars = {f"goodput at least {LEAST_GOODPUT} of the peak": figures["goodput_share"] >= LEAST_GOODPUT,
            f"refused within {MOST_REFUSAL_SECONDS} s (p99)":
                bool(took) and figures["refusal_seconds"]["p99"] <= MOST_REFUSAL_SECONDS,
            "each refusal says when to come again": not figures["refused_without_retry_after"],
            f"as before within {MOST_RECOVERY_SECONDS} s": recovery <= MOST_RECOVERY_SECONDS,
            "no other error": not other}
    return figures, bars


# ---- memory over time ----

def hostile_requests(drawn):
    """Bytes that a server must refuse, or a client that goes."""
    chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
    deep = "[" * 5000 + "]" * 5000
    return drawn.choice((
        bytes(drawn.randrange(256) for _ in range(drawn.randrange(1, 2000))),
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(500)) + b"\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        request_bytes("/v1/completions", b'{"prompt": "a'),
        request_bytes("/v1/completions", deep.encode()),
        request_bytes("/v1/completions", b'{"prompt": "\xff\xfe"}'),
        request_bytes("/v1/completions", {"prompt": "word " * 20000, "max_tokens": 1}),
        request_bytes("/v1/completions", {"prompt": [-1, 10**9], "max_tokens": 1}),
        request_bytes("/v1/completions", {"prompt": "a", "max_tokens": -5}),
        request_bytes("/v1/completions", {"model": drawn.random().hex(), "prompt": "a"}),
        request_bytes("/" + drawn.random().hex(), {}),
        request_bytes("/v1/chat/completions", chat | {"grammar": "root ::= " + "(" * 2000}),
        request_bytes("/v1/chat/completions", chat | {"guided_json": {"$ref": f"#/{drawn.random()}"}}),
        request_bytes("/v1/chat/completions", chat | {"guided_regex": f"a{{{drawn.randrange(1, 10**6)}}}"}),
        request_bytes("/v1/chat/completions", chat | {"tools": [{"type": drawn.random().hex()}]}),
        request_bytes("/api/chat", {"messages": 5, "options": {"num_ctx": 10**9}}),
        request_bytes("/tokenize", {"content": "\U0001f600" * drawn.randrange(1, 20000)}),
        request_bytes("/v1/embeddings", {"input": "a"}),
    ))


async def attack(address, drawn, statuses):
    if drawn.random() < 0.4:
        return await leave(address, drawn, drawn.choice(STATES))
    connection = await Connection.open(address)
    try:
        connection.send(hostile_requests(drawn))
        if drawn.random() < 0.2:
            connection.end_sending()
        status, _ = await asyncio.wait_for(connection.head(), 90)  # the server gives a client 60
        statuses[status] = statuses.get(status, 0) + 1
    except TimeoutError:
        statuses["no answer"] = statuses.get("no answer", 0) + 1
    finally:
        connection.close(reset=drawn.random() < 0.5)


def growth_of(samples):
    """The last fifth's median over the first fifth's."""
    span = (samples[-1][0] - samples[0][0]) / 5
    first = statistics.median(value for at, value in samples if at <= samples[0][0] + span)
    last = statistics.median(value for at, value in samples if at >= samples[-1][0] - span)
    return last / first - 1


def prompt_of_its_own(number, tokens):
    drawn = random.Random(f"fill {number}")
    return {"prompt": [drawn.randrange(1000, 30000) for _ in range(tokens)], "max_tokens": 1}


def grammar_of_its_own(number):
    return {"prompt": "Write", "max_tokens": 48, "guided_regex": f"{number}( [a-z]{{1,9}}){{50}}"}


async def fill_one(address, evictions, body_of, limit_seconds, clients=4):
    """Sends requests that all differ, until the server evicts something to make room for them.
    False: it did not within the limit."""
    numbers, end, full = iter(range(10**9)), time.monotonic() + limit_seconds, False

    async def client():
        nonlocal full
        while not full and time.monotonic() < end:
            await ask(address, "/v1/completions", body_of(next(numbers)))
            full = full or (await Figures.read(address)).total(evictions) > 0

    await asyncio.gather(*(client() for _ in range(clients)))
    return full


async def fill(address, limit_seconds):
    """Fills what a server fills up to a bound: the prefix cache, which takes all pages of the KV cache,
    and the grammars that it keeps. What was full, by name."""
    first, _, _ = await ask(address, "/v1/completions", prompt_of_its_own("first", 2000))
    tokens = 2000 if first == 200 else 200  # a small context
    full = {}
    if (await Figures.read(address)).total("sinter_prefix_pages"):
        full["pages"] = await fill_one(address, "sinter_prefix_evictions_total",
                                       lambda number: prompt_of_its_own(number, tokens), limit_seconds)
    full["grammars"] = await fill_one(address, "sinter_grammar_evictions_total", grammar_of_its_own,
                                      limit_seconds)
    return full


POOLS = ("sinter_prefix_pages", "sinter_prefix_evictions_total", "sinter_grammar_bytes",
         "sinter_grammar_evictions_total", "process_threads")


async def load_for_vectors(address):
    """Hostile requests ask for vectors, too, for which the model is loaded once more, and stays."""
    connection = await Connection.open(address)
    try:
        connection.send(request_bytes("/v1/embeddings", {"input": "a"}))
        await asyncio.wait_for(connection.head(), 120)
    finally:
        connection.close()


async def memory(options, address):
    """First fills the server's pools (at most --fill seconds each), then sends the same traffic as later
    for --warm-up seconds, then measures for --seconds."""
    expected = [await witness_text(address, body) for body in WITNESSES]
    await load_for_vectors(address)
    before = await held(address)
    before |= {name: 0 for name in before if name != "descriptors"}
    full = await fill(address, options.fill)
    start, samples, statuses = time.monotonic() + options.warm_up, [], {}
    pools, counts, wrong, numbers = [], {"good": 0, "hostile": 0}, [], iter(range(10**12))

    def goes_on():
        return time.monotonic() < start + options.seconds

    async def client():
        while goes_on():
            drawn = random.Random(f"{options.seed} {next(numbers)}")
            if drawn.random() < options.hostile:
                counts["hostile"] += 1
                with contextlib.suppress(*GONE):
                    await attack(address, drawn, statuses)
                continue
            counts["good"] += 1
            which = drawn.randrange(len(WITNESSES))
            text = await witness_text(address, WITNESSES[which])
            if text != expected[which]:
                wrong.append(text[:200])

    async def sampler():
        await asyncio.sleep(start - time.monotonic())
        while goes_on():
            now = await Figures.read(address)
            pools.append({name: now.total(name) for name in POOLS})
            samples.append((time.monotonic() - start, now.total("process_resident_memory_bytes")))
            await asyncio.sleep(min(2.0, options.seconds / 40))

    await asyncio.gather(sampler(), *(client() for _ in range(options.clients)))
    not_back = await settle(address, before)
    growth = growth_of(samples)
    server_errors = {str(status): count for status, count in statuses.items()
                     if status == "no answer" or (status >= 500 and status != 503)}
    figures = {**counts, "full": full, "pools_first": pools[0], "pools_last": pools[-1], "statuses": {str(status): count for status, count in statuses.items()},
               "first_bytes": samples[0][1], "last_bytes": samples[-1][1],
               "most_bytes": max(value for _, value in samples), "growth": growth,
               "bytes_by_time": [[round(at), value] for at, value in samples[::max(1, len(samples) // 30)]],
               "wrong": wrong[:5], "not_back": not_back}
    bars = {f"memory grows at most {MOST_GROWTH:.0%}": growth <= MOST_GROWTH,
            "no error of a good client": not wrong, "no error of the server": not server_errors,
            "all is back": not not_back}
    return figures, bars


# ---- runs ----

def save(options, name, figures, bars):
    results = json.loads(options.out.read_text()) if options.out.exists() else []
    words = [pathlib.Path(word).name if "/" in word else word for word in sys.argv[1:]]
    results.append({
        "what": name, "command": shlex.join(["bench/serve/stress.py", *words]),
        "commit": options.commit or compare.commit_of_tree(), "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cpu": compare.cpu_name(), "cores": len(os.sched_getaffinity(0)),
                    "system": platform.release()},
        "bars": bars, "figures": figures})
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def is_missing(model):
    """Whether the store has no model of that name."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return "/" not in model and not any(
        pathlib.Path(folder, name).exists() for folder, name in
        ((".", model), (f"{caches}/sinter/models", f"{model}.gguf")))


def run(options, check):
    command = None
    if not options.url:
        if is_missing(options.model):
            print(f"SKIPPED: there is no model {options.model}")
            return NOTHING_RAN
        command = [options.sinter, "serve", options.model, "--port", "0", "--access-log", "off",
                   *shlex.split(options.options)]
    with raw_client.Server(command, options.url) as server:
        if check is hostiles:
            return asyncio.run(check(options, server.address))
        figures, bars = asyncio.run(check(options, server.address))
    if server.process:
        bars["the server ends well"] = server.code == 0
    if options.unmeasured:
        bars = {bar: passed for bar, passed in bars.items() if not bar.startswith(MEASURED)}
    print(json.dumps(figures, indent=1))
    for bar, passed in bars.items():
        print(f"{'PASS' if passed else 'FAIL'} {bar}")
    if options.out:
        save(options, check.__name__, figures, bars)
    return 0 if all(bars.values()) else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def add(check, **numbers):
        command = commands.add_parser(check.__name__)
        command.set_defaults(check=check)
        command.add_argument("--url", help="a server that runs")
        command.add_argument("--sinter", help="the program sinter, its compiler beside it")
        command.add_argument("--model", help="a GGUF file")
        command.add_argument("--options", default="", help="more options of sinter serve")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--commit", help="commit of the build; the tree's where not given")
        command.add_argument("--unmeasured", action="store_true",
                             help="drop the bars of times and memory: for tests on machines that others use")
        command.add_argument("--out", type=pathlib.Path, help="results (JSON), to which this run is added")
        for name, value in numbers.items():
            command.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)

    add(disconnects, requests=10_000, clients=48)
    add(slow, drips=1000, deaf=200, byte_seconds=1.0, streams=8, requests=128, rounds=5)
    add(hostiles, drips=1000, deaf=200, byte_seconds=1.0)
    add(overload, seconds=120.0, streams=16, prompt=64, answer=32, peak_rounds=12, slo=5.0)
    add(memory, seconds=1800.0, fill=600.0, warm_up=300.0, clients=12, hostile=0.1)
    options = parser.parse_args()
    if not options.url and not (options.sinter and options.model):
        parser.error("give --sinter and --model, or --url")
    return options


if __name__ == "__main__":
    chosen = arguments()
    sys.exit(run(chosen, chosen.check))
