"""Small GGUF files: reading headers, and writing files whose weights a hash draws.

A weight of tensor NAME with number i is center + 2^spread * u, u in [-1, 1) in steps of 2^-23 from
splitmix64(fnv1a64(NAME) + i), rounded to f32 once. tests/archs and tests/cli draw the same.
"""
import array
import struct

SCALARS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f",
           "bool": "?", "u64": "Q", "i64": "q", "f64": "d"}
TYPE_NUMBERS = {"u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7,
                "str": 8, "arr": 9, "u64": 10, "i64": 11, "f64": 12}
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}
MAGIC, VERSION, ALIGNMENT = 0x46554747, 3, 32
MASK = (1 << 64) - 1


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def scalar(self, code):
        value = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        length = self.scalar("Q")
        self.at += length
        return self.data[self.at - length:self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == "str":
            return self.text()
        if kind == "arr":
            element, count = TYPE_NAMES[self.scalar("I")], self.scalar("Q")
            return element, [self.value(element) for _ in range(count)]
        return self.scalar(SCALARS[kind])


def read_header(path):
    """The metadata, [(key, type, value)], and the tensors, [(name, extents, fastest first)]."""
    with open(path, "rb") as file:
        reader = _Reader(file.read())
    magic, version = reader.scalar("I"), reader.scalar("I")
    if magic != MAGIC or version != VERSION:
        raise ValueError(f"{path} is no GGUF file of version {VERSION}")
    tensor_count, key_count = reader.scalar("Q"), reader.scalar("Q")
    metadata = []
    for _ in range(key_count):
        key, kind = reader.text(), TYPE_NAMES[reader.scalar("I")]
        metadata.append((key, kind, reader.value(kind)))
    tensors = []
    for _ in range(tensor_count):
        name, rank = reader.text(), reader.scalar("I")
        extents = [reader.scalar("Q") for _ in range(rank)]
        reader.scalar("I")
        reader.scalar("Q")
        tensors.append((name, extents))
    return metadata, tensors


def splitmix64(state):
    state = (state + 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def fnv1a64(text):
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & MASK
    return state


def weights_of(name, count, center, spread):
    """`count` weights as f32 bytes."""
    seed, scale = fnv1a64(name), 2.0 ** spread
    values = array.array("f")
    for i in range(count):
        u = (splitmix64((seed + i) & MASK) >> 40) * 2.0 ** -23 - 1.0
        values.append(center + scale * u)
    return values.tobytes()


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    if kind == "str":
        return _text(value)
    if kind == "arr":
        element, values = value
        head = struct.pack("<IQ", TYPE_NUMBERS[element], len(values))
        return head + b"".join(_value(element, each) for each in values)
    return struct.pack("<" + SCALARS[kind], value)


def write_file(path, metadata, tensors, weights=weights_of):
    """`tensors` is [(name, extents, center, spread)]; all are F32."""
    drawn = []
    for name, extents, center, spread in tensors:
        count = 1
        for extent in extents:
            count *= extent
        drawn.append((name, extents, 0, weights(name, count, center, spread)))
    write_typed(path, metadata, drawn)


def write_typed(path, metadata, tensors):
    """`tensors` is [(name, extents, ggml's type, bytes)]."""
    parts = [struct.pack("<IIQQ", MAGIC, VERSION, len(tensors), len(metadata))]
    for key, kind, value in metadata:
        parts.append(_text(key) + struct.pack("<I", TYPE_NUMBERS[kind]) + _value(kind, value))
    offset, data = 0, []
    for name, extents, type_, weights in tensors:
        parts.append(_text(name) + struct.pack("<I", len(extents)))
        parts.append(struct.pack(f"<{len(extents)}Q", *extents))
        parts.append(struct.pack("<IQ", type_, offset))
        data.append(weights + bytes(-len(weights) % ALIGNMENT))
        offset += len(data[-1])
    head = b"".join(parts)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + b"".join(data))
