#!/usr/bin/env python3
"""Drives OpenAI-compatible servers with streams of completions: tokens per second, time to the first
token and between tokens, errors. Two uses:

  serve.py --url http://HOST:PORT              a server that runs
  serve.py --sinter PROGRAM --llama-server PROGRAM --model FILE --out R.json
                                               starts both in turns, compares them, adds rounds to R.json

Made-up prompts, all different; every answer has its full length (ignore_eos). Each turn is a fresh
process: its start to the first streamed token is measured too, with Sinter's plan in the cache.
Only the standard library is needed.
"""

import argparse
import dataclasses
import http.client
import json
import os
import pathlib
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "models")]
import compare  # noqa: E402
import streams  # noqa: E402

SPEED_BAR, SPEED_AIM, FIRST_TOKEN_SECONDS = 2.5, 4.0, 0.3
READY_SECONDS, READY_STEP, END_SECONDS = 120, 0.002, 60
SPARE_TOKENS = 64  # of a sequence's context beyond prompt and answer
START_PROMPT = 16  # tokens of the prompt that times a start


class Server:
    """A server's process, from its start to its end, and what the machine did meanwhile."""

    def __init__(self, command, port):
        self.command, self.port, self.errors = command, port, tempfile.TemporaryFile()

    def __enter__(self):
        self.before, self.own_before = compare.cpu_seconds(), sum(os.times()[:2])
        self.started = time.perf_counter()
        self.process = subprocess.Popen(self.command, stdout=self.errors, stderr=self.errors)
        return self

    def fail(self, what):
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        sys.exit(f"{shlex.join(self.command)}: {what}\n{text[-2000:]}")

    def first_token(self, workload):
        """Seconds from the start of the process to the first event of a short answer. Asks again until
        the server listens and its model is loaded (503 until then)."""
        short = dataclasses.replace(workload, streams=1, requests=1, rate=0, answer=2, words=False,
                                    prompt=START_PROMPT)
        while time.perf_counter() < self.started + READY_SECONDS:
            answers, _ = streams.Client("127.0.0.1", self.port, "", short, "start").run()
            if answers[0].status not in (0, 503):  # 0: it does not listen yet
                times, _, _, error = streams.read_answer(answers[0], short.answer)
                if error:
                    self.fail(error)
                return times[0] - self.started
            if self.process.poll() is not None:
                self.fail(f"it ended with {self.process.returncode} before it listened")
            time.sleep(READY_STEP)
        self.fail(f"it gave no token in {READY_SECONDS} s")

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + END_SECONDS
        while True:
            pid, _, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > limit:
                self.process.kill()
            time.sleep(0.01)
        self.process.returncode = 0
        busy, steal, total = (b - a for a, b in zip(self.before, compare.cpu_seconds()))
        self.server_seconds = usage.ru_utime + usage.ru_stime
        self.client_seconds = sum(os.times()[:2]) - self.own_before
        self.peak_bytes = usage.ru_maxrss * 1024
        self.foreign = max(0, busy - self.server_seconds - self.client_seconds) / total
        self.steal = steal / total
        self.errors.close()


def turn(command, port, workload, salt):
    """One fresh process: figures of a start and of the workload."""
    with Server(command, port) as server:
        start = server.first_token(workload)
        warm = dataclasses.replace(workload, requests=workload.streams, rate=0, answer=8)
        streams.Client("127.0.0.1", port, "", warm, "warm").run()
        answers, seconds = streams.Client("127.0.0.1", port, "", workload, salt).run()
    made = streams.figures(answers, seconds, workload)
    tokens = made["prompt_tokens"] + made["answer_tokens"]
    return made | {"start_seconds": start, "tokens_per_cpu_second": tokens / server.server_seconds,
                   "server_cpu_seconds": server.server_seconds,
                   "client_cpu_seconds": server.client_seconds, "peak_bytes": server.peak_bytes,
                   "foreign": server.foreign, "steal": server.steal}


