#!/bin/bash
# peft 0.21.2 (transformers 5.23.0, torch 2.11.0) scales an rsLoRA adapter of a mixture's experts by
# sqrt(2) too much: gate_proj and up_proj of every expert get 1.4142 times their trained update.
#
# The adapter is valid: it has lora_A and lora_B for each projection of each expert, by the names
# that transformers 4 gave them. transformers 5 fuses gate_proj and up_proj, so peft joins their
# updates to one of rank 2r and doubles alpha. That keeps alpha / r, but use_rslora scales by
# alpha / sqrt(r). No warning says so. Modules that are not fused get the trained update, and so do
# all modules without use_rslora.
#
# Output seen: what merging adds to each weight, divided by alpha / r (or alpha / sqrt(r)) * B A
#   use_rslora=False: o_proj 1.0000, gate_proj 1.0000, up_proj 1.0000, down_proj 1.0000
#   use_rslora=True: o_proj 1.0000, gate_proj 1.4142, up_proj 1.4142, down_proj 1.0000
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
import math
import sys

import torch
from peft import LoraConfig, PeftModel
from safetensors.torch import save_file
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

rank, alpha, hidden, inner, experts = 4, 8, 16, 8, 3
shapes = {"gate_proj": (inner, hidden), "up_proj": (inner, hidden), "down_proj": (hidden, inner)}


def base():
    torch.manual_seed(0)
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(
        vocab_size=32, hidden_size=hidden, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, head_dim=8, num_experts=experts, num_experts_per_tok=2,
        moe_intermediate_size=inner))


def weights(model):
    """Weights of the adapted projections, by name; the fused experts are split again."""
    layer = model.model.layers[0]
    split = {"self_attn.o_proj": layer.self_attn.o_proj.weight}
    for expert in range(experts):
        fused = layer.mlp.experts.gate_up_proj[expert]
        split[f"mlp.experts.{expert}.gate_proj"] = fused[:inner]
        split[f"mlp.experts.{expert}.up_proj"] = fused[inner:]
        split[f"mlp.experts.{expert}.down_proj"] = layer.mlp.experts.down_proj[expert]
    return {name: weight.detach().clone() for name, weight in split.items()}


before = weights(base())
adapter, updates = {}, {}
for name, weight in before.items():
    rows, columns = shapes.get(name.split(".")[-1], weight.shape)
    a, b = torch.randn(rank, columns), torch.randn(rows, rank)
    adapter[f"base_model.model.model.layers.0.{name}.lora_A.weight"] = a
    adapter[f"base_model.model.model.layers.0.{name}.lora_B.weight"] = b
    updates[name] = b @ a
for use_rslora in (False, True):
    folder = f"{sys.argv[1]}/{use_rslora}"
    LoraConfig(task_type="CAUSAL_LM", r=rank, lora_alpha=alpha, use_rslora=use_rslora,
               target_modules=["o_proj", *shapes]).save_pretrained(folder)
    save_file(adapter, f"{folder}/adapter_model.safetensors")
    merged = weights(PeftModel.from_pretrained(base(), folder).merge_and_unload())
    scale = alpha / (math.sqrt(rank) if use_rslora else rank)
    ratios = {}
    for name, update in updates.items():
        added = merged[name] - before[name]
        ratio = (added * update).sum() / (update * update).sum()
        torch.testing.assert_close(added, ratio * update, atol=1e-4, rtol=1e-4)
        ratios.setdefault(name.split(".")[-1], set()).add(f"{ratio / scale:.4f}")
    print(f"use_rslora={use_rslora}: "
          + ", ".join(f"{name} {' '.join(sorted(seen))}" for name, seen in ratios.items()))
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
