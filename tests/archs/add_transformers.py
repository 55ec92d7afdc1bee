#!/usr/bin/env python3
"""Adds what `transformers` computes in f32 to goldens: a second reference beside llama.cpp.

  add_transformers.py [--data FOLDER] [NAME...]

Needs the packages transformers (5.24) and torch. Each model of KINDS gets the golden's weights under its
own names. A golden gets a line `transformers POSITION ROW` for each position that it has logits or
rows of, and of encoders that rank `transformers_rank SCORES`. Prints how far llama.cpp's are from
these: KL of logits, of rows the part of their length. Ends with 1 where logits differ by more than
1e-4 or rows by more than 2e-3. Of models that llama.cpp computes otherwise the golden gets these
logits instead of llama.cpp's.
"""
import argparse
import array
import math
import sys
from pathlib import Path

import torch
import transformers

import gguf_files
from check_goldens import MOST_KL, divergence, read_golden
from compare import without_images
from make_goldens import row_text

MOST_DISTANCE = 2e-3  # llama.cpp looks GELU up by f16 numbers, and by tanh
ATTENTION = "attention."


class Golden:
    def __init__(self, path):
        keys, self.shapes, self.tokens, self.rows = read_golden(path)
        values = {name: value for name, _, value in keys}
        prefix = values["general.architecture"] + "."
        self.keys = {name.removeprefix(prefix): value for name, value in values.items()}
        self.decodes = path.parent.name == "architectures"
        self.rank = [float(score) for line in path.read_text().splitlines()
                     if line.startswith("pooled rank") for score in line.split(" ")[2:]]
        self.weights = {}
        for name, extents, center, spread in self.shapes:
            data = gguf_files.weights_of(name, math.prod(extents), center, spread)
            self.weights[name] = torch.tensor(array.array("f", data)).reshape(extents[::-1])

    def key(self, name, default=None):
        return self.keys.get(name, default)

    def sizes(self, *more):
        """The configuration that all models share; `more` names those that some have."""
        result = {"vocab_size": self.key("vocab_size"), "hidden_size": self.key("embedding_length"),
                  "intermediate_size": self.key("feed_forward_length"),
                  "num_hidden_layers": self.key("block_count"),
                  "num_attention_heads": self.key(ATTENTION + "head_count"),
                  "max_position_embeddings": self.key("context_length"), "pad_token_id": 0}
        heads, width = result["num_attention_heads"], result["hidden_size"]
        optional = {"kv": {"num_key_value_heads": self.key(ATTENTION + "head_count_kv", heads)},
                    "head": {"head_dim": width // heads},
                    "rms": {"rms_norm_eps": self.key(ATTENTION + "layer_norm_rms_epsilon")},
                    "layer": {"layer_norm_eps": self.key(ATTENTION + "layer_norm_epsilon")}}
        for each in more:
            result.update(optional[each])
        return result


def run(model, golden, names, prefix="", changed=None, **inputs):
    """Gives the model the weights, {its name: the golden's}, LAYER in both, and runs the tokens."""
    state = {}
    for own, theirs in names.items():
        layers = range(golden.key("block_count")) if "LAYER" in own else (0,)
        for layer in layers:
            name = theirs.replace("LAYER", str(layer))
            if name in golden.weights:
                state[prefix + own.replace("LAYER", str(layer))] = golden.weights[name]
    changed and changed(state)
    model.eval().load_state_dict(state)
    with torch.no_grad():
        return model(input_ids=torch.tensor([golden.tokens]), **inputs)


def both(own, theirs):
    return {f"{own}.{part}": f"{theirs}.{part}" for part in ("weight", "bias")}


def layers(prefix, names):
    result = {}
    for own, theirs in names.items():
        result.update(both(f"{prefix}.LAYER.{own}", f"blk.LAYER.{theirs}"))
    return result


def rope(base):
    return {"rope_theta": base, "rope_type": "default"}


EMBEDDINGS = {"embeddings.word_embeddings.weight": "token_embd.weight",
              "embeddings.token_type_embeddings.weight": "token_types.weight",
              **both("embeddings.LayerNorm", "token_embd_norm")}
POST_NORMS = {"post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm"}
ATTENTIONS = {f"self_attn.{own}_proj": f"attn_{theirs}" for own, theirs in
              (("q", "q"), ("k", "k"), ("v", "v"), ("o", "output"))}
GATED = {f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")}
PRE_NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
HEAD_NORMS = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
LLAMA = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight",
         **layers("layers", {**ATTENTIONS, **GATED, **PRE_NORMS})}


def bert_names(embeddings=EMBEDDINGS):
    return {**embeddings, "embeddings.position_embeddings.weight": "position_embd.weight",
            **layers("encoder.layer", {
                "attention.self.query": "attn_q", "attention.self.key": "attn_k",
                "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
                "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
                "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"})}


def bert(golden):
    config = transformers.BertConfig(**golden.sizes("layer"), type_vocab_size=2, num_labels=1)
    names = {f"bert.{own}": theirs for own, theirs in bert_names().items()}
    names.update({**both("bert.pooler.dense", "cls"), **both("classifier", "cls.output")})
    model = transformers.BertForSequenceClassification(config)
    found = run(model, golden, names, output_hidden_states=True)
    return found.hidden_states[-1], found.logits[0]


def xlm_roberta(golden):
    """The same file: its first two positions are left out by converters."""
    sizes = golden.sizes("layer")
    sizes["max_position_embeddings"] += 2
    config = transformers.XLMRobertaConfig(**sizes, type_vocab_size=2)

    def pad(state):
        name = "embeddings.position_embeddings.weight"
        state[name] = torch.cat([torch.full((2, sizes["hidden_size"]), 100.0), state[name]])

    model = transformers.XLMRobertaModel(config, add_pooling_layer=False)
    positions = torch.arange(2, len(golden.tokens) + 2)[None]
    return run(model, golden, bert_names(), changed=pad, position_ids=positions).last_hidden_state, None


def split_fused(names):
    """Queries, keys and values out of fused matrices."""
    def change(state):
        for name in [name for name in state if "self_attn.qkv" in name]:
            for own, part in zip("qkv", state.pop(name).chunk(3)):
                state[name.replace("qkv", f"{own}_proj")] = part
    return {**names, **layers("layers", {"self_attn.qkv": "attn_qkv"})}, change


def nomic_bert(golden):
    config = transformers.NomicBertConfig(**golden.sizes("layer"), type_vocab_size=2,
                                          rope_parameters=rope(golden.key("rope.freq_base")))
    names, change = split_fused({**EMBEDDINGS, **layers("layers", {
        "self_attn.o_proj": "attn_output", **GATED, **POST_NORMS})})
    model = transformers.NomicBertModel(config, add_pooling_layer=False)
    return run(model, golden, names, changed=change).last_hidden_state, None


def jina_v3(golden):
    config = transformers.JinaEmbeddingsV3Config(**golden.sizes("layer"), type_vocab_size=2,
                                                 rope_parameters=rope(10000.0))
    names, change = split_fused({**EMBEDDINGS, **layers("layers", {
        "self_attn.o_proj": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down", **POST_NORMS})})
    model = transformers.JinaEmbeddingsV3Model(config, add_pooling_layer=False)
    return run(model, golden, names, changed=change).last_hidden_state, None


def modern_bert(golden):
    window = golden.key(ATTENTION + "sliding_window")
    base = golden.key("rope.freq_base", 10000.0)
    config = transformers.ModernBertConfig(
        **golden.sizes(), norm_eps=golden.key(ATTENTION + "layer_norm_epsilon"),
        hidden_activation=golden.key("hidden_activation", "gelu"), local_attention=window or 128,
        layer_types=None if window else ["full_attention"] * golden.key("block_count"),
        rope_parameters={"full_attention": rope(base),
                         "sliding_attention": rope(golden.key("rope.freq_base_swa", base))})
    names = {"embeddings.tok_embeddings.weight": "token_embd.weight",
             **both("embeddings.norm", "token_embd_norm"), **both("final_norm", "output_norm"),
             **layers("layers", {"attn.Wqkv": "attn_qkv", "attn.Wo": "attn_output",
                                 "attn_norm": "attn_norm", "mlp_norm": "ffn_norm",
                                 "mlp.Wi": "ffn_up", "mlp.Wo": "ffn_down"})}
    return run(transformers.ModernBertModel(config), golden, names).last_hidden_state, None


def eurobert(golden):
    config = transformers.EuroBertConfig(**golden.sizes("rms", "kv"), rope_parameters=rope(10000.0))
    return run(transformers.EuroBertModel(config), golden, LLAMA).last_hidden_state, None


def gemma_embedding(golden):
    config = transformers.Gemma3TextConfig(
        **golden.sizes("rms", "kv", "head"), use_bidirectional_attention=True,
        sliding_window=golden.key(ATTENTION + "sliding_window"),
        query_pre_attn_scalar=golden.key("embedding_length") // golden.key(ATTENTION + "head_count"),
        sliding_window_pattern=golden.key(ATTENTION + "sliding_window_pattern"),
        rope_parameters={"full_attention": rope(golden.key("rope.freq_base")),
                         "sliding_attention": rope(10000.0)})

    def shift(state):  # files hold 1 + w
        for name in state:
            if "norm" in name:
                state[name] = state[name] - 1

    return run(transformers.Gemma3TextModel(config), golden, {**LLAMA, **layers("layers", SANDWICH)},
               changed=shift).last_hidden_state, None


SANDWICH = {**HEAD_NORMS, "post_attention_layernorm": "post_attention_norm",
            "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}


def halves(state, size):
    """Queries and keys whose pairs are halves of heads, where files have neighbours."""
    for name, rows in state.items():
        if ".q_" in name or ".k_" in name:
            pairs = rows.reshape(-1, size // 2, 2, rows.numel() // rows.shape[0]
                                 if "proj" in name else 1)
            state[name] = pairs.transpose(1, 2).reshape(rows.shape)


def llama_embed(golden):
    config = transformers.LlamaConfig(**golden.sizes("rms", "kv"), rope_parameters=rope(10000.0))
    size = config.hidden_size // config.num_attention_heads
    count = len(golden.tokens)
    return run(transformers.LlamaModel(config), golden, LLAMA,
               changed=lambda state: halves(state, size), attention_mask=torch.zeros(1, 1, count, count)).last_hidden_state, None


def qwen3(golden):
    config = transformers.Qwen3Config(**golden.sizes("rms", "kv", "head"),
                                      rope_parameters=rope(10000.0))
    names = {**LLAMA, **layers("layers", HEAD_NORMS)}
    return run(transformers.Qwen3Model(config), golden, names).last_hidden_state, None


def chameleon(golden):
    size = golden.key("embedding_length") // golden.key(ATTENTION + "head_count")
    images = {"base_channels": 32, "channel_multiplier": [1], "embed_dim": 32, "latent_channels": 32}
    config = transformers.ChameleonConfig(**golden.sizes("rms", "kv"), vq_config=images,
                                          swin_norm=golden.key("swin_norm", False),
                                          vocabulary_map={"<image>": 3},
                                          rope_parameters=rope(10000.0))
    names = {**LLAMA, **layers("layers", HEAD_NORMS)}
    model = transformers.ChameleonModel(config)

    def change(state):
        halves(state, size)
        state.update({name: each for name, each in model.state_dict().items() if "vqmodel" in name})

    rows = run(model, golden, names, changed=change).last_hidden_state
    logits = rows[0] @ golden.weights["output.weight"].T
    return torch.tensor([[without_images("chameleon", row) for row in logits.tolist()]]), None


PER_LAYER = {"embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
             "per_layer_model_projection.weight": "per_layer_model_proj.weight",
             "per_layer_projection_norm.weight": "per_layer_proj_norm.weight",
             **layers("layers", {"per_layer_input_gate": "inp_gate", "per_layer_projection": "proj",
                                 "post_per_layer_input_norm": "post_norm"})}


def tied(state):
    state["lm_head.weight"] = state["model.embed_tokens.weight"]


def gemma4(golden):
    kv_heads = golden.key(ATTENTION + "head_count_kv")[1]
    slides = golden.key(ATTENTION + "sliding_window_pattern")[1]
    full = slides.index(False)
    sizes = {**golden.sizes("rms"), "num_key_value_heads": kv_heads[slides.index(True)],
             "head_dim": golden.key(ATTENTION + "key_length_swa")}
    config = transformers.Gemma4TextConfig(
        **sizes, global_head_dim=golden.key(ATTENTION + "key_length"),
        num_global_key_value_heads=kv_heads[full], attention_k_eq_v=True,
        layer_types=["sliding_attention" if each else "full_attention" for each in slides],
        vocab_size_per_layer_input=sizes["vocab_size"],
        hidden_size_per_layer_input=golden.key("embedding_length_per_layer_input"),
        num_kv_shared_layers=golden.key(ATTENTION + "shared_kv_layers"),
        sliding_window=golden.key(ATTENTION + "sliding_window"),
        final_logit_softcapping=golden.key("final_logit_softcapping"),
        rope_parameters={"full_attention": rope(golden.key("rope.freq_base")),
                         "sliding_attention": rope(golden.key("rope.freq_base_swa"))})
    model = transformers.Gemma4ForCausalLM(config)
    # A file's factors stand for rotations of a part of a head.
    model.model.rotary_emb.full_attention_inv_freq.div_(golden.weights["rope_freqs.weight"])
    names = {**LLAMA, **layers("layers", SANDWICH), **PER_LAYER,
             "layers.LAYER.layer_scalar": "blk.LAYER.layer_output_scale.weight"}
    return run(model, golden, names, "model.", tied).logits, None


def gemma3n(golden):
    count = golden.key("block_count")
    own = 20  # llama.cpp takes for granted: layers with keys of their own, sparse ones, the cap
    # transformers divides the variance by n, llama.cpp by n - 1: at the widths of real models the
    # same, of 192 columns KL 1.2e-3. So the cut is where llama.cpp has it.
    width, normal = golden.key("feed_forward_length"), torch.distributions.Normal(0.0, 1.0)
    sparse = float(normal.cdf(normal.icdf(torch.tensor(0.95)) * math.sqrt(width / (width - 1))))
    config = transformers.Gemma3nTextConfig(
        **golden.sizes("rms", "kv", "head"), vocab_size_per_layer_input=golden.key("vocab_size"),
        hidden_size_per_layer_input=256, num_kv_shared_layers=count - own,
        activation_sparsity_pattern=[sparse if i < 10 else 0.0 for i in range(count)],
        layer_types=["full_attention" if i % 5 == 4 else "sliding_attention" for i in range(count)],
        sliding_window=golden.key(ATTENTION + "sliding_window"), final_logit_softcapping=30.0,
        rope_parameters={"full_attention": rope(golden.key("rope.freq_base")),
                         "sliding_attention": rope(10000.0)})
    names = {**LLAMA, **layers("layers", SANDWICH), **PER_LAYER, **layers("layers", {
        "altup.correction_coefs": "altup_correct_coef", "altup.prediction_coefs": "altup_predict_coef",
        "altup.modality_router": "altup_router", "altup.router_norm": "altup_router_norm",
        "laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r",
        "laurel.post_laurel_norm": "laurel_post_norm"}),
        "layers.LAYER.altup.correct_output_scale": "blk.LAYER.altup_correct_scale.weight",
        "altup_projections": "altup_proj.weight", "altup_unembed_projections": "altup_unembd_proj.weight"}

    def change(state):
        tied(state)
        for name in ("model.altup_projections", "model.altup_unembed_projections"):
            for i, part in enumerate(state.pop(name)):
                state[f"{name}.{i}.weight"] = part
        for layer in range(own, count):  # tensors that only their own keys would read
            for part in ("k_proj", "v_proj", "k_norm"):
                state.pop(f"model.layers.{layer}.self_attn.{part}.weight")

    return run(transformers.Gemma3nForCausalLM(config), golden, names, "model.", change).logits, None


KINDS = {"bert": (bert, xlm_roberta), "nomic-bert": (nomic_bert,), "jina-bert-v3": (jina_v3,),
         "modern-bert": (modern_bert,), "modern-bert-silu": (modern_bert,), "eurobert": (eurobert,),
         "gemma-embedding": (gemma_embedding,), "llama-embed": (llama_embed,),
         "qwen3-rank": (qwen3,), "chameleon": (chameleon,), "gemma4": (gemma4,), "gemma3n": (gemma3n,)}

# llama.cpp gives chameleon's feed-forward the attention's normed result without what the layer read.
INSTEAD = {"chameleon-swin": chameleon}


def distance(expected, found):
    expected, found = torch.tensor(expected), torch.tensor(found)
    return float((found - expected).norm() / expected.norm())


def compare(golden, rows, rank):
    """The largest difference of llama.cpp's rows, and whether it is small enough."""
    if golden.decodes:
        worst = max(divergence(row, dict(enumerate(rows[0, at].tolist())))
                    for at, row in golden.rows.items())
        return f"KL {worst:.1e}", worst <= MOST_KL
    worst = max(distance(rows[0, at].tolist(), list(row.values())) for at, row in golden.rows.items())
    if rank is not None:
        worst = max(worst, distance(rank.tolist(), golden.rank))
    return f"distance {worst:.1e}", worst <= MOST_DISTANCE


def add(path, makers):
    """Adds the lines of the first maker; whether all of them agree with the golden."""
    golden, agree = Golden(path), True
    lines = [line for line in path.read_text().splitlines() if not line.startswith("transformers")]
    for number, make in enumerate(makers):
        rows, rank = make(golden)
        result, good = compare(golden, rows, rank)
        agree = agree and good
        print(f"{make.__name__:16} of {path.stem:18} {result}", flush=True)
        if number == 0:
            lines += [f"transformers {at} {row_text(rows[0, at].tolist())}" for at in golden.rows]
            lines += [f"transformers_rank {row_text(rank.tolist())}"] if rank is not None else []
    path.write_text("\n".join(lines) + "\n")
    return agree


def replace(path, make):
    """Writes the logits instead of those that the golden has."""
    golden, lines = Golden(path), []
    rows = make(golden)[0][0]
    for line in path.read_text().splitlines():
        what, *words = line.split(" ")
        if what == "beside":
            golden.tokens = list(map(int, words))
            rows = make(golden)[0][0]
        if what in ("logits", "beside_logits"):
            line = f"{what} {words[0]} {row_text(rows[int(words[0])].tolist())}"
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")
    print(f"{make.__name__:16} of {path.stem:18} written", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parent.parent / "data")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    agree = True
    for name in arguments.names or [*KINDS, *INSTEAD]:
        path = next(arguments.data.glob(f"*/{name}.txt"))
        if name in INSTEAD:
            replace(path, INSTEAD[name])
        else:
            agree = add(path, KINDS[name]) and agree
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
