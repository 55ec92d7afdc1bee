"""Goldens of families with experts: more experts than a token passes, which test-llama-archs lacks."""
from crafted import (ATTENTION, ROPE, SCALING, WIDTH, array, crafted, f32, flag, head_norms, matrices,
                     text, u32)

EXPERTS, USED, EXPERT_HIDDEN, SHARED_HIDDEN = 8, 2, 64, 96


def keys(hidden=True, used=USED, **more):
    """Of experts; `more` are other keys without the architecture, "__" standing for a dot."""
    result = {"ARCH.expert_count": u32(EXPERTS), "ARCH.expert_used_count": u32(used),
              ATTENTION + "head_count": u32(4), ATTENTION + "head_count_kv": u32(2),
              ATTENTION + "key_length": u32(32), ATTENTION + "value_length": u32(32),
              ROPE + "dimension_count": u32(32)}
    if hidden:
        result["ARCH.expert_feed_forward_length"] = u32(EXPERT_HIDDEN)
    return {**result, **{"ARCH." + key.replace("__", "."): value for key, value in more.items()}}


def experts(hidden=EXPERT_HIDDEN, bias=False, fused=False):
    result = {"ffn_gate_inp.weight": [WIDTH, EXPERTS],
              "ffn_down_exps.weight": [hidden, WIDTH, EXPERTS]}
    for name in ("gate_up",) if fused else ("gate", "up"):
        result[f"ffn_{name}_exps.weight"] = [WIDTH, hidden * (2 if fused else 1), EXPERTS]
    return {**result, **({"exp_probs_b.bias": [EXPERTS]} if bias else {})}


def shared(hidden=SHARED_HIDDEN):
    return {"ffn_gate_shexp.weight": [WIDTH, hidden], "ffn_up_shexp.weight": [WIDTH, hidden],
            "ffn_down_shexp.weight": [hidden, WIDTH]}


def scales(*parts):
    return {f"ffn_{part}_exps.scale": [EXPERTS] for part in parts}


def attention(heads=4, kv_heads=2, size=32, norms=False):
    result = {name: extents for name, extents in matrices(heads, kv_heads, size).items()
              if not name.startswith("ffn_") or "norm" in name}
    return {**result, **(head_norms(size) if norms else {})}


def dense(heads=4, kv_heads=2, size=32, norms=False):
    return {**matrices(heads, kv_heads, size), **(head_norms(size) if norms else {})}


def by_layer(first, others):
    """The first layer's tensors and those of all others."""
    return lambda layer: first if layer == 0 else others


def llama4(layer):
    """Experts in every other layer; the last layer does not rotate."""
    return {**attention(), **experts(), **shared(EXPERT_HIDDEN)} if layer % 2 else dense()


def phimoe(_):
    biases = {"attn_norm.bias": [WIDTH], "ffn_norm.bias": [WIDTH], "attn_q.bias": [WIDTH],
              "attn_k.bias": [64], "attn_v.bias": [64], "attn_output.bias": [WIDTH]}
    return {**attention(), **biases, **experts()}


def gemma4(layer):
    """A feed-forward without experts beside them, or alone in the first layer."""
    full = layer == 2
    result = {**dense(4, 1 if full else 2, 64 if full else 32, norms=True),
              "post_attention_norm.weight": [WIDTH], "post_ffw_norm.weight": [WIDTH]}
    if layer == 0:
        return result
    return {**result, **experts(fused=layer == 2), **scales("down"), "ffn_gate_inp.scale": [WIDTH],
            "pre_ffw_norm_2.weight": [WIDTH], "post_ffw_norm_1.weight": [WIDTH],
            "post_ffw_norm_2.weight": [WIDTH]}


GEMMA4 = {ATTENTION + "head_count_kv": array("u32", 2, 2, 1), ATTENTION + "key_length": u32(64),
          ATTENTION + "value_length": u32(64), ATTENTION + "key_length_swa": u32(32),
          ATTENTION + "value_length_swa": u32(32), ATTENTION + "sliding_window": u32(24),
          ATTENTION + "sliding_window_pattern": array("bool", True, True, False),
          ROPE + "dimension_count": u32(64), ROPE + "dimension_count_swa": u32(32),
          ROPE + "freq_base": f32(1e6), "ARCH.embedding_length_per_layer_input": u32(0),
          "ARCH.final_logit_softcapping": f32(5.0)}


