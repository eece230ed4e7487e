"""What PEFT adapts in tiny models of transformers, and the files that it writes.

    reference_adapters.py draw SEED COUNT   prints a list of cases as JSON: the model's modules, the
                                            settings that were asked for, and what PEFT made of them
    reference_adapters.py read              on stdin {"case", "config"}: the ranks and scales that
                                            PEFT has in the case's model for that adapter_config.json
"""
import copy
import json
import pathlib
import random
import sys
import tempfile
import warnings

import torch
import transformers

warnings.filterwarnings("ignore")
transformers.utils.logging.set_verbosity_error()
SMALL = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
DECODER = SMALL | {"num_key_value_heads": 1, "max_position_embeddings": 32}
EXPERTS = {"num_experts_per_tok": 1}
FAMILIES = {  # class, settings; the number of layers is drawn
    "llama": ("LlamaForCausalLM", DECODER),
    "llama_tied": ("LlamaForCausalLM", DECODER | {"tie_word_embeddings": True}),
    "mistral": ("MistralForCausalLM", DECODER),
    "qwen2": ("Qwen2ForCausalLM", DECODER),
    "qwen3": ("Qwen3ForCausalLM", DECODER | {"head_dim": 8}),
    "gemma": ("GemmaForCausalLM", DECODER | {"head_dim": 8}),
    "gemma2": ("Gemma2ForCausalLM", DECODER | {"head_dim": 8}),
    "gemma3": ("Gemma3ForCausalLM", DECODER | {"head_dim": 8}),
    "phi": ("PhiForCausalLM", DECODER),
    "phi3": ("Phi3ForCausalLM", DECODER | {"pad_token_id": 0}),
    "stablelm": ("StableLmForCausalLM", DECODER),
    "olmo2": ("Olmo2ForCausalLM", DECODER),
    "starcoder2": ("Starcoder2ForCausalLM", DECODER),
    "gpt2": ("GPT2LMHeadModel", {"vocab_size": 32, "n_embd": 16, "n_head": 2, "n_positions": 32}),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL),
    "bloom": ("BloomForCausalLM", {"vocab_size": 32, "hidden_size": 16, "n_head": 2}),
    "opt": ("OPTForCausalLM", {"vocab_size": 32, "hidden_size": 16, "ffn_dim": 24,
                               "num_attention_heads": 2, "word_embed_proj_dim": 16}),
    "mixtral": ("MixtralForCausalLM", DECODER | EXPERTS | {"num_local_experts": 2}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", DECODER | EXPERTS | {
        "num_experts": 2, "moe_intermediate_size": 12, "shared_expert_intermediate_size": 12}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", DECODER | EXPERTS | {
        "num_experts": 3, "moe_intermediate_size": 12, "head_dim": 8}),
    "olmoe": ("OlmoeForCausalLM", DECODER | EXPERTS | {"num_experts": 2}),
    "deepseek_v3": ("DeepseekV3ForCausalLM", DECODER | EXPERTS | {
        "n_routed_experts": 2, "moe_intermediate_size": 12, "q_lora_rank": 8, "kv_lora_rank": 8,
        "qk_rope_head_dim": 4, "qk_nope_head_dim": 4, "v_head_dim": 8, "n_group": 1,
        "topk_group": 1, "first_k_dense_replace": 1, "num_key_value_heads": 2}),
    "gpt_oss": ("GptOssForCausalLM", DECODER | EXPERTS | {"num_local_experts": 2, "head_dim": 8}),
    "granitemoe": ("GraniteMoeForCausalLM", DECODER | EXPERTS | {"num_local_experts": 2}),
    "t5": ("T5ForConditionalGeneration", {"vocab_size": 32, "d_model": 16, "d_ff": 24, "d_kv": 8,
                                          "num_heads": 2}),
    "bart": ("BartForConditionalGeneration", {
        "vocab_size": 32, "d_model": 16, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2}),
    "bert": ("BertForMaskedLM", SMALL),
    "bert_classes": ("BertForSequenceClassification", SMALL),
    "bert_tokens": ("BertForTokenClassification", SMALL),
    "roberta": ("RobertaForMaskedLM", SMALL),
    "roberta_classes": ("RobertaForSequenceClassification", SMALL),
    "electra": ("ElectraForMaskedLM", SMALL | {"embedding_size": 16}),
    "llama_classes": ("LlamaForSequenceClassification", DECODER | {"pad_token_id": 0}),
}
LAYERS = {"gpt2": "n_layer", "bloom": "n_layer", "bart": "encoder_layers", "t5": "num_layers"}
TASKS = {"ForCausalLM": "CAUSAL_LM", "LMHeadModel": "CAUSAL_LM",
         "ForConditionalGeneration": "SEQ_2_SEQ_LM", "ForSequenceClassification": "SEQ_CLS",
         "ForTokenClassification": "TOKEN_CLS"}


