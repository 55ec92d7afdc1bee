"""What models.py measures of a model: one function for each kind of row. Each gives (figures, None), or (None, why
there are none); `rates` are those of floors.measured_rates."""
import functools
import json
import tempfile

import floors
import shapes
from processes import run_limited


def bench_command(options, model, plan, row):
    """One run of `sinter bench`, which measures prefill, decode and the first token at once."""
    repeat = 3 if row.sequences == 1 else 1
    return [options.sinter, "bench", model, "--plan", plan, "--device", options.device, "--no-weight-cache", "--json",
            "--prompt", row.prompt, "--gen", row.generated, "--parallel", row.sequences, "--repeat", repeat,
            "--context", row.prompt + row.generated + 64]


@functools.lru_cache(maxsize=1)
def output_of(command, seconds):
    """Rows of one prompt and one sequence share a run."""
    return run_limited(command, seconds)


def speeds(options, model, plan, row, rates):
    """Tokens per second of prefill or of decode."""
    out, why = output_of(tuple(bench_command(options, model, plan, row)), options.seconds)
    if why:
        return None, why
    found = json.loads(out)
    speed = found["prefill_tokens_per_second" if row.work.startswith("prefill") else "decode_tokens_per_second"]
    return floors.figures_of(row, speed, rates), None


def load(options, model, plan, row, _):
    """Seconds from the start to the first token, where the file is in the page cache and the driver's cache holds the
    code; beside it those of reading the file and copying it to the device plainly."""
    plain = plain_load(model)
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            out, why = run_limited(bench_command(options, model, plan, row), options.seconds, CUDA_CACHE_PATH=cache)
            if why:
                return None, why
    seconds = json.loads(out)["first_token_seconds"]
    return {"seconds": round(seconds, 3), "plain_seconds": round(plain, 3), "times_of_plain": round(seconds / plain, 2)}, None


def start(options, model, plan, row, _):
    """Seconds to the first token of a first start: the driver assembles the plan's code."""
    with tempfile.TemporaryDirectory() as cache:
        out, why = run_limited(bench_command(options, model, plan, row), options.seconds, CUDA_CACHE_PATH=cache)
    return (None, why) if why else ({"seconds": round(json.loads(out)["first_token_seconds"], 3)}, None)


def plain_load(path):
    """Seconds of reading a file into fresh memory and copying that to the device; the second of two runs."""
    import time

    import numpy
    import torch
    for _ in range(2):
        begin = time.perf_counter()
        torch.from_numpy(numpy.fromfile(path, numpy.uint8)).cuda()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    return seconds


def attention(options, model, plan, row, rates):
    """All launches of attention in a step of decode after row.depth tokens, each timed alone, beside the time in which
    a copy moves the KV cache's bytes."""
    out, why = run_limited([options.sinter, "explain", model, "--plan", plan, "--device", options.device,
                            "--no-weight-cache", "--json", "--prompt", 16, "--depth", row.depth, "--parallel",
                            row.sequences], options.seconds)
    if why:
        return None, why
    step = json.loads(out)["steps"][-1]
    seconds = sum(kernel["seconds"] for kernel in step["kernels"] if kernel["kernel"].startswith("attention"))
    shape = shapes.shape_of(row.shape)
    bytes_read = row.sequences * (step["depth"] + 1) * floors.kv_bytes_per_token(shape)
    return {"microseconds": round(seconds * 1e6, 1),
            "share_of_copy": round(bytes_read / seconds / rates["bytes_per_second"], 3)}, None


def peer(options, model, row, rates):
    """llama.cpp's tokens per second."""
    if row.sequences == 1:
        shape = ["-p", row.prompt, "-n", 0] if row.work.startswith("prefill") else \
            ["-p", 0, "-n", row.generated, "-d", row.prompt]
        command = [options.llama / "llama-bench", "-m", model, "-ngl", 99, "-fa", "on", "-o", "json", "-r", 3, *shape]
    else:
        command = [options.llama / "llama-batched-bench", "-m", model, "-ngl", 99, "-fa", "on", "-npp", row.prompt,
                   "-ntg", row.generated, "-npl", row.sequences, "--output-format", "jsonl",
                   "-c", row.sequences * (row.prompt + row.generated + 32)]
    out, why = run_limited(command, options.seconds)
    if why:
        return None, why
    if row.sequences == 1:
        speed = json.loads(out)[0]["avg_ts"]
    else:
        speed = json.loads([line for line in out.splitlines() if line.startswith("{")][0])["speed_tg"]
    return floors.figures_of(row, speed, rates), None
