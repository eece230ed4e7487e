#!/bin/bash
# peft 0.21.2 (transformers 5.23.0, torch 2.11.0) adds a LoRA update twice when it merges tied
# embeddings whose adapter was made with ensure_weight_tying=True.
#
# With this option the embedding and the head share one update, as they share one weight.
# merge_and_unload merges each of the two layers into that weight, so the merged model is not the
# one that was trained. safe_merge=True does the same. Without the option peft warns that merging
# can lead to complications because ensure_weight_tying is not set.
#
# Output seen: the update in the merged weight, and whether the merged model's logits are the
# adapter's
#   target_modules=embed_tokens, safe_merge=False: 2.0000 times the update, other logits
#   target_modules=embed_tokens, safe_merge=True: 2.0000 times the update, other logits
#   target_modules=embed_tokens+lm_head, safe_merge=False: 2.0000 times the update, other logits
#   target_modules=embed_tokens+lm_head, safe_merge=True: 2.0000 times the update, other logits
#   modules_to_save=embed_tokens, safe_merge=False: the same logits
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
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

tokens = torch.arange(3, 13)[None]
both = ["embed_tokens", "lm_head"]
for key, names, safe_merge in (
        ("target_modules", both[:1], False), ("target_modules", both[:1], True),
        ("target_modules", both, False), ("target_modules", both, True),
        ("modules_to_save", both[:1], False)):
    torch.manual_seed(0)
    base = LlamaForCausalLM(LlamaConfig(
        vocab_size=32, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, tie_word_embeddings=True))
    before = base.get_input_embeddings().weight.detach().clone()
    model = get_peft_model(base, LoraConfig(
        r=4, lora_alpha=4, init_lora_weights=False, ensure_weight_tying=True,
        **{key: list(names)})).eval()
    with torch.no_grad():
        adapter = dict(model.named_parameters())
        if key == "target_modules":
            embedding = "base_model.model.model.embed_tokens.lora_embedding"
            update = (adapter[f"{embedding}_B.default"] @ adapter[f"{embedding}_A.default"]).T
            head = "base_model.model.lm_head.lora"
            of_head = adapter[f"{head}_B.default.weight"] @ adapter[f"{head}_A.default.weight"]
            torch.testing.assert_close(of_head, update)
        logits = model(input_ids=tokens).logits
        merged = model.merge_and_unload(safe_merge=safe_merge).eval()
        assert merged.get_output_embeddings().weight is merged.get_input_embeddings().weight
        added = merged.get_input_embeddings().weight - before
        same = torch.allclose(merged(input_ids=tokens).logits, logits, atol=1e-4)
    said = "the same logits" if same else "other logits"
    if key == "target_modules":
        ratio = (added * update).sum() / (update * update).sum()
        torch.testing.assert_close(added, ratio * update, atol=1e-4, rtol=1e-4)
        said = f"{ratio:.4f} times the update, {said}"
    print(f"{key}={'+'.join(names)}, safe_merge={safe_merge}: {said}")
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
