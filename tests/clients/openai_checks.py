"""Checks of the PyPI client `openai`: one function for each method that is served."""

import asyncio
import inspect
import json
import typing

import expectations
import openai
from clients import outcome

MESSAGES = [{"role": "user", "content": "Say hello."}]
TOOL = {"type": "function",
        "function": {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {}}}}


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def answer_form():
    """A form that even a small model fills in few tokens."""
    import pydantic  # comes with the client

    class Answer(pydantic.BaseModel):
        word: typing.Literal["yes", "no"]

    return Answer


class Served:
    """The methods that must work, by the name in openai.txt with dots as underscores."""

    def __init__(self, client, model):
        self.client, self.model = client, model

    def models_list(self):
        names = [model.id for model in self.client.models.list()]
        require(self.model in names, f"{self.model} is not among {names}")

    def models_retrieve(self):
        require(self.client.models.retrieve(self.model).id == self.model, "another model")

    def _chat(self, **more):
        return self.client.chat.completions.create(model=self.model, messages=MESSAGES, seed=1,
                                                   **{"max_tokens": 8, **more})

    def chat_completions_create(self):
        answer = self._chat(temperature=0)
        require(answer.choices[0].message.content, "no content")
        require(answer.choices[0].finish_reason in ("stop", "length"), answer.choices[0].finish_reason)
        require(answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens,
                f"usage is {answer.usage}")
        again = self._chat(temperature=0)
        require(again.choices[0].message.content == answer.choices[0].message.content,
                "greedy answers differ")
        self._streams(answer.choices[0].message.content)
        self._choices()
        self._logprobs()
        self._stops(answer.choices[0].message.content)
        self._others()

    def _streams(self, content):
        chunks = list(self._chat(temperature=0, stream=True, stream_options={"include_usage": True}))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        require(text == content, f"streamed {text!r}, whole {content!r}")
        require(chunks[-1].usage.completion_tokens > 0, "no usage")

    def _choices(self):
        answer = self._chat(n=2, temperature=1.0)
        require([choice.index for choice in answer.choices] == [0, 1], "not two choices")

    def _logprobs(self):
        answer = self._chat(logprobs=True, top_logprobs=3)
        rows = answer.choices[0].logprobs.content
        require(len(rows) == answer.usage.completion_tokens or rows, "no rows")
        require(all(len(row.top_logprobs) == 3 and row.logprob <= 0 for row in rows), f"rows are {rows}")

    def _stops(self, content):
        answer = self._chat(temperature=0, stop=[content[1:3]])
        require(content[1:3] not in answer.choices[0].message.content, "the stop is in the answer")
        require(answer.choices[0].finish_reason == "stop", "not stopped")

    def _others(self):
        self._chat(presence_penalty=0.5, frequency_penalty=0.5, top_p=0.9, logit_bias={"5": -100},
                   user="me", metadata={"a": "b"}, extra_body={"top_k": 5, "min_p": 0.1})
        parts = [{"role": "user", "content": [{"type": "text", "text": "Say hello."}]}]
        self.client.chat.completions.create(model=self.model, messages=parts, max_tokens=2)
        try:
            self._chat(temperature=-1)
        except openai.BadRequestError as error:
            require(error.param == "temperature", f"param is {error.param}")
            return
        raise AssertionError("a temperature of -1 was taken")

    def chat_completions_stream(self):
        # The client throws where an answer was cut, so this one may end by itself.
        with self.client.chat.completions.stream(model=self.model, messages=MESSAGES, temperature=0,
                                                 max_tokens=300) as stream:
            require(any(event.type == "content.delta" for event in stream), "no delta")
            require(stream.get_final_completion().choices[0].message.content, "no content")

    def completions_create(self):
        make = self.client.completions.create
        answer = make(model=self.model, prompt="Once upon a", max_tokens=4, temperature=0, echo=True)
        require(answer.choices[0].text.startswith("Once upon a"), f"no echo: {answer.choices[0].text!r}")
        chunks = list(make(model=self.model, prompt="Once upon a", max_tokens=4, temperature=0, stream=True))
        text = "".join(chunk.choices[0].text for chunk in chunks)
        require("Once upon a" + text == answer.choices[0].text, f"streamed {text!r}")
        several = make(model=self.model, prompt=["a", "b"], max_tokens=1, n=2, logprobs=2)
        require(len(several.choices) == 4, "not four choices")
        require(several.choices[0].logprobs.tokens, "no logprobs")

    def embeddings_create(self):
        make = self.client.embeddings.create
        answer = make(model=self.model, input=["one", "two"])  # asks for Base64
        plain = make(model=self.model, input="one", encoding_format="float")
        width = len(answer.data[0].embedding)
        require(len(answer.data) == 2 and width > 1, "no vectors")
        near = sum(a * b for a, b in zip(answer.data[0].embedding, plain.data[0].embedding))
        require(abs(near - 1) < 1e-3, f"the vectors of one text have the product {near}")
        require(len(make(model=self.model, input="one", dimensions=2).data[0].embedding) == 2, "dimensions")

    def responses_create(self):
        make = self.client.responses.create
        answer = make(model=self.model, input="Say hello.", max_output_tokens=8, temperature=0)
        require(answer.output_text and answer.usage.output_tokens > 0, f"{answer}")
        events = list(make(model=self.model, input=MESSAGES, max_output_tokens=8, temperature=0,
                           instructions="Be short.", stream=True))
        require(events[0].type == "response.created", events[0].type)
        require(events[-1].type in ("response.completed", "response.incomplete"), events[-1].type)
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        require(text == events[-1].response.output_text, f"streamed {text!r}")
        try:
            make(model=self.model, input="x", previous_response_id="resp_1")
        except openai.BadRequestError as error:
            require(error.param == "previous_response_id", f"param is {error.param}")
            return
        raise AssertionError("previous_response_id was taken")

    def responses_stream(self):
        with self.client.responses.stream(model=self.model, input="Say hello.", temperature=0,
                                          max_output_tokens=300) as stream:
            for _ in stream:
                pass
            require(stream.get_final_response().output_text, "no text")

    def chat_completions_parse(self, parse=None):
        form = answer_form()
        answer = (parse or self.client.chat.completions.parse)(
            model=self.model, messages=MESSAGES, max_tokens=60, response_format=form)
        require(answer.choices[0].message.parsed.word in ("yes", "no"), f"{answer}")
        if parse is None:
            self._forms(form)

    def _forms(self, form):
        schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": form.model_json_schema()}}
        chunks = list(self._chat(stream=True, response_format=schema, max_tokens=60))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        require(json.loads(text)["word"] in ("yes", "no"), f"streamed {text!r}")
        schema["json_schema"]["schema"] = {"type": "string", "pattern": "(?=x)"}
        try:
            self._chat(response_format=schema)
        except openai.BadRequestError as error:
            require(error.param.startswith("response_format"), f"param is {error.param}")
            return
        raise AssertionError("a pattern that looks ahead was taken")

    def responses_parse(self):
        answer = self.client.responses.parse(model=self.model, input="Say yes.", max_output_tokens=60,
                                             text_format=answer_form())
        require(answer.output_parsed.word in ("yes", "no"), f"{answer}")

    def beta_chat_completions_parse(self):
        self.chat_completions_parse(self.client.beta.chat.completions.parse)

    def beta_chat_completions_create(self):
        self.client.beta.chat.completions.create(model=self.model, messages=MESSAGES, max_tokens=2)

    def beta_chat_completions_stream(self):
        with self.client.beta.chat.completions.stream(model=self.model, messages=MESSAGES, temperature=0,
                                                      max_tokens=300) as stream:
            stream.get_final_completion()

    def responses_input_tokens_count(self):
        answer = self.client.responses.create(model=self.model, input="Say hello.", max_output_tokens=1)
        counted = self.client.responses.input_tokens.count(model=self.model, input="Say hello.")
        require(counted.input_tokens == answer.usage.input_tokens, f"{counted}, a response has {answer.usage}")

    def beta_responses_input_tokens_count(self):
        require(self.client.beta.responses.input_tokens.count(model=self.model, input="hi").input_tokens > 0, "none")

    def beta_responses_create(self):
        self.client.beta.responses.create(model=self.model, input="hi", max_output_tokens=2)