def make(family, layers):
    name, settings = FAMILIES[family]
    model_class = getattr(transformers, name)
    settings = settings | {LAYERS.get(family, "num_hidden_layers"): layers}
    torch.manual_seed(0)
    return model_class(model_class.config_class(**settings))


def task_of(family):
    name = FAMILIES[family][0]
    return next((task for end, task in TASKS.items() if name.endswith(end)), None)


def modules_of(model):
    """As trainx::adapter::Module has them."""
    from peft.utils.other import _get_module_names_tied_with_embedding
    tied = set(_get_module_names_tied_with_embedding(model))
    heads = [m for m in (model.get_output_embeddings(), getattr(model, "classifier", None),
                         getattr(model, "score", None)) if m is not None]
    out = []
    for name, module in model.named_modules():
        if not name:
            continue
        entry = {"name": name, "input_embedding": module is model.get_input_embeddings(),
                 "output_head": any(module is head for head in heads), "tied": name in tied}
        if isinstance(module, torch.nn.Linear):
            entry |= {"kind": "linear", "in": module.in_features, "out": module.out_features}
        elif isinstance(module, transformers.pytorch_utils.Conv1D):
            entry |= {"kind": "linear", "conv1d": True, "in": module.weight.shape[0],
                      "out": module.weight.shape[1]}
        elif isinstance(module, torch.nn.Embedding):
            entry |= {"kind": "embedding", "in": module.num_embeddings,
                      "out": module.embedding_dim}
        else:
            direct = dict(module.named_parameters(recurse=False))
            for parameter, value in direct.items():
                if value.dim() == 3:
                    sizes = value.shape[1:]
                    if not getattr(module, "is_transposed", False):
                        sizes = sizes[::-1]
                    out.append({"name": f"{name}.{parameter}", "kind": "expert_tensor",
                                "experts": value.shape[0], "in": sizes[0], "out": sizes[1],
                                "output_head": False})
            if any(value.dim() == 3 for value in direct.values()):
                continue
            if "weight" in direct and direct["weight"].dim() == 2:
                entry |= {"kind": "router", "in": direct["weight"].shape[1],
                          "out": direct["weight"].shape[0]}
            elif direct or not list(module.children()):
                entry["kind"] = "other"
            else:
                continue
        out.append(entry)
    return out


def draw_names(source, modules):
    """Ends of names, most of them of modules that can have an adapter."""
    names = [m["name"] for m in modules
             if m["kind"] in ("linear", "embedding") and not m["output_head"]]
    drawn = []
    for _ in range(source.randint(1, 4)):
        parts = source.choice(names).split(".")
        if source.random() < 0.8:
            parts = parts[-source.choice([1, 1, 1, 1, 2, 3]):]
        drawn.append(".".join(parts))
    return drawn


