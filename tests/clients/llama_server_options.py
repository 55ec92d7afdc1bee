"""Takes llama-server's options and becomes `sinter serve`. What there is not here is refused by its name.

usage: llama_server_options.py SCRATCH [OPTION]...     SCRATCH/wiring.json: {"program", "models"}
"""

import json
import os
import pathlib
import sys

# Which of the given files stands for a model of the tests, by words of its name.
KINDS = (("bert-bge", "embedding"), ("reranker", "rank"), ("stories260K", "text"), ("tinyllama", "text"))

# Options that change no answer: how the peer spreads its work, and what is always so here.
IGNORED = {"--threads": 1, "--n-gpu-layers": 1, "--batch-size": 1, "--ubatch-size": 1, "-fa": 1, "--cache-ram": 1,
           "--cont-batching": 0, "--offline": 0, "--metrics": 0, "--slots": 0, "--no-slots": 0, "--jinja": 0,
           "--no-jinja": 0, "--verbose": 0, "--swa-full": 0, "--embedding": 0, "--reranking": 0,
           "--no-cache-idle-slots": 0}
SAME = {"--port": "--port", "--host": "--host", "--api-key": "--api-key", "--cors-origins": "--cors-origin",
        "--sleep-idle-seconds": "--unload-after", "--chat-template": "--chat-template", "--pooling": "--pooling",
        "--chat-template-file": "--chat-template"}
DEFAULTS = {"--temp": ("temperature", float), "--seed": ("seed", int), "--n-predict": ("max_tokens", int)}
NOTED = {"--ctx-size", "--parallel", "--alias", "--hf-repo", "--hf-file"}


def read(words):
    """Options of `sinter serve`, and what is still to be worked out from others."""
    options, noted, defaults, words = [], {}, {}, list(words)
    while words:
        word = words.pop(0)
        if word in IGNORED:
            del words[:IGNORED[word]]
        elif word in NOTED:
            noted[word] = words.pop(0)
        elif word == "--kv-unified":
            noted[word] = True
        elif word in SAME:
            options += [SAME[word], words.pop(0)]
        elif word in DEFAULTS:
            name, kind = DEFAULTS[word]
            value = kind(words.pop(0))
            if value != -1:
                defaults[name] = value
        else:
            sys.exit(f"sinter serve has no {word}")
    if defaults:
        options += ["--defaults", json.dumps(defaults)]
    return options, noted


def models_of(noted, models, scratch):
    """The file for the model, under the name that requests will use; none where a router was asked for."""
    if "--hf-repo" not in noted and "--hf-file" not in noted:
        return []
    asked = f"{noted.get('--hf-repo')}/{noted.get('--hf-file')}"
    kind = next((kind for word, kind in KINDS if word in asked), None)
    if kind not in models or "infill" in asked or "split" in asked:
        sys.exit(f"no file stands for the model {asked}")
    name = noted.get("--alias", pathlib.Path(models[kind]).stem)
    link = scratch / f"{name}.gguf"
    if not link.exists():
        link.symlink_to(models[kind])
    return [str(link), "--fixed-models"]


def main():
    scratch = pathlib.Path(sys.argv[1])
    wiring = json.loads((scratch / "wiring.json").read_text(encoding="utf-8"))
    options, noted = read(sys.argv[2:])
    slots = int(noted.get("--parallel", 4))
    if "--ctx-size" in noted:  # there of all slots together
        options += ["--context", str(int(noted["--ctx-size"]) // (1 if "--kv-unified" in noted else slots))]
    options += ["--parallel", "1" if "--kv-unified" in noted else str(slots)]
    command = [wiring["program"], "serve", *models_of(noted, wiring["models"], scratch), *options, "--access-log", "off"]
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