def mimo2(layer):
    """Heads of keys and values differ, sinks and fewer heads with windows, dense first."""
    kv = 4 if layer == 1 else 2
    result = attention(4, kv, 64)
    result["attn_v.weight"], result["attn_output.weight"] = [WIDTH, kv * 32], [4 * 32, WIDTH]
    result["attn_q.bias"] = [4 * 64]  # which llama.cpp does not use
    if layer == 1:
        result["attn_sinks.weight"] = [4]
    parts = {name: extents for name, extents in dense().items() if name.startswith("ffn_")}
    return {**result, **(parts if layer == 0 else experts(bias=True))}


def step35(layer):
    """Other heads in layers without a window, a gate of each head in all but the last."""
    heads = 8 if layer % 2 else 4
    parts = {name: extents for name, extents in dense().items() if name.startswith("ffn_")}
    result = {**attention(heads, 2, 32, norms=True), "attn_gate.weight": [WIDTH, heads]}
    if layer == 3:
        del result["attn_gate.weight"]
    return {**result, **(parts if layer == 0 else {**experts(bias=True), **shared()})}


def hy_v3(layer):
    if layer == 0:
        return dense(norms=True)
    return {**attention(norms=True), **experts(), **shared(), "exp_probs_b": [EXPERTS],
            **scales("gate", "up", "down")}


def afmoe(layer):
    result = {**(dense(norms=True) if layer == 0 else attention(norms=True)),
              "post_attention_norm.weight": [WIDTH], "post_ffw_norm.weight": [WIDTH],
              "attn_gate.weight": [WIDTH, WIDTH], "attn_gate.scale": [1]}
    return result if layer == 0 else {**result, **experts(bias=True), **shared(EXPERT_HIDDEN)}


def laguna(layer):
    heads = 8 if layer % 4 else 4
    parts = dense(heads, norms=True) if layer == 0 else attention(heads, norms=True)
    result = {**parts, "attn_gate.weight": [WIDTH, heads]}
    return result if layer == 0 else {**result, **experts(bias=True), **shared()}


