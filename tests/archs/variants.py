"""Which goldens there are: each architecture of test-llama-archs, and what its file leaves out."""
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


VARIANTS = (
    Variant("llama-scales", "llama"),
    plain("llama"),
    Variant("llama-yarn", "llama", YARN, NO_SCALES + ("rope_freqs", ".bias")),
    Variant("llama-linear", "llama", {SCALING + "factor": f32(2.5)}, NO_SCALES + ("rope_freqs",)),
    Variant("llama-longrope", "llama", {SCALING + "type": text("longrope"),
            SCALING + "original_context_length": u32(64), SCALING + "attn_factor": f32(1.19)},
            NO_SCALES + ("rope_freqs", ".bias"), more=FACTORS),
    plain("qwen2"), plain("qwen3"), plain("qwen2vl", keys={ATTENTION +
          "layer_norm_rms_epsilon": f32(1e-6)}), plain("qwen3vl"),
    plain("mistral3"),
    Variant("mistral3-temperature", "mistral3", {**YARN, SCALING + "yarn_log_multiplier": f32(0.5),
            SCALING + "original_context_length": u32(16), ATTENTION + "temperature_scale": f32(0.1)},
            NO_SCALES + ("rope_freqs",)),
    plain("gemma"), plain("gemma2"),
    plain("gemma3", keys={ROPE + "freq_base": f32(1e6), SCALING + "factor": f32(8.0),
                          "ARCH.final_logit_softcapping": f32(5.0)}),
    Variant("gemma3-full", "gemma3", {ATTENTION + "sliding_window": u32(0)}, NO_SCALES),
    plain("phi2"), Variant("phi2-part", "phi2", HALF, NO_SCALES),
    plain("phi3"), Variant("phi3-long", "phi3", {SCALING + "original_context_length": u32(64),
                           SCALING + "attn_factor": f32(1.19)}, NO_SCALES),
    plain("glm4"), Variant("glm4-part", "glm4", {**HALF, ROPE + "dimension_sections": None},
                           NO_SCALES),
    plain("chatglm"), Variant("chatglm-part", "chatglm", HALF, NO_SCALES),
    plain("granite", keys={"ARCH.logit_scale": f32(2.0), "ARCH.residual_scale": f32(0.25),
                           "ARCH.embedding_scale": f32(3.0), ATTENTION + "scale": f32(0.05)}),
    Variant("granite-nope", "granite", {SCALING + "finetuned": flag(False)}, NO_SCALES),
    plain("granite_swa", keys={"ARCH.residual_scale": f32(0.5)}),
    plain("minicpm"),
    plain("command-r", keys={"ARCH.logit_scale": f32(0.25)}),
    plain("cohere2", keys={"ARCH.logit_scale": f32(0.25)}),
    plain("falcon"), Variant("falcon-one-norm", "falcon", {}, NO_SCALES + ("attn_norm_2",)),
    plain("gpt2"), plain("gptneox"),
    Variant("gptneox-parallel", "gptneox", {"ARCH.use_parallel_residual": flag(True), **HALF},
            NO_SCALES),
    plain("starcoder"), plain("starcoder2"), plain("codeshell"),
    plain("mpt"), Variant("mpt-bare", "mpt", {ATTENTION + "clamp_kqv": f32(0.5)}, NO_SCALES +
                          (".bias", "q_norm", "k_norm", "position_embd", "act.scales")),
    plain("bloom"), plain("refact"), plain("jais"), plain("jais2"),
    plain("nemotron"), Variant("nemotron-part", "nemotron", HALF, NO_SCALES),
    plain("stablelm"),
    Variant("stablelm-12b", "stablelm", HALF, NO_SCALES + ("ffn_norm",)),
    plain("orion"), plain("olmo"), plain("olmo2"),
    Variant("olmo2-full", "olmo2", {ATTENTION + "sliding_window": u32(0)}, NO_SCALES),
    plain("openelm"), plain("baichuan"), plain("deci"), plain("qwen"), plain("plamo"),
    plain("internlm2"), plain("xverse"), plain("exaone"), plain("exaone4"), plain("arcee"),
    Variant("ernie4_5", "ernie4_5", {}, NO_SCALES, moe=True),
    Variant("paddleocr", "paddleocr", {}, NO_SCALES, moe=True),
    plain("hunyuan-dense", keys={SCALING + "alpha": f32(1000.0)}), plain("hunyuan_vl"),
    plain("maincoder"), plain("smollm3"), plain("seed_oss"), plain("pangu-embedded"),
    plain("talkie", keys={"ARCH.logit_scale": f32(0.5)}),
    plain("nanbeige"), Variant("nanbeige-loops", "nanbeige", {"ARCH.num_loops": u32(2)}, NO_SCALES),
    plain("cogvlm"), plain("plamo3"), plain("spark2_5"), plain("muse-glimmer"),
)
