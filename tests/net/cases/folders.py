"""Folders of models without weights, which are planned alone: settings of config.json that no
option of a recipe has."""

import json

from .base import BF16, jsonl, planned

DECODER = {
    "model_type": "llama", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64, "head_dim": 8,
    "max_position_embeddings": 64, "hidden_act": "silu",
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "tie_word_embeddings": False,
}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16}  # fmt: skip
FOLDERS = {
    "llama_biases": DECODER | {"attention_bias": True, "mlp_bias": True},
    "llama_yarn": DECODER | {"rope_parameters": YARN},
    "cohere_norms": DECODER | {
        "model_type": "cohere", "use_qk_norm": True, "logit_scale": 0.5, "layer_norm_eps": 1e-5,
        "tie_word_embeddings": True,
    },
    "phi_norms": DECODER | {
        "model_type": "phi", "qk_layernorm": True, "hidden_act": "gelu_new",
        "layer_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                            "partial_rotary_factor": 0.5},
    },
    "olmo_clip": DECODER | {"model_type": "olmo", "clip_qkv": 2.0},
    "modernbert_mean": {
        "model_type": "modernbert", "hidden_size": 32, "intermediate_size": 48,
        "num_hidden_layers": 3, "num_attention_heads": 2, "vocab_size": 64,
        "max_position_embeddings": 64, "local_attention": 8, "pad_token_id": 0,
        "classifier_pooling": "mean", "num_labels": 3, "norm_eps": 1e-5,
    },
}  # fmt: skip
TOKENS = "{type: tokens, train: absent.bin, eval: absent_held.bin, sequence_length: 32}"


def folder(name, data=TOKENS, kind=None, options=""):
    model_type = kind or FOLDERS[name]["model_type"]
    of_options = f", options: {{{options}}}" if options else ""
    return (f"{{type: {model_type}, init_from: folders/{name}{of_options}}}", data)


CASES = {
    "folder: llama with biases": planned(folder("llama_biases"), BF16, gpus=("", "h200")),
    "folder: yarn": planned(folder("llama_yarn"), BF16, gpus=("h200",)),
    "folder: rows beyond its positions": planned(
        folder("llama_biases", TOKENS.replace("32", "128"), options="rope_scaling: linear"),
        BF16, gpus=("h200",),
    ),
    "folder: cohere, norms of heads": planned(folder("cohere_norms"), BF16, gpus=("", "h200")),
    "folder: phi, norms of heads": planned(folder("phi_norms"), BF16, gpus=("h200",)),
    "folder: olmo, clipped": planned(folder("olmo_clip"), BF16, gpus=("", "h200")),
    "folder: modernbert, mean of tokens": planned(
        folder("modernbert_mean", jsonl("pairs"), options="task: classification, num_labels: 3"),
        BF16, gpus=("", "h200"),
    ),
}  # fmt: skip


def write(place):
    for name, config in FOLDERS.items():
        (place / name).mkdir(parents=True)
        (place / name / "config.json").write_text(json.dumps(config))