def draw_expression(source, modules):
    leaves = [name.split(".")[-1] for name in draw_names(source, modules)]
    either = "|".join(leaves)
    return source.choice([
        rf".*\.({either})", rf"(.*\.)?(?:{either})$", rf".*\.\d\..*{leaves[0]}",
        rf".*\.[01]\..*\.(?P<which>{either})", rf"(?i).*\.{leaves[0].upper()}",
        rf"^(?!.*\.0\.).*\.({either})$", rf".*\.\d{{1,2}}\.[\w.]+?\.({either})",
        rf".*[a-z_]\.{leaves[0]}\Z", rf"(?:.+\.){{1,}}(?:{either})", rf"{leaves[0]}",
        rf".*(?<=\.)({either})", rf"model\.layers\.[^.]+\.\w+\.(?:{either})",
    ])


def draw_patterns(source, modules, values):
    out = {}
    for name in draw_names(source, modules):
        key = source.choice([name, name, rf".*\.1\..*{name.split('.')[-1]}",
                             f"^{name}", name.replace(".", r"\."), rf"[01]\..*\.{name}"])
        out[key] = source.choice(values)
    return out


def draw_settings(source, modules):
    """Arguments of LoraConfig."""
    asked = {"r": source.choice([1, 2, 4]), "lora_alpha": source.choice([1, 8, 16, 3.5]),
             "lora_dropout": source.choice([0.0, 0.0, 0.05]),
             "use_rslora": source.random() < 0.2}
    linear = [m["name"] for m in modules if m["kind"] == "linear" and not m["output_head"]]
    kind = source.random()
    if kind < 0.12:
        pass
    elif kind < 0.35:
        asked["target_modules"] = source.choice(["all-linear", "all-linear", "All-Linear"])
    elif kind < 0.7:
        asked["target_modules"] = draw_names(source, modules)
    elif kind < 0.78:
        asked["target_modules"] = source.sample(linear, source.randint(len(linear) // 2,
                                                                       len(linear)))
    else:
        asked["target_modules"] = draw_expression(source, modules)
    experts = [m["name"].rsplit(".", 2) for m in modules if m["kind"] == "expert_tensor"]
    routers = [m["name"].rsplit(".", 1)[-1] + ".weight" for m in modules if m["kind"] == "router"]
    if (experts or routers) and source.random() < 0.4:
        names = [".".join(parts[-source.choice([1, 2]):]) for parts in experts] + routers
        asked["target_parameters"] = sorted({source.choice(names)
                                             for _ in range(source.randint(1, 3))})
        if source.random() < 0.5:
            asked["target_modules"] = []
    if experts and source.random() < 0.3 and isinstance(asked.get("target_modules"), list):
        asked["target_modules"] = asked["target_modules"] + source.choice(
            [["gate_proj", "up_proj"], ["w1", "w3", "w2"], ["gate"], ["down_proj"], ["w1"],
             ["experts.gate_proj", "experts.up_proj"]])
    if source.random() < 0.2:
        asked["exclude_modules"] = source.choice([draw_names, draw_expression])(source, modules)
    if isinstance(asked.get("target_modules"), list) and source.random() < 0.25:
        asked["layers_to_transform"] = source.choice([0, 1, [1], [0, 2], []])
        if source.random() < 0.5:
            asked["layers_pattern"] = source.choice(
                ["layers", "h", ["layer", "layers"], "block", [], "", ["lay.*"]])
    if source.random() < 0.3:
        asked["rank_pattern"] = draw_patterns(source, modules, [1, 2, 3, 5])
    if source.random() < 0.3:
        asked["alpha_pattern"] = draw_patterns(source, modules, [1, 2, 7, 0.5])
    if source.random() < 0.25:
        whole = [m["name"] for m in modules if m["kind"] in ("embedding", "other") or
                 m["output_head"]]
        whole = [name for name in whole if name.split(".")[-1] not in ("act_fn", "dropout")]
        asked["modules_to_save"] = sorted({source.choice(whole).split(".")[-1]
                                           for _ in range(source.randint(1, 2))})
        asked["ensure_weight_tying"] = source.random() < 0.3
    elif source.random() < 0.3:
        table = next(m["name"] for m in modules if m["input_embedding"])
        tokens = [source.sample(range(16), source.randint(1, 3)) for _ in range(2)]
        head = [m["name"] for m in modules if m["output_head"] and
                m["name"].split(".")[-1] in ("lm_head", "embed_out")]
        by_module = {table.split(".")[-1]: tokens[0]}
        if head and source.random() < 0.5:
            by_module[head[0]] = source.choice(tokens)
        if head and source.random() < 0.2:
            del by_module[table.split(".")[-1]]
            by_module[head[0]] = tokens[1]
        asked["trainable_token_indices"] = source.choice([tokens[0], by_module])
    if source.random() < 0.15:
        asked["fan_in_fan_out"] = True
    asked["init_lora_weights"] = source.choice([True, True, False, "gaussian"])
    return asked