def commands(options):
    """Both servers with the same model, threads, sequences and context."""
    load, port = options.workload, str(options.port)
    sequences, threads = str(options.parallel), str(options.threads)
    each = load.prompt + load.answer + SPARE_TOKENS
    sinter = [options.sinter, "serve", options.model, "--port", port, "--parallel", sequences,
              "--context", str(each), "--threads", threads, "--access-log", "off"]
    peer = [options.llama_server, "-m", options.model, "--port", port, "--parallel", sequences,
            "-c", str(each * options.parallel), "-t", threads, "-fa", "on"]
    return {"sinter": sinter + shlex.split(options.sinter_options),
            "peer": peer + shlex.split(options.peer_options)}


def compare_servers(options):
    load, what = options.workload, commands(options)
    identity = {"commit": options.commit or compare.commit_of_tree(), "cpu": compare.cpu_name(),
                "build": compare.build_digest(options.sinter), "threads": options.threads}
    results = compare.load_results(options.out, identity)
    loop = f"{load.rate} requests a second" if load.rate else f"{load.streams} streams"
    label = f"{pathlib.Path(options.model).stem}, {loop}, {load.prompt} in, {load.answer} out"
    label += "".join(f", {extra}" for extra in (options.sinter_options, options.peer_options) if extra)
    entry = results["models"].setdefault(label, {
        "command": shlex.join(["bench/serve/serve.py", *(
            pathlib.Path(word).name if "/" in word else word for word in sys.argv[1:])]),
        "commands": {side: shlex.join([pathlib.Path(one[0]).name, *one[1:]]).replace(
            options.model, pathlib.Path(options.model).name) for side, one in what.items()},
        "workload": dataclasses.asdict(load), "rounds": []})
    for _ in range(options.rounds):
        done = len(entry["rounds"])
        with compare.locked(options.lock):
            made = {side: turn(what[side], options.port, load, done)
                    for side in (what if done % 2 == 0 else reversed(what))}
        entry["rounds"].append(made)
        compare.save(options.out, results)
        print_round(done, made)
    report(results)


# ---- the tables ----

def print_round(number, made):
    for side in ("sinter", "peer"):
        print(f"round {number}, {side}: {line_of(made[side])}; others took {made[side]['foreign']:.0%}",
              file=sys.stderr, flush=True)


def millis(figure):
    return "/".join("-" if figure[key] is None else f"{figure[key] * 1e3:.1f}" for key in ("median", "p99"))


def line_of(made):
    text = (f"{made['tokens_per_second']:.0f} tok/s, first token {millis(made['first_token_seconds'])} ms, "
            f"between tokens {millis(made['between_tokens_seconds'])} ms (median/p99)")
    return text + "".join(f"; {count} times: {error}" for error, count in made["errors"].items())


ROWS = (  # words, figure, factor, whether more is better, bar of the ratio
    ("prompts' and answers' tok/s", ("tokens_per_second",), 1, True, SPEED_BAR),
    ("tok for a server's CPU second", ("tokens_per_cpu_second",), 1, True, None),
    ("answers' tok/s", ("answer_tokens_per_second",), 1, True, None),
    ("first token, ms, median", ("first_token_seconds", "median"), 1e3, False, None),
    ("first token, ms, p99", ("first_token_seconds", "p99"), 1e3, False, None),
    ("between tokens, ms, median", ("between_tokens_seconds", "median"), 1e3, False, None),
    ("between tokens, ms, p99", ("between_tokens_seconds", "p99"), 1e3, False, 1.0),
    ("start to first token, s", ("start_seconds",), 1, False, None),
    ("peak memory, MiB", ("peak_bytes",), 2**-20, False, None),
    ("others' share of the machine", ("foreign",), 1, False, None),
)


def value_of(made, path, factor):
    for key in path:
        made = made[key]
    return made * factor


