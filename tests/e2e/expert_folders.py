"""Small models with experts, as folders whose values Python draws: routers with a correction,
routers of one mind, and routers that choose clearly."""

import json
import math
import pathlib
import struct

EXPERTS, PER_TOKEN, VOCABULARY, LENGTH = 8, 2, 64, 32
HIDDEN, WIDTH = 32, 16
LLAMA = {
    "num_hidden_layers": 2,
    "hidden_size": HIDDEN,
    "intermediate_size": 24,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": LENGTH,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "num_experts_per_tok": PER_TOKEN,
}
CORRECTED = LLAMA | {
    "model_type": "dots1",
    "n_routed_experts": EXPERTS,
    "moe_intermediate_size": WIDTH,
    "n_shared_experts": 1,
    "first_k_dense_replace": 0,
    "norm_topk_prob": True,
}
MIXTRAL = LLAMA | {"model_type": "mixtral", "num_local_experts": EXPERTS}
SWITCH = {
    "model_type": "gpt2_moe",
    "n_layer": 4,
    "n_head": 4,
    "n_embd": HIDDEN,
    "n_inner": 64,
    "n_positions": LENGTH,
    "vocab_size": VOCABULARY,
    "layer_norm_epsilon": 1e-5,
    "resid_pdrop": 0.0,
    "attn_pdrop": 0.0,
    "num_experts": 4,
    "num_experts_per_tok": 1,
    "decoder_sparse_step": 2,
    "capacity_factor": 1.25,
    "router_aux_loss_coef": 0.01,
}
BIAS = ".mlp.gate.e_score_correction_bias"
START = [0.5] + [0.0] * 7  # corrections: scores are from 0 to 1, so most tokens choose expert 0


def llama_shapes():
    """Name -> shape of each tensor but those of a layer's second half."""
    shapes = {
        "model.embed_tokens.weight": [VOCABULARY, HIDDEN],
        "lm_head.weight": [VOCABULARY, HIDDEN],
        "model.norm.weight": [HIDDEN],
    }
    for layer in range(LLAMA["num_hidden_layers"]):
        below = f"model.layers.{layer}"
        shapes |= {f"{below}.self_attn.{part}_proj.weight": [HIDDEN, HIDDEN] for part in "qkvo"}
        shapes |= {
            f"{below}.{norm}.weight": [HIDDEN]
            for norm in ("input_layernorm", "post_attention_layernorm")
        }
    return shapes


def corrected_shapes():
    shapes = llama_shapes()
    for layer in range(CORRECTED["num_hidden_layers"]):
        below = f"model.layers.{layer}"
        shapes |= {f"{below}.self_attn.{part}_norm.weight": [16] for part in "qk"}
        shapes[f"{below}.mlp.gate.weight"] = [EXPERTS, HIDDEN]
        for owner in [f"experts.{e}" for e in range(EXPERTS)] + ["shared_experts"]:
            for part in ("gate", "up"):
                shapes[f"{below}.mlp.{owner}.{part}_proj.weight"] = [WIDTH, HIDDEN]
            shapes[f"{below}.mlp.{owner}.down_proj.weight"] = [HIDDEN, WIDTH]
        shapes[below + BIAS] = [EXPERTS]
    return shapes


def mixtral_shapes():
    shapes, width = llama_shapes(), MIXTRAL["intermediate_size"]
    for layer in range(MIXTRAL["num_hidden_layers"]):
        below = f"model.layers.{layer}.block_sparse_moe"
        shapes[f"{below}.gate.weight"] = [EXPERTS, HIDDEN]
        for expert in range(EXPERTS):
            for part, shape in (
                ("w1", [width, HIDDEN]),
                ("w2", [HIDDEN, width]),
                ("w3", [width, HIDDEN]),
            ):
                shapes[f"{below}.experts.{expert}.{part}.weight"] = shape
    return shapes


def switch_shapes():
    inner, experts = SWITCH["n_inner"], SWITCH["num_experts"]
    shapes = {
        "wte.weight": [VOCABULARY, HIDDEN],
        "wpe.weight": [LENGTH, HIDDEN],
        "ln_f.weight": [HIDDEN],
        "ln_f.bias": [HIDDEN],
    }
    for layer in range(SWITCH["n_layer"]):
        products = {"attn.c_attn": (HIDDEN, 3 * HIDDEN), "attn.c_proj": (HIDDEN, HIDDEN)}
        if layer % 2 == 0:
            products |= {"mlp.c_fc": (HIDDEN, inner), "mlp.c_proj": (inner, HIDDEN)}
        else:
            shapes |= {
                f"h.{layer}.mlp.router.weight": [experts, HIDDEN],
                f"h.{layer}.mlp.experts.c_fc.weight": [experts, inner, HIDDEN],
                f"h.{layer}.mlp.experts.c_fc.bias": [experts, inner],
                f"h.{layer}.mlp.experts.c_proj.weight": [experts, HIDDEN, inner],
                f"h.{layer}.mlp.experts.c_proj.bias": [experts, HIDDEN],
            }
        for name, shape in products.items():
            shapes[f"h.{layer}.{name}.weight"] = list(shape)
            shapes[f"h.{layer}.{name}.bias"] = [shape[1]]
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.{layer}.{norm}.{part}": [HIDDEN] for part in ("weight", "bias")}
    return shapes


def write_folder(folder, config, shapes, values_of):
    """values_of(name, count): the values of a tensor."""
    folder, header, data = pathlib.Path(folder), {}, b""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    for name, shape in shapes.items():
        values = values_of(name, math.prod(shape))
        end = len(data) + 4 * len(values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), end]}
        data += struct.pack(f"<{len(values)}f", *values)
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)


def normal(draw, count, deviation=0.1, mean=0):
    return [draw.gauss(mean, deviation) for _ in range(count)]


def write_corrected(folder, draw):
    """Routers whose corrections are START."""

    def values_of(name, count):
        if name.endswith(BIAS):
            return START
        return [1] * count if "norm" in name else normal(draw, count)

    write_folder(folder, CORRECTED, corrected_shapes(), values_of)


def write_one_mind(folder, draw):
    """Routers that know no difference: all tokens choose the first experts."""

    def values_of(name, count):
        if name.endswith("gate.weight"):
            return [0] * count
        return [1] * count if "norm" in name else normal(draw, count)

    write_folder(folder, MIXTRAL, mixtral_shapes(), values_of)


def write_switch(folder, draw):
    """GPT-2 whose every second layer has experts of a capacity."""

    def values_of(name, count):
        if "router" in name:
            return normal(draw, count, 0.5)
        return normal(draw, count, mean="ln_" in name and name.endswith("weight"))

    write_folder(folder, SWITCH, switch_shapes(), values_of)


def tokens(draw, samples):
    """Of which the first are frequent."""
    return [int(VOCABULARY * draw.random() ** 3) for _ in range(samples * LENGTH + 1)]
