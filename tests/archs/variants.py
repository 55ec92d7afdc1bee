"""Which goldens there are: each architecture of test-llama-archs, and what its file leaves out."""
from crafted import (ATTENTION, FACTORS, HALF, HIDDEN, NO_SCALES, ROPE, SCALING, VOCABULARY, WIDTH, YARN,
                     Variant, array, crafted, f32, flag, head_norms, matrices, plain, text, u32)
from mixture_variants import MIXTURES


def chameleon(_):
    return {**matrices(4, 2, 32), "attn_q_norm.weight": [32, 4], "attn_k_norm.weight": [32, 2],
            "attn_q_norm.bias": [32, 4], "attn_k_norm.bias": [32, 2]}


def apertus(_):
    return {**matrices(4, 2, 32, gated=False), **head_norms(32)}


def bitnet(_):
    scales = {name.replace("weight", "scale"): [1] for name in matrices(4, 2, 32)
              if "norm" not in name}
    return {**matrices(4, 2, 32), **scales, "attn_sub_norm.weight": [WIDTH],
            "ffn_sub_norm.weight": [HIDDEN]}


GEMMA4_LAYERS, GEMMA4_OWN = 6, 4  # layers, and those with keys and values of their own
PER_LAYER = 32


def gemma4(layer):
    """Full attention in every other layer, of larger heads and of values that are the keys."""
    full = layer % 2 == 1
    size = 64 if full else 32
    result = {**matrices(4, 1 if full else 2, size), **head_norms(size)}
    if full or layer >= GEMMA4_OWN:
        del result["attn_v.weight"]
    if layer >= GEMMA4_OWN:
        del result["attn_k.weight"], result["attn_k_norm.weight"]
    return {**result, "post_attention_norm.weight": [WIDTH], "post_ffw_norm.weight": [WIDTH],
            "layer_output_scale.weight": [1], "inp_gate.weight": [WIDTH, PER_LAYER],
            "proj.weight": [PER_LAYER, WIDTH], "post_norm.weight": [WIDTH]}


GEMMA4_KEYS = {
    ATTENTION + "head_count": u32(4),
    ATTENTION + "head_count_kv": array("u32", *(2 - layer % 2 for layer in range(GEMMA4_LAYERS))),
    ATTENTION + "key_length": u32(64), ATTENTION + "value_length": u32(64),
    ATTENTION + "key_length_swa": u32(32), ATTENTION + "value_length_swa": u32(32),
    ATTENTION + "sliding_window": u32(24), ROPE + "dimension_count": u32(64),
    ROPE + "dimension_count_swa": u32(32), ROPE + "freq_base": f32(1e6),
    ROPE + "freq_base_swa": f32(1e4),
    ATTENTION + "sliding_window_pattern": array("bool", *(layer % 2 == 0 for layer in
                                                          range(GEMMA4_LAYERS))),
    ATTENTION + "shared_kv_layers": u32(GEMMA4_LAYERS - GEMMA4_OWN),
    "ARCH.embedding_length_per_layer_input": u32(PER_LAYER),
    "ARCH.final_logit_softcapping": f32(5.0),
}
GEMMA4_MORE = (("per_layer_token_embd.weight", [PER_LAYER * GEMMA4_LAYERS, VOCABULARY]),
               ("per_layer_model_proj.weight", [WIDTH, PER_LAYER * GEMMA4_LAYERS]),
               ("per_layer_proj_norm.weight", [PER_LAYER]), ("rope_freqs.weight", [32]))

GEMMA3N_LAYERS = 22  # the last two read the keys of others
GEMMA3N_PER_LAYER, LAUREL = 256, 64  # as llama.cpp takes them for granted


def gemma3n(_):
    return {
        **matrices(4, 2, 32), **head_norms(32), "post_attention_norm.weight": [WIDTH],
        "post_ffw_norm.weight": [WIDTH], "inp_gate.weight": [WIDTH, GEMMA3N_PER_LAYER],
        "proj.weight": [GEMMA3N_PER_LAYER, WIDTH], "post_norm.weight": [WIDTH],
        "altup_correct_coef.weight": [4, 4], "altup_correct_scale.weight": [WIDTH],
        "altup_predict_coef.weight": [4, 16], "altup_router.weight": [WIDTH, 4],
        "altup_router_norm.weight": [WIDTH], "laurel_l.weight": [WIDTH, LAUREL],
        "laurel_r.weight": [LAUREL, WIDTH], "laurel_post_norm.weight": [WIDTH],
    }


GEMMA3N_MORE = (("altup_proj.weight", [WIDTH, WIDTH, 3]),
                ("altup_unembd_proj.weight", [WIDTH, WIDTH, 3]),
                ("per_layer_token_embd.weight", [GEMMA3N_PER_LAYER * GEMMA3N_LAYERS, VOCABULARY]),
                ("per_layer_model_proj.weight", [WIDTH, GEMMA3N_PER_LAYER * GEMMA3N_LAYERS]),
                ("per_layer_proj_norm.weight", [GEMMA3N_PER_LAYER]))

