"""The least time of a step: bytes over the rate of a copy, operations over the rate of a product."""
import shapes


def measured_rates():
    """Of this device: bytes per second of a copy (read and written), operations per second of a bf16 product."""
    import torch
    from peers import median_us
    source = torch.randn(1 << 29, device="cuda")
    target = torch.empty_like(source)
    copy = median_us(lambda: target.copy_(source), 0.3)
    a, b = (torch.randn(8192, 8192, device="cuda").bfloat16() for _ in range(2))
    product = median_us(lambda: torch.mm(a, b.t()), 0.3)
    return {"device": torch.cuda.get_device_name(0), "bytes_per_second": 2 * source.numel() * 4 / copy * 1e6,
            "operations_per_second": 2 * 8192**3 / product * 1e6}


def kv_bytes_per_token(shape):
    """Bytes of keys and values in f16, of all layers."""
    return shape.layers * shape.head * shape.kv_heads * 2 * 2


def work_of(row):
    """(tokens of a step, bytes that it must read, operations)."""
    shape, kind = shapes.shape_of(row.shape), shapes.TYPES[row.kind]
    tensors = [(e, k) for name, e, k in shapes.tensors_of(shape, kind)
               if len(e) > 1 and (shape.tied or name != "token_embd.weight")]
    output = shape.width * shape.vocabulary
    weights = sum(e[0] * e[1] for e, _ in tensors) - output  # of the layers
    read = sum(shapes.bytes_of(e, k) for e, k in tensors)
    per_key = 4 * shape.layers * shape.head * shape.heads
    if row.work.startswith("prefill"):
        keys = row.prompt * (row.prompt + 1) // 2  # that rows see
        return row.prompt, read, 2 * (weights * row.prompt + output) + keys * per_key
    keys = row.sequences * (row.prompt + row.generated // 2)
    return (row.sequences, read + keys * kv_bytes_per_token(shape),
            2 * (weights + output) * row.sequences + keys * per_key)


def figures_of(row, tokens_per_second, rates):
    """What is said of a row: its speed, how many times its floor a step takes, and what share of the copy's
    bandwidth it reads at."""
    tokens, read, operations = work_of(row)
    seconds = tokens / tokens_per_second
    floor = max(read / rates["bytes_per_second"], operations / rates["operations_per_second"])
    return {"tokens_per_second": round(tokens_per_second, 2), "times_of_floor": round(seconds / floor, 2),
            "share_of_copy": round(read / seconds / rates["bytes_per_second"], 3)}