def report(results):
    print(f"{results['cpu']}, {results['threads']} threads, commit {results['commit']}, build {results['build']}")
    for label, entry in results["models"].items():
        print(f"\n{label}: {len(entry['rounds'])} rounds (medians; ratio above 1 is in Sinter's favour)")
        print(f"  {'':30} {'Sinter':>10} {'peer':>10}   ratio of pairs, spread")
        for words, path, factor, more, bar in ROWS:
            mine, theirs = ([value_of(made[side], path, factor) for made in entry["rounds"]]
                            for side in ("sinter", "peer"))
            ratios = [a / b if more else b / a for a, b in zip(mine, theirs) if a and b]
            text = f"{statistics.median(ratios):.2f} ({compare.spread(ratios)})" if ratios else ""
            if bar:
                text += f"  >= {bar}: {'PASS' if statistics.median(ratios) >= bar else 'FAIL'}"
            if path == ("start_seconds",):
                passed = statistics.median(mine) <= FIRST_TOKEN_SECONDS
                text += f"  Sinter <= {FIRST_TOKEN_SECONDS} s: {'PASS' if passed else 'FAIL'}"
            print(f"  {words:30} {statistics.median(mine):10.4g} {statistics.median(theirs):10.4g}   {text}")
        errors = sum(sum(made[side]["errors"].values()) for made in entry["rounds"] for side in made)
        print(f"  errors: {errors}")


def drive(options):
    url = urllib.parse.urlsplit(options.url)
    if url.scheme != "http" or not url.hostname:
        sys.exit(f"--url is '{options.url}', expected http://HOST:PORT")
    port = url.port or 80
    model = options.name
    if model is None:
        connection = http.client.HTTPConnection(url.hostname, port, timeout=30)
        connection.request("GET", "/v1/models")
        model = json.loads(connection.getresponse().read())["data"][0]["id"]
    answers, seconds = streams.Client(url.hostname, port, model, options.workload).run()
    made = streams.figures(answers, seconds, options.workload)
    print(line_of(made))
    if options.out:
        options.out.write_text(json.dumps({"command": shlex.join(sys.argv), **made}, indent=1) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a server that runs")
    parser.add_argument("--name", help="the model's name there (default: the first of /v1/models)")
    parser.add_argument("--sinter", help="the program sinter, its compiler beside it")
    parser.add_argument("--llama-server", help="the peer's llama-server")
    parser.add_argument("--model", help="a GGUF file")
    parser.add_argument("--sinter-options", default="", help="more options of sinter serve")
    parser.add_argument("--peer-options", default="", help="more options of llama-server")
    parser.add_argument("--parallel", type=int, help="sequences of both servers (default: --streams)")
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--streams", type=int, default=16, help="clients of a closed loop")
    parser.add_argument("--rate", type=float, default=0, help="requests a second of an open loop instead")
    parser.add_argument("--requests", type=int, help="of all streams (default: two for each)")
    parser.add_argument("--prompt", type=int, default=128, help="tokens of a prompt")
    parser.add_argument("--answer", type=int, default=128, help="tokens of an answer")
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", action="store_true", help="prompts of words, where token ids are not taken")
    parser.add_argument("--rounds", type=int, default=6, help="rounds to add")
    parser.add_argument("--lock", help="a file to hold locked during a round")
    parser.add_argument("--commit", help="commit of the build; the tree's where not given")
    parser.add_argument("--out", type=pathlib.Path, help="results (JSON)")
    options = parser.parse_args()
    options.parallel = options.parallel or options.streams
    options.workload = streams.Workload(
        options.streams, options.requests or 2 * options.streams, options.prompt, options.answer, options.rate,
        options.temperature, options.seed, options.words)
    return parser, options


def main():
    parser, options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no server is left behind
    if options.url:
        drive(options)
    elif options.model:
        if not (options.sinter and options.llama_server and options.out):
            parser.error("--model needs --sinter, --llama-server and --out")
        compare_servers(options)
    elif options.out:
        report(json.loads(options.out.read_text()))
    else:
        parser.error("give --url, --model, or --out with results to print")


if __name__ == "__main__":
    main()
