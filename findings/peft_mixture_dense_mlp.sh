#!/bin/bash
# peft 0.21.2 (transformers 5.23.0, torch 2.11.0) leaves dense MLPs and shared experts of a mixture
# out of a LoRA adapter without a warning, even with target_modules="all-linear".
#
# Since transformers 5 the routed experts' gate_proj, up_proj and down_proj are fused parameters, so
# peft replaces these three names in target_modules by names of parameters. MLPs of dense layers and
# shared experts still are linear layers with the replaced names, so nothing targets them. A file
# with lora_A and lora_B for every projection, by the names that transformers 4 gave them, is read
# without theirs. For qwen2_moe peft keeps the names, and the routed experts are left out instead.
#
# Output seen: modules whose gate_proj, up_proj and down_proj are as before after merging
#   qwen3, all-linear: none
#   qwen3, file: none
#   qwen3_moe, all-linear: layers.0.mlp, no warning names it
#   qwen3_moe, file: layers.0.mlp, no warning names it
#   glm4_moe, all-linear: layers.0.mlp layers.1.mlp.shared_experts, no warning names it
#   glm4_moe, file: layers.0.mlp layers.1.mlp.shared_experts, no warning names it
#   qwen2_moe, all-linear: layers.0.mlp.experts layers.1.mlp.experts, no warning names it
#   qwen2_moe, file: layers.0.mlp.experts layers.1.mlp.experts, no warning names it
#
# Needs python3 with venv, and PyPI, whose torch brings CUDA libraries of several GB; runs on a CPU.
# Ends with 1 if the output is another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    torch==2.11.0 transformers==5.23.0 tokenizers==0.23.3 peft==0.21.2 accelerate==1.15.0 \
    safetensors==0.8.0 huggingface_hub==2.4.0
cat > "$folder/read.py" <<'P'
import logging
import re
import sys
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

rank, hidden, inner, experts = 4, 16, 8, 3
sizes = dict(vocab_size=32, hidden_size=hidden, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=2, head_dim=8, intermediate_size=inner, pad_token_id=0)
routed = dict(num_experts_per_tok=2, moe_intermediate_size=inner)
kinds = {  # In qwen3_moe and glm4_moe the first of two layers is dense.
    "qwen3": {},
    "qwen3_moe": dict(num_experts=experts, mlp_only_layers=[0], **routed),
    "glm4_moe": dict(n_routed_experts=experts, n_shared_experts=1, first_k_dense_replace=1,
                     n_group=1, topk_group=1, **routed),
    "qwen2_moe": dict(num_experts=experts, shared_expert_intermediate_size=inner, **routed),
}
shapes = {"gate_proj": (inner, hidden), "up_proj": (inner, hidden), "down_proj": (hidden, inner)}
projection = re.compile(r"model\.(.*mlp.*)\.(gate|up|down|gate_up)_proj(\.weight)?")
said = []


class Keep(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


for library in ("transformers", "peft"):
    logging.getLogger(library).addHandler(Keep())
warnings.showwarning = lambda message, *rest, **more: said.append(str(message))
warnings.simplefilter("always")
for kind, more in kinds.items():
    def base():
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **sizes, **more))

    before = {name: weight.detach().clone() for name, weight in base().named_parameters()}
    modules = {match[1] for match in map(projection.fullmatch, before) if match}
    adapter = {}
    for module in sorted(modules):
        fused = module.endswith(".experts")
        for owner in [f"{module}.{i}" for i in range(experts)] if fused else [module]:
            for name, (rows, columns) in shapes.items():
                path = f"base_model.model.model.{owner}.{name}"
                adapter[f"{path}.lora_A.weight"] = torch.randn(rank, columns)
                adapter[f"{path}.lora_B.weight"] = torch.randn(rows, rank)
    folder = f"{sys.argv[1]}/{kind}"
    config = dict(task_type="CAUSAL_LM", r=rank, init_lora_weights=False)
    LoraConfig(target_modules=list(shapes), **config).save_pretrained(folder)
    save_file(adapter, f"{folder}/adapter_model.safetensors")
    for way in ("all-linear", "file"):
        said.clear()
        if way == "file":
            model = PeftModel.from_pretrained(base(), folder)
        else:
            model = get_peft_model(base(), LoraConfig(target_modules=way, **config))
        merged = dict(model.merge_and_unload().named_parameters())
        changed = {module: set() for module in modules}
        for name, weight in merged.items():
            if match := projection.fullmatch(name):
                changed[match[1]].add(not torch.equal(weight, before[name]))
        assert all(len(seen) == 1 for seen in changed.values())
        left = sorted(module for module, seen in changed.items() if False in seen)
        named = any(module in line for module in left for line in said)
        warned = "a warning names it" if named else "no warning names it"
        print(f"{kind}, {way}: " + (f"{' '.join(left)}, {warned}" if left else "none"))
P
wanted=$(sed -n '/^# Output seen:/,/^#$/s/^#   //p' "$0")
if ! got=$("$folder/venv/bin/python" "$folder/read.py" "$folder" 2>"$folder/stderr"); then
  cat "$folder/stderr" >&2
  exit 1
fi
echo "$got"
if [ "$got" != "$wanted" ]; then
  diff <(echo "$wanted") <(echo "$got") >&2 || true
  echo "the behaviour is another now" >&2
  exit 1
fi
