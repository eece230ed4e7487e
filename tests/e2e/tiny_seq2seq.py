"""Tiny random encoder-decoders as Hugging Face folders, one for each family and its switches.

CASES: name -> (model_type, {what differs from SIZES and from the family's own defaults}).
"""
import json
import pathlib

SIZES = {
    "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
    "max_position_embeddings": 40,
    "vocab_size": 128,
    "dropout_rate": 0.0, "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0,
}
TOKENS = {"t5": {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
          "bart": {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
          "mbart": {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 5}}
FIRST_TOKEN = 3             # those below are padding, begin and end
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}

CASES = {
    "t5": ("t5", {}),
    "t5_odd": ("t5", {
        "d_kv": 12, "num_heads": 3, "num_decoder_layers": 3, "vocab_size": 131,
        "relative_attention_num_buckets": 9, "relative_attention_max_distance": 20
    }),
    "t5_gated": ("t5", GATED),
    # as transformers saves a folder without a head of its own again
    "t5_tied": ("t5", {"feed_forward_proj": "gated-gelu", "scale_decoder_outputs": False}),
    "t5_silu": ("t5", {"feed_forward_proj": "gated-silu"}),
    "t5_eps": ("t5", {"layer_norm_epsilon": 0.1}),
    "t5_start": ("t5",
                 {"feed_forward_proj": "gelu", "decoder_start_token_id": 5, "pad_token_id": 4}),
    "bart": ("bart", {}),
    "bart_sides": ("bart", {
        "encoder_attention_heads": 2, "decoder_layers": 3, "decoder_ffn_dim": 80, "vocab_size": 131
    }),
    "bart_relu": ("bart", {"activation_function": "relu", "scale_embedding": True}),
    "mbart": ("mbart", {}),
    "mbart_scaled": ("mbart", {"scale_embedding": True, "encoder_layers": 3}),
}


def names():
    return list(CASES)


def config_of(case):
    import transformers
    model_type, changes = CASES[case]
    kind = transformers.CONFIG_MAPPING[model_type]
    known = kind().to_dict()
    return kind(**{k: v for k, v in SIZES.items() if k in known} | TOKENS[model_type] | changes)


def randomize(model, talks):
    """As tiny_families.randomize; biases by distance are as large as scores."""
    import torch
    tokens = model.get_input_embeddings().weight
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
            elif "relative_attention_bias" in name:
                p.copy_(torch.randn_like(p))
            else:
                gain = 0.4 if talks and p is tokens else 1.3
                if "Attention.q" in name:           # T5 does not scale its scores
                    gain /= model.config.d_kv ** 0.5
                p.copy_(torch.randn_like(p) * gain / p.shape[1] ** 0.5)


def make(case, folder, seed=3, talks=False):
    import torch
    import transformers
    torch.manual_seed(seed)
    model = transformers.AutoModelForSeq2SeqLM.from_config(
        config_of(case), attn_implementation="eager").float()
    if CASES[case][1].get("tie_word_embeddings") is False:      # transformers ties them here
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
    randomize(model, talks)
    model.save_pretrained(folder)
    if CASES[case][1].get("tie_word_embeddings") is False:
        path = pathlib.Path(folder) / "config.json"
        config = json.loads(path.read_text()) | {"tie_word_embeddings": False}
        path.write_text(json.dumps(config, indent=1))
