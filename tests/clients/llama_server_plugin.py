"""pytest's side of llama_server_tests.py: no downloads, and a line of JSON for each test's outcome."""

import json
import os
import sys
import types

import expectations

sys.modules.setdefault("wget", types.ModuleType("wget"))  # the tests import it for downloads alone

import utils  # the peer's, from its folder
from openai._base_client import SyncAPIClient

ROWS = expectations.read("llama_server.txt", ("passed", "text", "refused", "failed", "skipped"))
_compare_text = utils.match_regex
_takes_any_text = False


def name_of(item):
    return item.nodeid.removeprefix("unit/")


def match_regex(pattern, text):
    return _takes_any_text or _compare_text(pattern, text)


# llama-server answers for any name of a model; here a name means a model.
def with_own_name(call, body_of):
    def wrapped(*arguments, **named):
        body = body_of(*arguments, **named)
        if isinstance(body, dict):
            body.pop("model", None)
        return call(*arguments, **named)
    return wrapped


def named_body(_self, _method, _path, data=None, *_, **__):
    return data


utils.match_regex = match_regex
utils.ServerProcess.make_request = with_own_name(utils.ServerProcess.make_request, named_body)
utils.ServerProcess.make_stream_request = with_own_name(utils.ServerProcess.make_stream_request, named_body)
SyncAPIClient.request = with_own_name(SyncAPIClient.request, lambda _self, _kind, options, **_: options.json_data)
utils.ServerPreset.load_all = staticmethod(lambda: None)


def pytest_runtest_setup(item):
    # The words of another model: all but they must hold.
    global _takes_any_text
    row = expectations.find(ROWS, name_of(item))
    _takes_any_text = row is not None and row.kind == "text"


def pytest_runtest_logreport(report):
    isLast = report.when == "call" or report.outcome != "passed" and report.when == "setup"
    if not isLast:
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    message = f"{crash.path.rsplit('/', 1)[-1]}:{crash.lineno} {crash.message}" if crash else ""
    if "Server process died" in message:
        said = [line for line in report.capstdout.splitlines() if line.startswith(("sinter", "no file stands"))]
        message = said[-1] if said else message
    with open(os.environ["SINTER_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps([report.nodeid.removeprefix("unit/"), report.outcome, message.replace("\n", " ")]) + "\n")
