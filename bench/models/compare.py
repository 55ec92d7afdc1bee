#!/usr/bin/env python3
"""Compares `sinter bench` with the peer's llama-bench on GGUF models: alternating fresh processes,
medians and pairwise ratios, what share of this machine's rates was reached, peak memory, time to
first token, cold compile time, and the bars.

Rounds are appended to --out, so that a long comparison can be made in pieces; figures of another
build of Sinter are never mixed in. Only the standard library is needed.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

PROMPT, GENERATE, CONTEXT = 512, 128, 1024
SEQUENCES, SHORT = 8, 64  # prompt and answer of each of several sequences
# Ratios, by what a file's name ends with.
SPEED_BARS = {
    "Q4_1": {"prefill": 5.0, "decode": 2.0, "parallel": 4.0},
    "Q8_0": {"prefill": 4.0, "decode": 1.8, "parallel": 4.0},
    "F16": {"prefill": 1.4, "decode": 1.25, "parallel": 2.0},
    "Q4_K_M": {"prefill": 2.0, "decode": 1.25, "parallel": 2.5},
    **{name: {"prefill": 2.0, "decode": 1.25, "parallel": 2.0}
       for name in ("Q6_K", "IQ4_XS", "Q3_K_M", "MXFP4")},
}
# Instead of its ratio: decode by the rate at which memory is read, prefill in floats by that of
# multiply-adds, both measured in the same process.
READ_SHARE, FMA_SHARE = 0.80, 0.65
MOST_SHARE = 1.05  # more: the machine was disturbed while its rate was measured, nothing is known
PEAK_RATIO, COLD_COMPILE_SECONDS = 0.9, 6.0
FIRST_TOKEN_SECONDS, LARGE_FIRST_TOKEN_SECONDS, LARGE_BYTES = 0.25, 0.6, 500 << 20
LEAST_ROUNDS = 10
ATTEMPTS, RETRY_SECONDS = 60, 3  # of a process that others disturbed


@dataclasses.dataclass
class Finished:
    """What a process printed and took. `foreign` and `steal` are shares of the machine's time that
    other processes and other guests of the host took while it ran."""
    text: str
    peak_bytes: int
    foreign: float
    steal: float


def cpu_seconds():
    """Seconds that all processors together were busy, stolen and there since boot."""
    ticks = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, idle, wait, irq, softirq, steal = (n / os.sysconf("SC_CLK_TCK") for n in ticks)
    busy = user + nice + system + irq + softirq
    return busy, steal, busy + steal + idle + wait


def run_once(command, environment):
    """Runs a process to its end; ends all on failure."""
    before = cpu_seconds()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors,
                                   env={**os.environ, **environment})
        text = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{shlex.join(command)} ended with {process.returncode}:\n"
                     + errors.read().decode(errors="replace")[-2000:])
    busy, steal, total = (b - a for a, b in zip(before, cpu_seconds()))
    own = usage.ru_utime + usage.ru_stime
    return Finished(text, usage.ru_maxrss * 1024, max(0, busy - own) / total, steal / total)


@contextlib.contextmanager
def locked(path):
    """Holds a lock that other users of the machine take, where one is given."""
    if path is None:
        yield
        return
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Machine:
    """Runs processes one at a time, each again when others were busy meanwhile. Keeps the worst
    disturbance among the runs that counted."""

    def __init__(self, lock, most_foreign):
        self.lock, self.most_foreign = lock, most_foreign
        self.forget()

    def forget(self):
        self.foreign = self.steal = 0.0

    def run(self, command, environment=dict):
        """`environment` gives the variables of each attempt."""
        for attempt in range(ATTEMPTS):
            with locked(self.lock):
                finished = run_once(command, environment())
            if finished.foreign <= self.most_foreign:
                self.foreign = max(self.foreign, finished.foreign)
                self.steal = max(self.steal, finished.steal)
                return finished
            print(f"others took {finished.foreign:.0%} of the machine (attempt {attempt + 1})",
                  file=sys.stderr)
            time.sleep(RETRY_SECONDS)
        sys.exit(f"the machine was busy in {ATTEMPTS} attempts at {shlex.join(command)}")


class Sinter:
    def __init__(self, machine, program, threads):
        self.machine, self.program, self.threads = machine, program, str(threads)

    def bench(self, model, prompt, generate, environment=dict, sequences=1):
        command = [self.program, "bench", model, "--prompt", str(prompt), "--gen", str(generate),
                   "--parallel", str(sequences), "--context", str(CONTEXT),
                   "--threads", self.threads, "--json"]
        return json.loads(self.machine.run(command, environment).text)

    def parallel(self, model):
        return self.bench(model, SHORT, SHORT, sequences=SEQUENCES)["decode_tokens_per_second"]

    def shares(self, model):
        """Of the rate at which memory is read in a step of one token; of the rate of multiply-adds
        of floats in a prompt, 0 where its products are others."""
        command = [self.program, "explain", model, "--prompt", str(PROMPT), "--threads",
                   self.threads, "--json"]
        found = json.loads(self.machine.run(command).text)
        roofs = {r["arithmetic"]: r["operations_per_second"]
                 for r in found["roofs"]["arithmetic"]}
        prompt, token = found["steps"]
        read = sum(k["bytes"] for k in token["kernels"]) / token["seconds"]
        floats = sum(k["operations"] for k in prompt["kernels"] if k["arithmetic"] == "f32")
        most = sum(k["operations"] for k in prompt["kernels"]) / 2
        return {"read": read / found["roofs"]["bytes_per_second"],
                "fma": floats / prompt["seconds"] / roofs["f32"] if floats > most else 0}

    def round(self, model):
        found = self.bench(model, PROMPT, GENERATE)
        if found["plan_build_seconds"] > 0:  # the plan was not in the cache: this start was cold
            found = self.bench(model, PROMPT, GENERATE)
        return {"prefill": found["prefill_tokens_per_second"],
                "decode": found["decode_tokens_per_second"],
                "first_token_seconds": found["first_token_seconds"],
                "peak_bytes": found["peak_bytes"]}

    def cold(self, model):
        """Seconds to build the plan with an empty cache."""
        with tempfile.TemporaryDirectory() as caches:
            found = self.bench(model, 16, 1,
                               lambda: {"XDG_CACHE_HOME": tempfile.mkdtemp(dir=caches)})
        if found["plan_build_seconds"] <= 0:
            sys.exit("an empty cache built no plan: the cold start was not measured")
        return found["plan_build_seconds"]


class Peer:
    def __init__(self, machine, program, threads):
        self.machine, self.program, self.threads = machine, program, str(threads)

    def parallel(self, model):
        """The program of the same folder for several sequences; choosing tokens is not counted."""
        program = pathlib.Path(self.program).with_name("llama-batched-bench")
        command = [program, "-m", model, "-c", str(2 * SEQUENCES * SHORT), "-ub", str(PROMPT),
                   "-t", self.threads, "-fa", "on", "-npp", str(SHORT), "-ntg", str(SHORT),
                   "-npl", str(SEQUENCES), "--output-format", "jsonl"]
        text = self.machine.run([str(part) for part in command]).text
        found = [line for line in text.splitlines() if line.startswith("{")]
        if len(found) != 1:
            sys.exit(f"llama-batched-bench printed {len(found)} lines of JSON, expected 1")
        return json.loads(found[0])["speed_tg"]

    def bench(self, model, prompt, generate, depth, repeat):
        command = [self.program, "-m", model, "-t", self.threads, "-fa", "on", "-o", "json",
                   "-p", str(prompt), "-n", str(generate), "-d", str(depth), "-r", str(repeat)]
        finished = self.machine.run(command)
        tests = json.loads(finished.text)
        if len(tests) != 1:
            sys.exit(f"llama-bench gave {len(tests)} tests, expected 1")
        return statistics.median(tests[0]["samples_ts"]), finished.peak_bytes

    def round(self, model):
        prefill, _ = self.bench(model, PROMPT, 0, 0, 3)
        decode, _ = self.bench(model, 0, GENERATE, PROMPT, 3)
        return {"prefill": prefill, "decode": decode}

    def peak(self, model):
        """Peak bytes with a full context, as Sinter has it."""
        return self.bench(model, 0, GENERATE, CONTEXT - GENERATE, 1)[1]


# ---- results ----

def build_digest(program):
    """Names what is measured: the program and the compiler beside it."""
    digest = hashlib.sha256()
    for name in ("sinter", "sinter-compiler"):
        path = pathlib.Path(program).with_name(name)
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def commit_of_tree():
    here = pathlib.Path(__file__).resolve().parent
    def git(*arguments):
        return subprocess.run(["git", "-C", here, *arguments], capture_output=True, text=True,
                              check=False).stdout.strip()
    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain") else "")


def load_results(path, identity):
    if not path.exists():
        return {**identity, "models": {}}
    results = json.loads(path.read_text())
    for key in ("build", "cpu", "threads"):
        if results.get(key) != identity[key]:
            sys.exit(f"{path.name} holds figures of {key} {results.get(key)}, this is "
                     f"{identity[key]}: name another --out")
    return results


def save(path, results):
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.replace(path)


def one_round(entry, model, machine, sinter, peer):
    """Adds one round, and the figures that are taken once for every three rounds."""
    machine.forget()
    done, one = len(entry["rounds"]), {}
    sides = [("sinter", sinter), ("peer", peer)]
    for name, side in sides if done % 2 == 0 else reversed(sides):
        one[name] = side.round(model) | {"parallel": side.parallel(model)}
    one["sinter"]["shares"] = sinter.shares(model)
    if done % 3 == 0:
        entry["cold_seconds"].append(sinter.cold(model))
        entry["peer_peak_bytes"].append(peer.peak(model))
    entry["rounds"].append({**one, "foreign": machine.foreign, "steal": machine.steal})


# ---- the table ----

def spread(values):
    return f"{min(values):.4g} to {max(values):.4g}"


def rows_of(label, entry):
    """(what, Sinter, peer, ratio or figure under the bar, bar text, passed or None)"""
    rounds = entry["rounds"]
    bars = next((bar for name, bar in SPEED_BARS.items()
                 if label.endswith(("." + name, "-" + name))), {})
    rows = []
    for what, words, share, least in (("prefill", "prefill", "fma", FMA_SHARE),
                                      ("decode", "decode", "read", READ_SHARE),
                                      ("parallel", f"{SEQUENCES} sequences", None, 0)):
        if what not in rounds[0]["sinter"]:
            continue  # an older file
        mine = [r["sinter"][what] for r in rounds]
        theirs = [r["peer"][what] for r in rounds]
        ratios = [a / b for a, b in zip(mine, theirs)]
        middle, bar = statistics.median(ratios), bars.get(what)
        shares = [r["sinter"].get("shares", {}).get(share, 0) for r in rounds]
        reached = statistics.median([s for s in shares if s <= MOST_SHARE] or [0])
        text = f"{middle:.2f} ({spread(ratios)})" + (f", {reached:.0%}" if reached else "")
        either = f">= {bar}" + (f", {least:.0%}" if reached else "")
        rows.append((f"{words}, tok/s", f"{statistics.median(mine):.1f}",
                     f"{statistics.median(theirs):.1f}", text, either if bar else "",
                     (middle >= bar or reached >= least > 0) if bar else None))
    peak = statistics.median(r["sinter"]["peak_bytes"] for r in rounds) / 2**20
    peer_peak = statistics.median(entry["peer_peak_bytes"]) / 2**20
    rows.append(("peak memory, MiB", f"{peak:.1f}", f"{peer_peak:.1f}", f"{peak / peer_peak:.2f}",
                 f"<= {PEAK_RATIO}", peak <= PEAK_RATIO * peer_peak))
    limit = LARGE_FIRST_TOKEN_SECONDS if entry.get("bytes", 0) > LARGE_BYTES else FIRST_TOKEN_SECONDS
    first = [r["sinter"]["first_token_seconds"] for r in rounds]
    rows.append(("first token, s", f"{statistics.median(first):.3f}", "", spread(first),
                 f"<= {limit}", statistics.median(first) <= limit))
    cold = entry["cold_seconds"]
    rows.append(("cold compile, s", f"{statistics.median(cold):.2f}", "", spread(cold),
                 f"<= {COLD_COMPILE_SECONDS}", statistics.median(cold) <= COLD_COMPILE_SECONDS))
    return rows


def report(results):
    print(f"{results['cpu']}, {results['threads']} threads, commit {results['commit']}, "
          f"build {results['build']}")
    for label, entry in results["models"].items():
        count = len(entry["rounds"])
        few = "" if count >= LEAST_ROUNDS else f" (bars want {LEAST_ROUNDS})"
        print(f"\n{label}: {count} rounds{few}")
        print(f"  {'':18} {'Sinter':>10} {'peer':>10}   {'pairwise ratio, spread, share':34} bar")
        for what, mine, theirs, ratio, bar, passed in rows_of(label, entry):
            verdict = "" if passed is None else "PASS" if passed else "FAIL"
            print(f"  {what:18} {mine:>10} {theirs:>10}   {ratio:34} {bar:13} {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sinter", help="the program sinter, its compiler beside it")
    parser.add_argument("--llama-bench", help="the peer's llama-bench")
    parser.add_argument("--model", action="append", default=[], help="a GGUF file (repeatable)")
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help="rounds to add")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lock", help="a file to hold locked while a process runs")
    parser.add_argument("--foreign", type=float, default=0.04,
                        help="share of the machine that others may take while a process runs")
    parser.add_argument("--commit", help="commit of the build; the tree's where not given")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="results (JSON)")
    options = parser.parse_args()
    if not options.model:
        report(json.loads(options.out.read_text()))
        return
    if not options.sinter or not options.llama_bench:
        parser.error("--model needs --sinter and --llama-bench")
    machine = Machine(options.lock, options.foreign)
    sinter = Sinter(machine, options.sinter, options.threads)
    peer = Peer(machine, options.llama_bench, options.threads)
    identity = {"commit": options.commit or commit_of_tree(), "cpu": cpu_name(),
                "build": build_digest(options.sinter), "threads": options.threads}
    results = load_results(options.out, identity)
    for model in options.model:
        label = pathlib.Path(model).stem
        entry = results["models"].setdefault(
            label, {"bytes": pathlib.Path(model).stat().st_size, "rounds": [], "cold_seconds": [],
                    "peer_peak_bytes": []})
        for _ in range(options.rounds):
            one_round(entry, model, machine, sinter, peer)
            save(options.out, results)
    report(results)


if __name__ == "__main__":
    main()