def grovemoe(_):
    chunks = {"ffn_gate_chexps.weight": [WIDTH, 32, EXPERTS // 2],
              "ffn_up_chexps.weight": [WIDTH, 32, EXPERTS // 2],
              "ffn_down_chexps.weight": [32, WIDTH, EXPERTS // 2]}
    return {**attention(norms=True), **experts(), **chunks}


def arctic(_):
    result = {**dense(), **experts(192), "ffn_norm_exps.weight": [WIDTH]}
    return {**result, **{f"ffn_{name}.weight": [WIDTH, WIDTH] for name in ("gate", "up", "down")}}


def grok(layer):
    result = {**(attention() if layer == 0 else dense()), **experts()}
    last = "layer_output_norm" if layer == 0 else "post_ffw_norm"
    return {**result, "attn_output_norm.weight": [WIDTH], last + ".weight": [WIDTH]}


def qwen3moe(_):
    return {**attention(norms=True), **experts(), **scales("gate", "up", "down")}


def qwen2moe(_):
    biases = {"attn_q.bias": [WIDTH], "attn_k.bias": [64], "attn_v.bias": [64]}
    return {**attention(), **biases, **experts(), **shared(), "ffn_gate_inp_shexp.weight": [WIDTH]}


def gpt_oss(_):
    result = {**attention(), **experts(), "post_attention_norm.weight": [WIDTH],
              "attn_sinks.weight": [4], "attn_q.bias": [WIDTH], "attn_k.bias": [64],
              "attn_v.bias": [64], "attn_output.bias": [WIDTH], "ffn_gate_inp.bias": [EXPERTS],
              "ffn_gate_exps.bias": [EXPERT_HIDDEN, EXPERTS],
              "ffn_up_exps.bias": [EXPERT_HIDDEN, EXPERTS], "ffn_down_exps.bias": [WIDTH, EXPERTS]}
    del result["ffn_norm.weight"]
    return result


def dbrx(_):
    result = {**attention(), **experts(192), "attn_output_norm.weight": [WIDTH],
              "attn_qkv.weight": [WIDTH, 2 * WIDTH]}
    return {name: extents for name, extents in result.items()
            if name not in ("attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_norm.weight")}


def glm4moe(layer):
    parts = dense() if layer == 0 else {**attention(), **experts(bias=True), **shared(EXPERT_HIDDEN)}
    result = {**parts, "post_attention_norm.weight": [WIDTH], "attn_q.bias": [WIDTH],
              "attn_k.bias": [64], "attn_v.bias": [64]}
    del result["ffn_norm.weight"]
    return result


def minimax_m2(_):
    return {**attention(), **experts(192, bias=True), "attn_q_norm.weight": [WIDTH],
            "attn_k_norm.weight": [64]}


def fused_attention(norms=False):
    result = {**attention(norms=norms), "attn_qkv.weight": [WIDTH, 2 * WIDTH]}
    return {name: extents for name, extents in result.items()
            if name not in ("attn_q.weight", "attn_k.weight", "attn_v.weight")}


WINDOW = {ATTENTION + "sliding_window": u32(24)}
SIGMOID = {"ARCH.expert_gating_func": u32(2)}
NORMED = {"ARCH.expert_weights_norm": flag(True), "ARCH.expert_weights_scale": f32(2.5)}
LEADING = {"ARCH.leading_dense_block_count": u32(1)}
LAYER_EPSILON = {ATTENTION + "layer_norm_epsilon": f32(1e-5),
                 ATTENTION + "layer_norm_rms_epsilon": None}

COUNTED = {"ARCH.expert_shared_count": u32(1)}
GROUPS = {"ARCH.expert_group_count": u32(4), "ARCH.expert_group_used_count": u32(2)}

MIXTURES = (
    crafted("llama-moe", "llama", 2, keys(False), lambda _: {**attention(), **experts(192)}),
    crafted("qwen3moe", "qwen3moe", 2, keys(), qwen3moe),
    crafted("qwen2moe", "qwen2moe", 2,
            keys(expert_shared_feed_forward_length=u32(SHARED_HIDDEN)), qwen2moe),
    crafted("gpt-oss", "gpt-oss", 2, {**keys(), **WINDOW}, gpt_oss),
    crafted("olmoe", "olmoe", 2, {**keys(False), ATTENTION + "head_count_kv": u32(4)}, lambda _: {
        **attention(4, 4), **experts(192), "attn_q_norm.weight": [WIDTH],
        "attn_k_norm.weight": [WIDTH]}),
    crafted("dbrx", "dbrx", 2, {**keys(False), **LAYER_EPSILON, ATTENTION + "clamp_kqv": f32(0.5)},
            dbrx),
    crafted("deepseek", "deepseek", 3, {**keys(), **LEADING, **COUNTED,
            "ARCH.expert_weights_scale": f32(1.5)},
            by_layer(dense(), {**attention(), **experts(), **shared(EXPERT_HIDDEN)})),
    crafted("bailingmoe2", "bailingmoe2", 3,
            {**keys(), **LEADING, **COUNTED, **GROUPS, **NORMED, **SIGMOID},
            by_layer({**{name: extents for name, extents in dense().items() if "ffn" in name},
                      **fused_attention(norms=True)},
                     {**fused_attention(norms=True), **experts(bias=True), **shared(EXPERT_HIDDEN)})),
    crafted("glm4moe", "glm4moe", 3, {**keys(), **LEADING, **COUNTED, **NORMED, **SIGMOID}, glm4moe),
    crafted("minimax-m2", "minimax-m2", 2, {**keys(False), **SIGMOID, "ARCH.expert_feed_forward_length": u32(192)},
            minimax_m2),
    crafted("hunyuan-moe", "hunyuan-moe", 2,
            keys(expert_shared_feed_forward_length=u32(SHARED_HIDDEN)),
            lambda _: {**attention(norms=True), **experts(192), **shared()}),
    crafted("ernie4_5-moe", "ernie4_5-moe", 3, {**keys(interleave_moe_layer_step=u32(1),
            expert_shared_feed_forward_length=u32(SHARED_HIDDEN)), **LEADING},
            by_layer(dense(), {**attention(), **experts(bias=True), **shared()})),
    crafted("gemma4-moe", "gemma4", 3, {**keys(), **GEMMA4}, gemma4, (("rope_freqs.weight", [32]),),
            output=False, draws={"attn_q_norm.weight": (0.25, -3), "attn_k_norm.weight": (1.0, -2),
                                 "ffw_norm_1.weight": (1.0, -1), "ffn_gate_inp.scale": (8.0, 1)}),
    crafted("llama4", "llama4", 4, keys(used=1, interleave_moe_layer_step=u32(2)), llama4),
    crafted("phimoe", "phimoe", 2, {**keys(False), SCALING + "type": text("longrope"),
            SCALING + "original_context_length": u32(64), SCALING + "attn_factor": f32(1.19)},
            lambda _: {**phimoe(0), **experts(192)},
            (("output_norm.bias", [WIDTH]), ("output.bias", [128]),
             ("rope_factors_long.weight", [16]), ("rope_factors_short.weight", [16]))),
    crafted("exaone-moe", "exaone-moe", 5,
            {**keys(expert_shared_count=u32(1)), **WINDOW, **SIGMOID, **NORMED, **LEADING},
            by_layer(dense(norms=True), {**attention(norms=True), **experts(bias=True),
                                         **shared(EXPERT_HIDDEN)})),
    crafted("mimo2", "mimo2", 3,
            {**keys(), **WINDOW, ATTENTION + "head_count_kv": array("u32", 2, 4, 2),
             ATTENTION + "key_length": u32(64), ATTENTION + "value_scale": f32(0.707),
             ATTENTION + "sliding_window_pattern": array("bool", False, True, False),
             ROPE + "freq_base": f32(1e6)}, mimo2),
    crafted("step35", "step35", 4,
            {**keys(), **WINDOW, **NORMED, ATTENTION + "head_count": array("u32", 4, 8, 4, 8),
             ATTENTION + "head_count_kv": array("u32", 2, 2, 2, 2),
             "ARCH.expert_shared_feed_forward_length": u32(SHARED_HIDDEN),
             ATTENTION + "sliding_window_pattern": array("bool", False, True, False, True),
             ROPE + "freq_base": f32(1e6), ROPE + "dimension_count_swa": u32(32),
             "ARCH.swiglu_clamp_exp": array("f32", 0.0, 0.1, 0.2, 0.0),
             "ARCH.swiglu_clamp_shexp": array("f32", 0.2, 0.0, 0.1, 0.2)},
            step35, (("rope_freqs.weight", [16]),)),
    crafted("hy_v3", "hy_v3", 3,
            {**keys(expert_shared_feed_forward_length=u32(SHARED_HIDDEN)), **NORMED}, hy_v3),
    crafted("cohere2moe", "cohere2moe", 5,
            {**keys(expert_shared_count=u32(1), logit_scale=f32(0.5)), **WINDOW, **LEADING,
             **LAYER_EPSILON},
            by_layer({name: extents for name, extents in dense().items() if name != "ffn_norm.weight"},
                     {name: extents for name, extents in
                      {**attention(), **experts(), **shared(EXPERT_HIDDEN)}.items()
                      if name != "ffn_norm.weight"})),
    crafted("smallthinker", "smallthinker", 5, {**keys(), **WINDOW, **SIGMOID},
            lambda _: {**attention(), **experts()}),
    crafted("afmoe", "afmoe", 5,
            {**keys(expert_shared_count=u32(1)), **WINDOW, **NORMED, **LEADING}, afmoe),
    crafted("laguna", "laguna", 5,
            {**keys(expert_shared_feed_forward_length=u32(SHARED_HIDDEN)), **WINDOW, **NORMED,
             **LEADING, ATTENTION + "head_count": array("u32", 4, 8, 8, 8, 4),
             ATTENTION + "head_count_kv": array("u32", 2, 2, 2, 2, 2),
             ROPE + "dimension_count": u32(16), ROPE + "dimension_count_swa": u32(32),
             ROPE + "freq_base": f32(5e5), ROPE + "freq_base_swa": f32(1e4),
             SCALING + "type": text("yarn"), SCALING + "factor": f32(4.0),
             SCALING + "original_context_length": u32(64)}, laguna),
    crafted("grovemoe", "grovemoe", 2,
            keys(used=3, expert_group_scale=f32(0.3), experts_per_group=u32(2)), grovemoe),
    crafted("arctic", "arctic", 2, keys(False), arctic),
    crafted("grok", "grok", 2, {**keys(logit_scale=f32(0.7), embedding_scale=f32(5.0)),
            SCALING + "type": text("yarn"), SCALING + "factor": f32(4.0),
            SCALING + "original_context_length": u32(64)}, grok),
)