HRM_LAYER = {**{f"attn_{name}": [256, 256] for name in ("q", "k", "v", "output", "gate")},
             "ffn_gate": [256, 384], "ffn_up": [256, 384], "ffn_down": [384, 256]}

VARIANTS = (
    crafted("gemma3n", "gemma3n", GEMMA3N_LAYERS, {ATTENTION + "head_count": u32(4),
            ATTENTION + "head_count_kv": u32(2), ATTENTION + "sliding_window": u32(24),
            ROPE + "freq_base": f32(1e6)}, gemma3n, GEMMA3N_MORE, output=False,
            draws={"attn_q_norm.weight": (0.125, -4), "attn_k_norm.weight": (1.0, -2),
                   "router.weight": (0.0, 3)}),
    crafted("gemma4", "gemma4", GEMMA4_LAYERS, GEMMA4_KEYS, gemma4, GEMMA4_MORE, output=False,
            # Scores that 16-bit keys do not make others: queries are not scaled here.
            draws={"attn_q_norm.weight": (0.25, -3), "attn_k_norm.weight": (1.0, -2)}),
    crafted("apertus", "apertus", 2, {ATTENTION + "head_count": u32(4),
            ATTENTION + "head_count_kv": u32(2), "xielu.alpha_n": array("f32", 0.8, 0.5),
            "xielu.alpha_p": array("f32", 0.8, 1.5), "xielu.beta": array("f32", 0.5, 0.25),
            "xielu.eps": array("f32", -1e-6, -1e-6)}, apertus),
    crafted("bitnet", "bitnet", 2, {ATTENTION + "head_count": u32(4),
            ATTENTION + "head_count_kv": u32(2)}, bitnet, output=False),
    crafted("chameleon", "chameleon", 2, {ATTENTION + "head_count": u32(4),
            ATTENTION + "head_count_kv": u32(2)}, chameleon,
            vocabulary=8320),
    crafted("chameleon-swin", "chameleon", 2, {ATTENTION + "head_count": u32(4),
            ATTENTION + "head_count_kv": u32(2), "ARCH.swin_norm": flag(True)}, chameleon,
            vocabulary=8320),
    Variant("llama-scales", "llama"),
    plain("llama"),
    Variant("llama-yarn", "llama", YARN, NO_SCALES + ("rope_freqs", ".bias")),
    Variant("llama-linear", "llama", {SCALING + "factor": f32(2.5)}, NO_SCALES + ("rope_freqs",)),
    Variant("llama-longrope", "llama", {SCALING + "type": text("longrope"),
            SCALING + "original_context_length": u32(64), SCALING + "attn_factor": f32(1.19)},
            NO_SCALES + ("rope_freqs", ".bias"), more=FACTORS),
    plain("qwen2"), plain("qwen3"), plain("qwen2vl", keys={ATTENTION +
          "layer_norm_rms_epsilon": f32(1e-6)}), plain("qwen3vl"),
    plain("lfm2"), plain("qwen35"),
    Variant("qwen35moe", "qwen35moe", {}, NO_SCALES, moe=True),
    Variant("qwen3next", "qwen3next", {}, NO_SCALES + ("ssm_in",), moe=True),
    Variant("qwen3next-joint", "qwen3next", {"ARCH.ssm.group_count": u32(1)}, NO_SCALES +
            ("attn_qkv", "attn_gate"), {"blk.0.ssm_in.weight": [256, 768],
             "blk.0.ssm_conv1d.weight": [4, 512]}, moe=True),
    Variant("lfm2moe", "lfm2moe", {}, NO_SCALES, moe=True),
    Variant("qwen35-grouped", "qwen35", {"ARCH.ssm.group_count": u32(1)}, NO_SCALES,
            {"blk.0.attn_qkv.weight": [256, 512], "blk.0.ssm_conv1d.weight": [4, 512]}),
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
    plain("hrm_text", keys={"ARCH.embedding_scale": f32(3.0)}),
    Variant("hrm_text-deep", "hrm_text", {"ARCH.block_count": u32(4),
            "ARCH.hrm.layers_per_stack": u32(2), "ARCH.hrm.h_cycles": u32(1),
            "ARCH.hrm.l_cycles": u32(1)}, NO_SCALES + ("blk.1", ".bias"), more=tuple(
                (f"blk.{layer}.{name}.weight", extents) for layer in (1, 2, 3)
                for name, extents in HRM_LAYER.items())),
    plain("cogvlm"), plain("plamo3"), plain("spark2_5"), plain("muse-glimmer"),
) + MIXTURES
