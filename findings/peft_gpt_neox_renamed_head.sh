#!/bin/bash
# peft 0.21.2 reads a GPT-NeoX adapter that was saved beside transformers 5.13.0 without its head if
# transformers is 5.14 or later (5.23.0, torch 2.11.0). No warning says so.
#
# transformers 5.14 renamed the module of the head from embed_out to lm_head. It maps the names in
# the model's own folder, and peft does not map those in an adapter's. peft also ignores a name in
# target_modules or modules_to_save that matches nothing beside others that match, so a new adapter
# with the old name does not train the head.
#
# Output seen: the head's weight after merging, and what is trained of a new adapter
#   5.13.0, target_modules: as adapted
#   5.13.0, modules_to_save: as adapted
#   5.23.0, target_modules: the base model's, no warning names it
#   5.23.0, modules_to_save: the base model's, no warning names it
#   5.23.0, new, target_modules: no head, no warning names it
#   5.23.0, new, modules_to_save: no head, no warning names it
#
# Needs python3 with venv, and PyPI, whose torch brings CUDA libraries of several GB; runs on a CPU.
# Ends with 1 if the output is another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
install() {
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.11.0 "$@" \
      peft==0.21.2 accelerate==1.15.0 safetensors==0.8.0
}
cat > "$folder/read.py" <<'P'
import logging
import os
import sys
import warnings

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

folder, version = sys.argv[1], transformers.__version__
base_folder, head_file = f"{folder}/base", f"{folder}/heads.pt"
ways = {"target_modules": dict(target_modules=["query_key_value", "embed_out"]),
        "modules_to_save": dict(target_modules=["query_key_value"], modules_to_save=["embed_out"])}
said = []


class Keep(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


for library in ("transformers", "peft"):
    logging.getLogger(library).addHandler(Keep())
warnings.showwarning = lambda message, *rest, **more: said.append(str(message))
warnings.simplefilter("always")


def base():
    return GPTNeoXForCausalLM.from_pretrained(base_folder)


def head(model):
    return model.get_output_embeddings().weight.detach().clone()


def adapted(**way):
    return get_peft_model(base(), LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False,
                                             **way))


def warned():
    named = any("embed_out" in line or "lm_head" in line for line in said)
    return "a warning names it" if named else "no warning names it"


first = not os.path.exists(base_folder)
if first:
    torch.manual_seed(0)
    GPTNeoXForCausalLM(GPTNeoXConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, tie_word_embeddings=False)).save_pretrained(base_folder)
    heads = {}
    for name, way in ways.items():
        model = adapted(**way)
        for parameter_name, parameter in model.named_parameters():
            if "modules_to_save" in parameter_name:
                torch.nn.init.normal_(parameter)
        model.save_pretrained(f"{folder}/{name}")
        heads[name] = head(model.merge_and_unload())
    torch.save({"base": head(base()), **heads}, head_file)
heads = torch.load(head_file)
torch.testing.assert_close(head(base()), heads["base"])
for name in ways:
    said.clear()
    got = head(PeftModel.from_pretrained(base(), f"{folder}/{name}").merge_and_unload())
    if torch.allclose(got, heads[name], atol=1e-6):
        print(f"{version}, {name}: as adapted")
    else:
        torch.testing.assert_close(got, heads["base"])
        print(f"{version}, {name}: the base model's, {warned()}")
for name, way in () if first else ways.items():
    said.clear()
    trained = [n for n, p in adapted(**way).named_parameters()
               if p.requires_grad and ("embed_out" in n or "lm_head" in n)]
    print(f"{version}, new, {name}: " + (" ".join(trained) or f"no head, {warned()}"))
P
wanted=$(sed -n '/^# Output seen:/,/^#$/s/^#   //p' "$0")
got=
for versions in "5.13.0 0.22.2 1.33.0" "5.23.0 0.23.3 2.4.0"; do
  read -r transformers tokenizers hub <<< "$versions"
  install "transformers==$transformers" "tokenizers==$tokenizers" "huggingface_hub==$hub"
  if ! got+=$("$folder/venv/bin/python" "$folder/read.py" "$folder" 2>"$folder/stderr")$'\n'; then
    cat "$folder/stderr" >&2
    exit 1
  fi
done
got=${got%$'\n'}
echo "$got"
if [ "$got" != "$wanted" ]; then
  diff <(echo "$wanted") <(echo "$got") >&2 || true
  echo "the behaviour is another now" >&2
  exit 1
fi
