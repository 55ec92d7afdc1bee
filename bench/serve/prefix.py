#!/usr/bin/env python3
"""Requests that begin with the same tokens: time to the first token with and without the prefix cache.

  prefix.py --sinter PROGRAM --model FILE --out R.json      both in turns, adds rounds to R.json
  prefix.py --out R.json                                    prints the table again

Each turn is a fresh process. A first request computes the shared tokens; then come the others, one
after the other or all at once (--streams). Each has some tokens of its own at its end.
"""

import argparse
import dataclasses
import json
import pathlib
import shlex
import signal
import statistics
import sys

import serve
import streams

BAR = 10.0  # times sooner, without a first token that waits for others
SIDES = {"with": [], "without": ["--no-prefix-cache"]}


def command(options, more):
    load = options.workload
    each = load.prompt + load.answer + serve.SPARE_TOKENS
    return [options.sinter, "serve", options.model, "--port", str(options.port), "--parallel",
            str(load.requests), "--context", str(each), "--threads", str(options.threads),
            "--access-log", "off", *more]


def turn(options, more, salt):
    with serve.Server(command(options, more), options.port) as server:
        server.first_token(options.workload)
        made = {}
        for streams_at_once in options.streams:
            load = dataclasses.replace(options.workload, streams=streams_at_once)
            one = dataclasses.replace(load, streams=1, requests=1)
            about = f"{salt} {streams_at_once}"
            streams.Client("127.0.0.1", options.port, "", one, about).run()
            answers, seconds = streams.Client("127.0.0.1", options.port, "", load, about).run()
            made[str(streams_at_once)] = streams.figures(answers, seconds, load)
    return made | {"foreign": server.foreign}


def measure(options):
    identity = {"commit": options.commit or serve.compare.commit_of_tree(),
                "cpu": serve.compare.cpu_name(), "build": serve.compare.build_digest(options.sinter),
                "threads": options.threads}
    results = serve.compare.load_results(options.out, identity)
    load = options.workload
    label = (f"{pathlib.Path(options.model).stem}, {load.requests} requests, {load.shared} of "
             f"{load.prompt} tokens shared")
    entry = results["models"].setdefault(label, {
        "commands": {side: shlex.join(["sinter", *command(options, more)[1:]]).replace(
            options.model, pathlib.Path(options.model).name) for side, more in SIDES.items()},
        "workload": dataclasses.asdict(load), "rounds": []})
    for _ in range(options.rounds):
        done = len(entry["rounds"])
        order = list(SIDES) if done % 2 == 0 else list(reversed(SIDES))
        with serve.compare.locked(options.lock):
            made = {side: turn(options, SIDES[side], done) for side in order}
        entry["rounds"].append(made)
        serve.compare.save(options.out, results)
    report(results)


def first_token(made, streams_at_once):
    return made[streams_at_once]["first_token_seconds"]["median"] * 1e3


def report(results):
    print(f"{results['cpu']}, {results['threads']} threads, commit {results['commit']}, "
          f"build {results['build']}")
    for label, entry in results["models"].items():
        print(f"\n{label}: {len(entry['rounds'])} rounds, medians of the time to first token, ms")
        for at_once in (key for key in entry["rounds"][0]["with"] if key.isdigit()):
            sides = {side: [first_token(made[side], at_once) for made in entry["rounds"]] for side in SIDES}
            ratios = [without / with_ for with_, without in zip(sides["with"], sides["without"])]
            verdict = "PASS" if statistics.median(ratios) >= BAR else "FAIL"
            print(f"  {at_once:>3} at once: with {statistics.median(sides['with']):.1f}, without "
                  f"{statistics.median(sides['without']):.1f}, {statistics.median(ratios):.1f} times "
                  f"sooner ({serve.compare.spread(ratios)})  >= {BAR}: {verdict}")
        errors = sum(sum(figures["errors"].values()) for made in entry["rounds"] for side in SIDES
                     for figures in made[side].values() if isinstance(figures, dict))
        foreign = statistics.median(made[side]["foreign"] for made in entry["rounds"] for side in SIDES)
        print(f"  errors: {errors}; others' share of the machine: {foreign:.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sinter", help="the program sinter, its compiler beside it")
    parser.add_argument("--model", help="a GGUF file")
    parser.add_argument("--shared", type=int, default=1000, help="first tokens that all prompts have")
    parser.add_argument("--own", type=int, default=16, help="tokens of each prompt's own after them")
    parser.add_argument("--answer", type=int, default=8, help="tokens of an answer")
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 32], help="requests at once, one after the other")
    parser.add_argument("--port", type=int, default=8410)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="rounds to add")
    parser.add_argument("--lock", help="a file to hold locked during a round")
    parser.add_argument("--commit", help="commit of the build; the tree's where not given")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="results (JSON)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no server is left behind
    options.workload = streams.Workload(1, options.requests, options.shared + options.own, options.answer,
                                        shared=options.shared)
    if options.sinter and options.model:
        measure(options)
    elif options.sinter or options.model:
        parser.error("--sinter and --model go together")
    else:
        report(json.loads(options.out.read_text()))


if __name__ == "__main__":
    main()
