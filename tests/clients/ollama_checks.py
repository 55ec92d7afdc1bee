"""Checks of the PyPI client `ollama`: one function for each method that is served."""

import asyncio
import inspect
import json
import tempfile
import warnings

import expectations
import ollama
from clients import outcome

MESSAGES = [{"role": "user", "content": "Say hello."}]
MADE = "sinter-clients-check:latest"  # made and deleted again
OPTIONS = {"temperature": 0, "num_predict": 8, "seed": 1, "num_ctx": 512}


def require(condition, what):
    if not condition:
        raise AssertionError(what)


class Served:
    """The methods that must work, by their names."""

    def __init__(self, client, model):
        self.client, self.model = client, model

    def chat(self):
        answer = self.client.chat(self.model, MESSAGES, options=OPTIONS)
        require(answer.message.content and answer.done and answer.eval_count > 0, f"{answer}")
        require(answer.total_duration >= answer.eval_duration, "durations")
        parts = list(self.client.chat(self.model, MESSAGES, options=OPTIONS, stream=True, keep_alive="5m"))
        text = "".join(part.message.content for part in parts)
        require(text == answer.message.content, f"streamed {text!r}, whole {answer.message.content!r}")
        require(parts[-1].done_reason in ("stop", "length"), parts[-1].done_reason)
        logged = self.client.chat(self.model, MESSAGES, options=OPTIONS, logprobs=True, top_logprobs=2)
        require(len(logged.logprobs[0].top_logprobs) == 2, "no logprobs")
        require(self.client.chat(self.model, []).done_reason == "load", "not loaded")
        self._form()
        try:
            self.client.chat(self.model, MESSAGES, options={"num_ctx": -1})
        except ollama.ResponseError as error:
            require(error.status_code == 400 and "num_ctx" in error.error, error.error)
            return
        raise AssertionError("a context of -1 was taken")

    def _form(self):
        schema = {"type": "object", "properties": {"word": {"enum": ["yes", "no"]}}, "required": ["word"],
                  "additionalProperties": False}
        answer = self.client.chat(self.model, MESSAGES, format=schema, options={"num_predict": 60})
        require(json.loads(answer.message.content)["word"] in ("yes", "no"), f"{answer.message.content!r}")

    def generate(self):
        answer = self.client.generate(self.model, "Say hello.", system="Be short.", options=OPTIONS)
        require(answer.response and answer.prompt_eval_count > 0, f"{answer}")
        raw = list(self.client.generate(self.model, "Once upon a", raw=True, options=OPTIONS, stream=True))
        require("".join(part.response for part in raw), "no text")
        try:
            self.client.generate("no-such-model", "x")
        except ollama.ResponseError as error:
            require(error.status_code == 404, f"status {error.status_code}")
            return
        raise AssertionError("a model that is not there answered")

    def embed(self):
        answer = self.client.embed(self.model, ["one", "two"], truncate=True)
        require(len(answer.embeddings) == 2 and len(answer.embeddings[0]) > 1, "no vectors")
        require(abs(sum(x * x for x in answer.embeddings[0]) - 1) < 1e-3, "no vector of length 1")
        require(len(self.client.embed(self.model, "one", dimensions=2).embeddings[0]) == 2, "dimensions")

    def embeddings(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            require(len(self.client.embeddings(self.model, "one").embedding) > 1, "no vector")

    def list(self):
        names = {model.model: model for model in self.client.list().models}
        require(self.model in names, f"{self.model} is not among {sorted(names)}")
        require(names[self.model].size > 0 and names[self.model].details.family, "no facts")

    def ps(self):
        self.client.generate(self.model, "")
        running = [model.model for model in self.client.ps().models]
        require(self.model in running, f"{self.model} is not among {running}")

    def show(self):
        shown = self.client.show(self.model)
        require(shown.modelinfo["general.architecture"] and "completion" in shown.capabilities, f"{shown}")
        require(shown.template, "no template")

    def pull(self):
        require(self.client.pull(self.model).status == "success", "not pulled")
        statuses = [part.status for part in self.client.pull(self.model, stream=True)]
        require(statuses[0] == "pulling manifest" and statuses[-1] == "success", f"{statuses}")

    def create(self):
        require(self.client.create(MADE, from_=self.model, system="Be short.",
                                   parameters={"temperature": 0}).status == "success", "not made")
        shown = self.client.show(MADE)
        require("Be short." in shown.modelfile and "temperature" in shown.parameters, f"{shown}")
        require(self.client.chat(MADE, MESSAGES, options=OPTIONS).message.content, "no answer")
        self.client.delete(MADE)

    def create_blob(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
            file.flush()
            digest = self.client.create_blob(file.name)
        require(digest.startswith("sha256:"), digest)
        self.client.create(MADE, files={"empty.gguf": digest})
        self.client.delete(MADE)

    def copy(self):
        self.client.copy(self.model, MADE)
        require(MADE in [model.model for model in self.client.list().models], "not listed")
        self.client.delete(MADE)

    def delete(self):
        try:
            self.client.delete("no-such-model")
        except ollama.ResponseError as error:
            require(error.status_code == 404, f"status {error.status_code}")
            return
        raise AssertionError("a model that is not there was deleted")


def refusal(name, method, words, file):
    """Whether a method ends with an error of the server that has these words."""
    arguments = expectations.made_up_arguments(method)
    if name == "create_blob":
        arguments = {"path": file.name}
    if name == "systemone":
        arguments = {"model": "x", "state": "x", "questions": {"a": {"type": "score", "instructions": "x", "criteria": ["a", "b"]}}}
    try:
        method(**arguments)
    except ollama.ResponseError as error:
        return None if words in str(error.error) else f"refused with {error.status_code} {error.error}"
    except Exception as error:
        return f"{type(error).__name__} before the server was asked: {error}"[:300]
    return "was not refused"


def asynchronous(address, model):
    """The other client of the package speaks the same."""

    async def run():
        stream = await ollama.AsyncClient(host=address).chat(model, MESSAGES, options=OPTIONS, stream=True)
        parts = [part async for part in stream]
        require(parts[-1].done, "no end")

    asyncio.run(run())


def run(address, model, key):
    """Yields (method, problem or None)."""
    rows = expectations.read("ollama.txt")
    client = ollama.Client(host=address, headers={"Authorization": f"Bearer {key}"}, timeout=120)
    served, file = Served(client, model), expectations.scratch_file()
    for name in sorted(dir(client)):
        method = getattr(client, name)
        if name.startswith("_") or not inspect.ismethod(method):
            continue
        row = expectations.find(rows, name)
        if row is None:
            yield name, "ollama.txt does not know the method"
        elif row.kind == "served":
            yield name, outcome(getattr(served, name))
        elif row.kind == "refused":
            yield name, refusal(name, method, row.words, file)
    yield "AsyncClient", outcome(lambda: asynchronous(address, model))
