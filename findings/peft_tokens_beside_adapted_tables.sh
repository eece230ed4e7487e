#!/bin/bash
# peft 0.21.2 makes an adapter of a T5's encoder.embed_tokens beside trainable_token_indices, whose
# first forward ends with an AttributeError (transformers 5.23.0, torch 2.11.0).
#
# The tables of both stacks share the weight of `shared`, and a list of tokens is of that. peft wraps
# all three for the tokens; the adapter's layer then takes the wrapper for an embedding and asks it
# for its padding_idx. A table that is named itself is refused when the adapter is made. Saving the
# adapter works, so that a folder can hold one that no forward was made with.
#
# Output seen: what is adapted, whether peft makes and saves it, and its forward
#   q: saved, computes
#   encoder.embed_tokens: saved, AttributeError
#   decoder.embed_tokens: saved, AttributeError
#   shared: TypeError
#
# Needs python3 with venv, and PyPI, whose torch brings CUDA libraries of several GB; runs on a CPU.
# Ends with 1 if the output is another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.11.0 \
    transformers==5.23.0 tokenizers==0.23.3 huggingface_hub==2.4.0 peft==0.21.2 \
    accelerate==1.15.0 safetensors==0.8.0
cat > "$folder/adapt.py" <<'P'
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import T5Config, T5ForConditionalGeneration

folder = sys.argv[1]
ids = torch.tensor([[7, 3, 0, 5]])


def made(target):
    base = T5ForConditionalGeneration(T5Config(
        vocab_size=32, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
        decoder_start_token_id=0))
    return get_peft_model(base, LoraConfig(
        task_type="SEQ_2_SEQ_LM", r=2, target_modules=[target], trainable_token_indices=[0, 7]))


for target in ("q", "encoder.embed_tokens", "decoder.embed_tokens", "shared"):
    try:
        model = made(target)
    except TypeError as error:
        print(f"{target}: {type(error).__name__}")
        continue
    model.save_pretrained(f"{folder}/{target}")
    assert os.path.exists(f"{folder}/{target}/adapter_model.safetensors")
    try:
        loss = model(input_ids=ids, labels=ids).loss
        assert torch.isfinite(loss)
        print(f"{target}: saved, computes")
    except AttributeError as error:
        assert "padding_idx" in str(error), error
        print(f"{target}: saved, {type(error).__name__}")
P
wanted=$(sed -n '/^# Output seen:/,/^#$/s/^#   //p' "$0")
if ! got=$("$folder/venv/bin/python" "$folder/adapt.py" "$folder" 2>"$folder/stderr"); then
  cat "$folder/stderr" >&2
  exit 1
fi
echo "$got"
if [ "$got" != "$wanted" ]; then
  diff <(echo "$wanted") <(echo "$got") >&2 || true
  echo "the behaviour is another now" >&2
  exit 1
fi
