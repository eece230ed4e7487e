"""Tiny random decoders as Hugging Face folders, one for each family and each of its switches.

    tiny_families.py CASE FOLDER [SEED [talks]]     writes one; needs torch and transformers
    tiny_families.py                                lists the cases

CASES: name -> (model_type, {what differs from SIZES and from the family's own defaults}).
OLDER: name -> (case, {key: value in config.json, None: the key is taken out}): the same model, as
folders of the hub say it that are older than `rope_parameters`.
"""
import json
import pathlib
import sys

SIZES = {
    "hidden_size": 64, "n_embd": 64,
    "intermediate_size": 96, "n_inner": 96, "ffn_dim": 96,
    "num_hidden_layers": 4, "n_layer": 4,
    "num_attention_heads": 4, "n_head": 4,
    "num_key_value_heads": 2, "head_dim": 16,
    "vocab_size": 128,
    "max_position_embeddings": 64, "n_positions": 64,
    "sliding_window": 8,
    "query_pre_attn_scalar": 24,                # not the head's size, so that it is seen
    "word_embed_proj_dim": 64,
    "attention_dropout": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
    "hidden_dropout": 0.0, "residual_dropout": 0.0, "embedding_dropout": 0.0, "dropout": 0.0,
    "layerdrop": 0.0,
    "num_experts": 8, "num_local_experts": 8, "n_routed_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48, "n_shared_experts": 1,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
FIRST_TOKEN = 3             # those below are padding, begin and end: no text of a test has them
ODD = {"hidden_size": 48, "intermediate_size": 50, "head_dim": 20, "vocab_size": 131,
       "num_key_value_heads": 1, "num_hidden_layers": 3}
MIXED = ["sliding_attention", "full_attention"] * 2
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.5}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}


LATENT = {"num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 20,
          "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 10,
          "head_dim": 8}        # what turns


# Experts from the second layer on, half of the groups for a token
GROUPS = {"first_k_dense_replace": 1, "n_group": 2, "topk_group": 1}
# of which every layer has experts, if nothing else is said
ROUTED = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "gpt_oss")
# With the loss that keeps experts evenly busy
BALANCED = {"output_router_logits": True, "router_aux_loss_coef": 0.5}


def plain_rope(theta=1e4, **more):
    return {"rope_type": "default", "rope_theta": theta, **more}


def longrope(first, **more):
    return {"rope_type": "longrope", "rope_theta": 1e4,
            "short_factor": [1.0 + 0.1 * i for i in range(8)],
            "long_factor": [1.5 + 0.4 * i for i in range(8)],
            "original_max_position_embeddings": first, **more}