def asked_text(model, settings):
    """adapter_config.json of settings that no model has seen yet. Where there is no task, PEFT adds
    the model's class when it saves."""
    import peft
    config = peft.LoraConfig(**settings).to_dict()
    if "task_type" not in settings:
        config["auto_mapping"] = {"base_model_class": type(model).__name__,
                                  "parent_library": type(model).__module__}
    return json.dumps({key: list(value) if isinstance(value, set) else value
                       for key, value in config.items()}, indent=2, sort_keys=False)


def adapted_of(model):
    """[name, rank, scale, dropout] of each adapter, sorted."""
    import peft
    out = []
    for name, module in model.named_modules():
        if not isinstance(module, peft.tuners.lora.LoraLayer):
            continue
        name = name.removeprefix("base_model.model.")
        if isinstance(module, peft.tuners.lora.layer.ParamWrapper):
            name = name.replace(".base_layer", "")
            if module.num_experts > 1 or module.parameter_name != "weight":
                name = f"{name}.{module.parameter_name}"
        dropout = module.lora_dropout["default"]
        out.append([name, module.r["default"], module.scaling["default"],
                    getattr(dropout, "p", 0.0)])
    return sorted(out)


def adapt(model, settings):
    import peft
    adapted = peft.get_peft_model(model, peft.LoraConfig(**settings))
    with tempfile.TemporaryDirectory() as folder:
        adapted.save_pretrained(folder)
        text = pathlib.Path(folder, "adapter_config.json").read_text()
        from safetensors import safe_open
        with safe_open(f"{folder}/adapter_model.safetensors", "pt") as file:
            tensors = [[name, file.get_slice(name).get_shape()] for name in file.keys()]
    return {"adapted": adapted_of(adapted), "config": text, "tensors": tensors}


def case_of(family, layers, settings):
    model = make(family, layers)
    case = {"family": family, "layers": layers, "settings": settings,
            "model_type": model.config.model_type, "modules": modules_of(model),
            "parameters": [name for name, _ in model.named_parameters(remove_duplicate=False)],
            "named": [name for name, _ in model.named_modules() if name]}
    try:
        case["asked"] = asked_text(model, copy.deepcopy(settings))
        case["peft"] = adapt(model, copy.deepcopy(settings))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        case["error"] = f"{type(error).__name__}: {error}"
    return case


def draw(seed, count):
    cases = []
    families = list(FAMILIES)
    for number in range(count):
        source = random.Random(f"{seed} {number}")
        family = families[(seed + number) % len(families)]
        layers = source.choice([1, 2, 3, 3])
        settings = draw_settings(source, modules_of(make(family, layers)))
        task = task_of(family)
        if task:
            settings["task_type"] = task
        cases.append(case_of(family, layers, settings))
    return cases


def read(case, config):
    import peft
    model = make(case["family"], case["layers"])
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "adapter_config.json").write_text(config)
        return adapted_of(peft.get_peft_model(model, peft.LoraConfig.from_pretrained(folder)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "draw":
        print(json.dumps(draw(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        print(json.dumps([read(**question) for question in json.loads(sys.stdin.readline())]))