def methods(resource, prefix=""):
    """(name, bound method) of all resources below a client."""
    for name in sorted(dir(resource)):
        if name.startswith("_") or name in ("with_raw_response", "with_streaming_response"):
            continue
        try:
            value = getattr(resource, name)
        except Exception:  # a property that needs another kind of client
            continue
        if isinstance(value, openai._resource.SyncAPIResource):
            yield from methods(value, prefix + name + ".")
        elif prefix and inspect.ismethod(value):
            yield prefix + name, value


def special_arguments(name, file):
    """Where a made-up text would not leave the client."""
    return {"uploads.upload_file_chunked": {"file": file.name, "mime_type": "a/b", "purpose": "batch"},
            "vector_stores.file_batches.upload_and_poll": {"vector_store_id": "x", "files": [("a", b"x")]},
            "admin.organization.external_keys.create": dict.fromkeys(
                ("external_id", "kms_arn", "name", "role_arn", "type"), "x"),
            "audio.voices.create": {"audio_sample": ("a", b"x"), "consent": "x", "name": "x"},
            "beta.agents.automations.create": dict.fromkeys(
                ("expression", "name", "target", "timezone", "type"), "x"),
            "beta.agents.environments.files.create": {"file_id": "x", "path": "/workspace/a", "type": "x"},
            "beta.agents.environments.files.upload": {"path": "/workspace/a"},
            }.get(name, {})


def refusal(name, method, words, file):
    """Whether a method ends with an error of the server that has these words."""
    arguments = {**expectations.made_up_arguments(method), **special_arguments(name, file)}

    def call():
        result = method(**arguments)
        if hasattr(result, "__enter__"):
            with result as entered:
                for _ in entered if hasattr(entered, "__iter__") else ():
                    pass
        elif inspect.isgenerator(result):
            next(result)
        return result

    try:
        call()
    except openai.APIStatusError as error:
        text = json.dumps(error.body) if error.body else error.response.text
        return None if words in text else f"refused with {error.status_code} {text[:200]}"
    except Exception as error:
        return f"{type(error).__name__} before the server was asked: {error}"[:300]
    return "was not refused"


def asynchronous(address, key, model):
    """The other client of the package speaks the same."""

    async def run():
        async with openai.AsyncOpenAI(base_url=address + "/v1", api_key=key, max_retries=0) as client:
            stream = await client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=4,
                                                          stream=True)
            chunks = [chunk async for chunk in stream]
            require(chunks[-1].choices[0].finish_reason, "no end")

    asyncio.run(run())


def run(address, model, key):
    """Yields (method, problem or None)."""
    rows = expectations.read("openai.txt")
    client = openai.OpenAI(base_url=address + "/v1", api_key=key, admin_api_key=key, max_retries=0, timeout=120)
    served, file = Served(client, model), expectations.scratch_file()
    for name, method in methods(client):
        row = expectations.find(rows, name)
        if row is None:
            yield name, "openai.txt does not know the method"
        elif row.kind == "served":
            yield name, outcome(getattr(served, name.replace(".", "_")))
        elif row.kind == "refused":
            yield name, refusal(name, method, row.words, file)
    yield "AsyncOpenAI", outcome(lambda: asynchronous(address, key, model))
