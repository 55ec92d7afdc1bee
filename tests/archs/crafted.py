"""What variants of goldens are, and files that test-llama-archs does not write."""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Variant:
    name: str
    architecture: str
    # Keys instead of the file's, ARCH standing for the architecture: (type, value), None to drop it.
    keys: dict = field(default_factory=dict)
    without: tuple = ()  # parts of the names of tensors that the file loses
    extents: dict = field(default_factory=dict)  # of tensors, instead of the file's
    more: tuple = ()  # tensors besides: (name, extents)
    moe: bool = False  # the file that test-llama-archs calls so
    draws: dict = field(default_factory=dict)  # (center, spread) by ends of names, before others
    whole: bool = False  # `keys` and `more` are all that the file has


def u32(value):
    return "u32", value


def f32(value):
    return "f32", value


def flag(value):
    return "bool", value


def text(value):
    return "str", value


def array(kind, *values):
    return "arr", (kind, list(values))


NO_SCALES = (".scale", "input_scale")  # tensors of NVFP4 and of BitNet alone
ROPE = "ARCH.rope."
SCALING = ROPE + "scaling."
HALF = {ROPE + "dimension_count": u32(64)}  # half of a head rotates
YARN = {SCALING + "type": text("yarn"), SCALING + "factor": f32(4.0),
        SCALING + "original_context_length": u32(64)}
FACTORS = (("rope_factors_long.weight", [64]), ("rope_factors_short.weight", [64]))
ATTENTION = "ARCH.attention."


def plain(architecture, **other):
    return Variant(architecture, architecture, without=NO_SCALES, **other)


WIDTH, HIDDEN, VOCABULARY = 128, 192, 128  # of crafted files


def crafted(name, architecture, layers, keys, parts, more=(), output=True, draws=None,
            vocabulary=VOCABULARY):
    """A file that test-llama-archs does not write; `parts` gives each layer's tensors."""
    standard = {
        "general.architecture": text(architecture), "ARCH.vocab_size": u32(vocabulary),
        "ARCH.context_length": u32(256), "ARCH.embedding_length": u32(WIDTH),
        "ARCH.block_count": u32(layers), "ARCH.feed_forward_length": u32(HIDDEN),
        ATTENTION + "layer_norm_rms_epsilon": f32(1e-5), "tokenizer.ggml.model": text("no_vocab"),
    }
    tensors = [("token_embd.weight", [WIDTH, vocabulary]), ("output_norm.weight", [WIDTH])]
    if output:
        tensors.append(("output.weight", [WIDTH, vocabulary]))
    for layer in range(layers):
        tensors += [(f"blk.{layer}.{part}", extents) for part, extents in parts(layer).items()]
    return Variant(name, architecture, {**standard, **keys}, more=tuple(tensors) + tuple(more),
                   draws=draws or {}, whole=True)


def matrices(heads, kv_heads, size, gated=True):
    result = {
        "attn_norm.weight": [WIDTH], "attn_q.weight": [WIDTH, heads * size],
        "attn_k.weight": [WIDTH, kv_heads * size], "attn_v.weight": [WIDTH, kv_heads * size],
        "attn_output.weight": [heads * size, WIDTH], "ffn_norm.weight": [WIDTH],
        "ffn_up.weight": [WIDTH, HIDDEN], "ffn_down.weight": [HIDDEN, WIDTH],
    }
    if gated:
        result["ffn_gate.weight"] = [WIDTH, HIDDEN]
    return result


def head_norms(size):
    return {"attn_q_norm.weight": [size], "attn_k_norm.weight": [size]}