CASES = {
    "gpt2": ("gpt2", {}),
    "llama": ("llama", {}),
    "llama_tied": ("llama", {"tie_word_embeddings": True}),
    "llama_all_heads": ("llama", {"num_key_value_heads": 4}),
    "llama_odd": ("llama", ODD),
    "llama_bias": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "llama_attention_bias": ("llama", {"attention_bias": True}),
    "llama_gelu": ("llama", {"hidden_act": "gelu"}),
    "llama_eps": ("llama", {"rms_norm_eps": 0.1}),
    "llama_theta": ("llama", {"rope_parameters": plain_rope(100.0)}),
    "llama_llama3": ("llama", {"rope_parameters": LLAMA3}),
    "llama_yarn": ("llama", {"rope_parameters": YARN}),
    "llama_yarn_scaled": ("llama", {
        "rope_parameters": YARN | {"attention_factor": 0.9, "beta_fast": 4.0, "beta_slow": 0.5}
    }),
    "llama_yarn_mscale": ("llama", {
        "rope_parameters": YARN | {"mscale": 1.2, "mscale_all_dim": 0.7, "truncate": False}
    }),
    "llama_linear": ("llama", {"rope_parameters": LINEAR}),
    "llama_dynamic": ("llama", {"rope_parameters": DYNAMIC}),
    "mistral": ("mistral", {}),
    "mistral_full": ("mistral", {"sliding_window": None}),
    "mistral_odd": ("mistral", ODD),
    "ministral": ("ministral", {}),
    "ministral_mixed": ("ministral", {"layer_types": MIXED}),
    "qwen2": ("qwen2", {}),
    "qwen2_tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2_window": ("qwen2", {"use_sliding_window": True, "max_window_layers": 2}),
    "qwen2_yarn": ("qwen2", {"rope_parameters": YARN}),
    "qwen3": ("qwen3", {}),
    "qwen3_tied": ("qwen3", {"tie_word_embeddings": True}),
    "qwen3_odd": ("qwen3", ODD),
    "qwen3_bias": ("qwen3", {"attention_bias": True}),
    "qwen3_window": ("qwen3", {"use_sliding_window": True, "max_window_layers": 1}),
    "gemma": ("gemma", {}),
    "gemma_odd": ("gemma", ODD),
    "gemma2": ("gemma2", {}),
    "gemma2_no_caps": ("gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    "gemma2_low_caps": ("gemma2", {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    "gemma2_odd": ("gemma2", ODD),
    "gemma3": ("gemma3_text", {}),
    "gemma3_two_thetas": ("gemma3_text", {
        "layer_types": MIXED, "rope_parameters": {
            "sliding_attention": plain_rope(50.0), "full_attention": plain_rope(1e6)
        }
    }),
    "gemma3_linear": ("gemma3_text", {
        "layer_types": MIXED, "rope_parameters": {
            "sliding_attention": plain_rope(), "full_attention": LINEAR | {"rope_theta": 1e6}
        }
    }),
    "gemma3_caps": ("gemma3_text", {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    "phi": ("phi", {}),
    "phi_all_heads": ("phi", {"num_key_value_heads": 4}),
    "phi_qk": ("phi", {"qk_layernorm": True}),
    "phi_partial": ("phi", {"rope_parameters": plain_rope(partial_rotary_factor=0.4)}),
    "phi_tied": ("phi", {"tie_word_embeddings": True}),
    "phi3": ("phi3", {}),
    "phi3_full": ("phi3", {"sliding_window": None}),
    "phi3_tied": ("phi3", {"tie_word_embeddings": True}),
    "phi3_partial": ("phi3", {"rope_parameters": plain_rope(partial_rotary_factor=0.75)}),
    "phi3_longrope": ("phi3",
                      {"original_max_position_embeddings": 16, "rope_parameters": longrope(16)}),
    "phi3_longrope_short": ("phi3", {
        "original_max_position_embeddings": 32, "rope_parameters": longrope(32)
    }),
    "smollm3": ("smollm3", {}),
    "smollm3_window": ("smollm3", {"use_sliding_window": True}),
    "smollm3_interval": ("smollm3", {"no_rope_layer_interval": 2}),
    "smollm3_bias": ("smollm3",
                     {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False}),
    "olmo": ("olmo", {}),
    "olmo_clip": ("olmo", {"clip_qkv": 2.0}),
    "olmo_tied": ("olmo", {"tie_word_embeddings": True}),
    "olmo2": ("olmo2", {}),
    "olmo2_all_heads": ("olmo2", {"num_key_value_heads": 4, "attention_bias": True}),
    "olmo3": ("olmo3", {}),
    "olmo3_yarn": ("olmo3", {
        "rope_parameters": {"sliding_attention": plain_rope(), "full_attention": YARN}
    }),
    "gpt_neox": ("gpt_neox", {}),
    "gpt_neox_sequential": ("gpt_neox", {"use_parallel_residual": False}),
    "gpt_neox_rotary": ("gpt_neox", {"rope_parameters": plain_rope(partial_rotary_factor=1.0)}),
    "gpt_neox_no_bias": ("gpt_neox", {"attention_bias": False}),
    "gpt_neox_tanh": ("gpt_neox", {"hidden_act": "gelu_new", "tie_word_embeddings": True}),
    "granite": ("granite", {"attention_multiplier": 0.25}),
    "granite_scalars": ("granite", {
        "attention_multiplier": 0.2, "residual_multiplier": 0.3, "embedding_multiplier": 3.0,
        "logits_scaling": 4.0
    }),
    "granite_bias": ("granite", {
        "attention_multiplier": 0.25, "attention_bias": True, "mlp_bias": True,
        "tie_word_embeddings": True
    }),
    "granite_swa": ("granite_swa", {"attention_multiplier": 0.25}),
    "granite_swa_thetas": ("granite_swa", {
        "attention_multiplier": 0.2, "residual_multiplier": 0.3, "embedding_multiplier": 3.0,
        "logits_scaling": 4.0, "layer_types": MIXED, "layer_rope_theta": [100.0, 0, 1e4, 100.0]
    }),
    "granite_swa_bias": ("granite_swa", {
        "attention_multiplier": 0.25, "attention_bias": True, "mlp_bias": True,
        "tie_word_embeddings": False
    }),
    "cohere": ("cohere", {}),
    "cohere_qk": ("cohere", {"use_qk_norm": True}),
    "cohere_scale": ("cohere", {"logit_scale": 0.5, "attention_bias": True}),
    "cohere2": ("cohere2", {}),
    "cohere2_mixed": ("cohere2", {"layer_types": MIXED, "attention_bias": True}),
    "starcoder2": ("starcoder2", {}),
    "starcoder2_full": ("starcoder2", {"sliding_window": None}),
    "starcoder2_no_bias": ("starcoder2", {"use_bias": False, "tie_word_embeddings": False}),
    "stablelm": ("stablelm", {}),
    "stablelm_bias": ("stablelm", {"use_qkv_bias": True}),
    "stablelm_qk": ("stablelm", {"qk_layernorm": True}),
    "stablelm_parallel": ("stablelm", {"use_parallel_residual": True}),
    "stablelm_all": ("stablelm", {
        "use_parallel_residual": True, "qk_layernorm": True, "use_qkv_bias": True,
        "rope_parameters": plain_rope(partial_rotary_factor=0.5)
    }),
    "glm": ("glm", {}),
    "glm_no_bias": ("glm", {"attention_bias": False, "tie_word_embeddings": True}),
    "glm_odd": ("glm", ODD),
    "glm4": ("glm4", {}),
    "glm4_no_bias": ("glm4", {"attention_bias": False}),
    "nemotron": ("nemotron", {}),
    "nemotron_bias": ("nemotron", {"attention_bias": True, "mlp_bias": True}),
    "nemotron_odd": ("nemotron", ODD),
    "exaone4": ("exaone4", {}),
    "exaone4_full": ("exaone4", {"sliding_window": None, "layer_types": ["full_attention"] * 4}),
    "exaone4_tied": ("exaone4", {"layer_types": MIXED, "tie_word_embeddings": True}),
    "helium": ("helium", {}),
    "helium_odd": ("helium", ODD | {"head_dim": 12}),  # its heads are as wide as what is hidden
    "helium_bias": ("helium", {"attention_bias": True, "mlp_bias": True}),
    "seed_oss": ("seed_oss", {}),
    "seed_oss_bias": ("seed_oss", {"attention_out_bias": True, "mlp_bias": True}),
    "seed_oss_odd": ("seed_oss", ODD),
    "arcee": ("arcee", {}),
    "arcee_bias": ("arcee", {"attention_bias": True, "mlp_bias": True}),
    "hunyuan": ("hunyuan_v1_dense", {}),
    "hunyuan_alpha": ("hunyuan_v1_dense", {
        "rope_parameters": {
            "rope_type": "dynamic", "rope_theta": 1e4, "alpha": 50.0, "factor": 1.0
        }
    }),
    "hunyuan_bias": ("hunyuan_v1_dense", {"attention_bias": True, "tie_word_embeddings": True}),
    "ernie4_5": ("ernie4_5", {}),
    "ernie4_5_bias": ("ernie4_5", {"use_bias": True, "tie_word_embeddings": False}),
    "nanochat": ("nanochat", {}),
    "nanochat_bias": ("nanochat", {"attention_bias": True, "final_logit_softcapping": 2.0}),
    "deepseek_v2": ("deepseek_v2", LATENT | {"first_k_dense_replace": 4}),
    "deepseek_v2_no_rank": ("deepseek_v2", LATENT | {
        "first_k_dense_replace": 4, "q_lora_rank": None, "attention_bias": True, "mlp_bias": True
    }),
    "deepseek_v3": ("deepseek_v3", LATENT | {"first_k_dense_replace": 4}),
    "deepseek_v3_halves": (
        "deepseek_v3",
        LATENT | {"first_k_dense_replace": 5, "rope_interleave": False, "v_head_dim": 20}),
    "deepseek_v3_yarn": ("deepseek_v3", LATENT | {
        "first_k_dense_replace": 4,
        "rope_parameters": YARN | {"mscale": 1.2, "mscale_all_dim": 0.7}
    }),
    # of this family alone transformers loads a row of zeros for padding, whatever the file has
    "youtu": ("youtu", LATENT | {"pad_token_id": None}),
    "youtu_no_rank": ("youtu", LATENT
                      | {"pad_token_id": None, "q_lora_rank": None, "tie_word_embeddings": False}),
    "minicpm3": ("minicpm3", LATENT),
    "minicpm3_scalars": (
        "minicpm3",
        LATENT | {"scale_emb": 3.0, "scale_depth": 0.7, "dim_model_base": 32, "v_head_dim": None}),
    "mixtral": ("mixtral", {}),
    "mixtral_window": ("mixtral", {"sliding_window": 8, "num_experts_per_tok": 3}),
    "mixtral_odd": ("mixtral", ODD | {"num_local_experts": 5}),
    "mixtral_all": ("mixtral", {"num_local_experts": 4, "num_experts_per_tok": 4}),
    "mixtral_balanced": ("mixtral", BALANCED | {"num_experts_per_tok": 3}),
    "qwen2_moe": ("qwen2_moe", {}),
    "qwen2_moe_some": ("qwen2_moe", {
        "decoder_sparse_step": 2, "mlp_only_layers": [3], "norm_topk_prob": True, "qkv_bias": False
    }),
    "qwen2_moe_balanced": ("qwen2_moe", BALANCED | {"mlp_only_layers": [1]}),
    "qwen3_moe": ("qwen3_moe", {}),
    "qwen3_moe_some": ("qwen3_moe", {
        "mlp_only_layers": [0, 2], "norm_topk_prob": True, "attention_bias": True,
        "use_sliding_window": True
    }),
    "olmoe": ("olmoe", {}),
    "olmoe_one": ("olmoe", {"num_experts_per_tok": 1}),
    "olmoe_clip": ("olmoe", {"clip_qkv": 2.5, "norm_topk_prob": True}),
    "granitemoe": ("granitemoe", {
        "attention_multiplier": 0.2, "residual_multiplier": 0.3, "embedding_multiplier": 3.0,
        "logits_scaling": 4.0
    }),
    "granitemoe_tied": ("granitemoe", {
        "tie_word_embeddings": True, "attention_bias": True, "num_experts_per_tok": 3,
        "attention_multiplier": 0.25
    }),
    "granitemoe_balanced": ("granitemoe",
                            BALANCED | {"attention_multiplier": 0.25, "residual_multiplier": 0.3}),
    "glm4_moe": ("glm4_moe", GROUPS),
    "glm4_moe_norms": ("glm4_moe", GROUPS | {
        "use_qk_norm": True, "attention_bias": True, "norm_topk_prob": False,
        "routed_scaling_factor": 1.5, "topk_group": 2, "n_shared_experts": 2
    }),
    "dots1": ("dots1", GROUPS),
    "dots1_window": ("dots1", GROUPS | {
        "first_k_dense_replace": 0, "n_group": 1, "max_window_layers": 2, "norm_topk_prob": True,
        "routed_scaling_factor": 2.5
    }),
    "gpt_oss": ("gpt_oss", {"rope_parameters": YARN | {"truncate": False}}),
    "gpt_oss_limits": (
        "gpt_oss",
        {
            "swiglu_limit": 4.0,
            "swiglu_alpha": 1.3,  # few lie so near that rounding decides
            "rope_parameters": plain_rope(),
            "layer_types": ["full_attention", "sliding_attention"] * 2
        }),
    "gpt_oss_odd": ("gpt_oss", ODD
                    | {"num_local_experts": 5, "attention_bias": False, "rope_parameters": YARN}),
    "gpt_oss_balanced": ("gpt_oss", BALANCED | {"rope_parameters": plain_rope()}),
    "deepseek_v2_experts": ("deepseek_v2", LATENT | GROUPS),
    "deepseek_v2_groups": (
        "deepseek_v2", LATENT | GROUPS
        | {"topk_method": "group_limited_greedy", "routed_scaling_factor": 2.0, "mlp_bias": True}),
    "deepseek_v3_experts": ("deepseek_v3", LATENT | GROUPS | {"routed_scaling_factor": 1.2}),
    "deepseek_v3_plain": ("deepseek_v3", LATENT | GROUPS
                          | {"n_group": 1, "norm_topk_prob": False, "n_shared_experts": 2}),
    "bloom": ("bloom", {"layer_norm_epsilon": 0.1}),  # seen, beside what is refused
    "bloom_untied": ("bloom", {"tie_word_embeddings": False}),
    "bloom_odd": ("bloom", {"n_head": 6, "hidden_size": 48, "vocab_size": 131, "n_layer": 3}),
    "opt": ("opt", {}),
    "opt_gelu": ("opt", {"activation_function": "gelu"}),
}

OLDER = {
    "llama_older": ("llama", {"rope_parameters": None, "rope_theta": 1e4, "head_dim": None}),
    "llama_linear_older": ("llama_linear", {
        "rope_parameters": None, "rope_theta": 1e4,
        "rope_scaling": {"type": "linear", "factor": 2.5}}),
    "llama_llama3_older": ("llama_llama3", {
        "rope_parameters": None, "rope_theta": 5e5,
        "rope_scaling": {k: v for k, v in LLAMA3.items() if k != "rope_theta"}}),
    "qwen2_window_older": ("qwen2_window", {
        "rope_parameters": None, "rope_theta": 1e4, "layer_types": None}),
    "qwen3_older": ("qwen3", {
        "rope_parameters": None, "rope_theta": 1e4, "layer_types": None}),
    "gemma_older": ("gemma", {
        "rope_parameters": None, "rope_theta": 1e4, "hidden_act": "gelu_pytorch_tanh",
        "tie_word_embeddings": None}),
    "gemma2_older": ("gemma2", {
        "rope_parameters": None, "rope_theta": 1e4, "layer_types": None,
        "tie_word_embeddings": None}),
    "gemma3_older": ("gemma3_two_thetas", {
        "rope_parameters": None, "rope_theta": 1e6, "rope_local_base_freq": 50.0,
        "layer_types": None, "sliding_window_pattern": 2}),
    "phi_older": ("phi_partial", {
        "rope_parameters": None, "rope_theta": 1e4, "partial_rotary_factor": 0.4}),
    "phi3_longrope_older": ("phi3_longrope", {
        "rope_parameters": None, "rope_theta": 1e4,
        "rope_scaling": {"type": "longrope", "short_factor": longrope(16)["short_factor"],
                         "long_factor": longrope(16)["long_factor"]}}),
    "bloom_older": ("bloom", {
        "n_layer": None, "num_hidden_layers": 4, "hidden_size": None, "n_embed": 64,
        "seq_length": 64, "n_inner": None, "masked_softmax_fusion": True,
        "attention_softmax_in_fp32": True, "offset_alibi": 100}),
    "gpt_neox_older": ("gpt_neox", {
        "rope_parameters": None, "rotary_pct": 0.25, "rotary_emb_base": 10000}),
    "stablelm_older": ("stablelm_bias", {
        "rope_parameters": None, "rope_theta": 10000, "partial_rotary_factor": 0.25}),
    "cohere2_older": ("cohere2", {
        "rope_parameters": None, "rope_theta": 1e4, "layer_types": None,
        "sliding_window_pattern": 4}),
}


def names():
    return [*CASES, *OLDER]


def depends_on_cut(case):
    """Whether the loss depends on how the batch is cut into micro-batches."""
    return CASES[OLDER.get(case, (case,))[0]][1].get("output_router_logits", False)


def is_routed(case):
    """Whether tokens choose experts."""
    model_type, changes = CASES[OLDER.get(case, (case,))[0]]
    layers = SIZES["num_hidden_layers"]
    return model_type in ROUTED or changes.get("first_k_dense_replace", layers) < layers


def longrope_limit(case):
    """Positions up to which the short factors hold, beyond them the long ones; else None."""
    rope = CASES[OLDER.get(case, (case,))[0]][1].get("rope_parameters", {})
    return rope["original_max_position_embeddings"] if rope.get("rope_type") == "longrope" else None


def config_of(case):
    import transformers
    model_type, changes = CASES[case]
    kind = transformers.CONFIG_MAPPING[model_type]
    known = kind().to_dict()
    return kind(**{k: v for k, v in SIZES.items() if k in known} | changes)


def randomize(model, talks):
    """Matrices of a size that keeps what passes through them; norms and biases beside what they
    begin as, so that none can be left out unseen. A model that talks weighs attention and blocks
    more than the token itself: others say the same token again and again. Its training is chaotic:
    rounding is seen in the third digit of its logits after 20 steps."""
    import torch
    inputs_first = {id(m.weight) for m in model.modules() if type(m).__name__ == "Conv1D"}
    tokens = model.get_input_embeddings().weight
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1 or "norm" in name or name.endswith("_bias"):
                if model.config.model_type == "nemotron" and "norm.weight" in name:
                    p.zero_()           # what it adds to 1; transformers begins with 2 in all
                p.add_(0.2 * torch.randn_like(p))
                continue
            gain = 1.3
            if talks:
                gain = 0.4 if p is tokens else 2.0 if "attn" in name or "attention" in name else 1.3
            # of experts that lie in one tensor, [experts, out, in], the last is the input
            turned = model.config.model_type == "gpt_oss" and p.dim() == 3
            fan_in = p.shape[0 if id(p) in inputs_first else -2 if turned else -1]
            p.copy_(torch.randn_like(p) * gain / fan_in ** 0.5)
        for name, b in model.named_buffers():
            if "correction_bias" in name:
                b.copy_(0.2 * torch.randn_like(b))


def make(case, folder, seed=3, talks=False):
    import torch
    import transformers
    base, changes = OLDER.get(case, (case, {}))
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(
        config_of(base), attn_implementation="eager").float()
    randomize(model, talks)
    model.save_pretrained(folder)
    if changes:
        path = pathlib.Path(folder) / "config.json"
        config = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({k: v for k, v in config.items() if v is not None}, indent=1))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        case, folder, seed, talks = (*sys.argv[1:], *("3", "")[len(sys.argv) - 3:])
        make(case, folder, int(seed), talks == "talks")
    else:
        print(*names(), sep="\n")
