#!/usr/bin/env python3
"""Runs every method of the PyPI clients `openai` and `ollama` against a running server.

usage: clients.py ADDRESS [--model NAME] [--key KEY] [openai | ollama]...
       clients.py --serve PROGRAM [...]     starts the server itself, and ends it

Each method must do what openai.txt or ollama.txt says, and the lists must know every method. A client
that is not installed is skipped by its name. Exit status 1 where a method does something else, 77 where
no client is installed or the server that was started has no such model.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import re
import signal
import subprocess
import sys
import traceback
import urllib.request

CLIENTS = ("openai", "ollama")
NOTHING_RAN = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("words", nargs="*", metavar="ADDRESS | openai | ollama")
    parser.add_argument("--serve", metavar="PROGRAM")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--key", default="none")
    arguments = parser.parse_args()
    addresses = [word for word in arguments.words if word.startswith("http")]
    clients = [word for word in arguments.words if word in CLIENTS]
    if len(addresses) + bool(arguments.serve) != 1 or len(addresses) + len(clients) != len(arguments.words):
        parser.error("expected an address such as http://127.0.0.1:11434, or --serve, and names of clients")
    there = [name for name in clients or CLIENTS if importlib.util.find_spec(name)]
    for name in set(clients or CLIENTS) - set(there):
        print(f"SKIPPED {name}: the package is not installed")
    if not there:
        return NOTHING_RAN
    if addresses:
        return run(there, addresses[0], arguments)
    with server(arguments.serve) as address:
        if not has_model(address, arguments.model):
            print(f"SKIPPED: the server has no model {arguments.model}")
            return NOTHING_RAN
        return run(there, address, arguments)


def run(clients, address, arguments):
    failures = 0
    for name in clients:
        checks = importlib.import_module(f"{name}_checks")
        passed = failed = 0
        for method, problem in checks.run(address.rstrip("/"), arguments.model, arguments.key):
            passed += not problem
            failed += bool(problem)
            if problem:
                print(f"FAILED {name} {method}: {problem}", flush=True)
        print(f"{name}: {passed} passed, {failed} failed", flush=True)
        failures += failed or not passed
    return 1 if failures else 0


def has_model(address, model):
    with urllib.request.urlopen(address + "/v1/models", timeout=60) as answer:
        return model in [each["id"] for each in json.load(answer)["data"]]


@contextlib.contextmanager
def server(program):
    """A server on a free port; it must end well when it is told to."""
    process = subprocess.Popen([program, "serve", "--port", "0", "--access-log", "off"],
                               stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            found = re.search(r"listening on (http://\S+)", line)
            if found:
                yield found.group(1)
                break
        else:
            sys.exit("the server did not say where it listens")
    finally:
        process.send_signal(signal.SIGTERM)
        process.stderr.close()
        if process.wait(timeout=60) != 0:
            sys.exit(f"the server ended with {process.returncode}")


def outcome(call):
    """None, or what went wrong, in one line."""
    try:
        call()
        return None
    except Exception as error:  # whatever a client throws is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({where.name}:{where.lineno})".replace("\n", " ")[:400]


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.modules["clients"] = sys.modules["__main__"]
    sys.exit(main())
