#!/bin/bash
# transformers 5.23.0 (tokenizers 0.23.3, sentencepiece 0.2.3) cannot read a Unigram SentencePiece
# file as TokenizersBackend if tokenizer_config.json has added_tokens_decoder.
#
# The folder is valid: its added_tokens_decoder repeats pieces of the file with their own ids.
# Without that key, or with a BPE file, the same folder is read. The cause, in
# TokenizersBackend._convert_from_sentencepiece: it renames placeholders with vocab.items(), but the
# vocabulary of a Unigram file is a list of pieces and scores. The error is caught and logged, the
# file is then read as if it were tiktoken's, and the last error asks for tiktoken.
#
# Output seen:
#   unigram, no added_tokens_decoder: read by TokenizersBackend
#   unigram, added_tokens_decoder: ValueError after 'list' object has no attribute 'items'
#   bpe, no added_tokens_decoder: read by TokenizersBackend
#   bpe, added_tokens_decoder: read by TokenizersBackend
#
# Needs python3 with venv, and PyPI. Ends with 1 if the output is another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    transformers==5.23.0 tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2 \
    huggingface_hub==2.4.0
cat > "$folder/read.py" <<'P'
import io
import json
import logging
import pathlib
import sys

import sentencepiece
from transformers import AutoTokenizer

lines = ["the ferry leaves at noon", "the harbour is calm", "apples and pears leave the island"]
said = []


class Keep(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


logging.getLogger("transformers").addHandler(Keep())
for kind in ("unigram", "bpe"):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 20), model_writer=model, model_type=kind, vocab_size=60,
        hard_vocab_limit=False, minloglevel=2)
    for key in (None, "added_tokens_decoder"):
        folder = pathlib.Path(sys.argv[1]) / f"{kind}-{key}"
        folder.mkdir()
        names = ["<unk>", "<s>", "</s>"]
        tokens = {i: {"content": name, "special": True} for i, name in enumerate(names)}
        (folder / "tokenizer.model").write_bytes(model.getvalue())
        (folder / "config.json").write_text(json.dumps({"model_type": "nemotron"}))
        (folder / "tokenizer_config.json").write_text(json.dumps({key: tokens} if key else {}))
        said.clear()
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
            outcome = f"read by {type(tokenizer).__name__}"
        except Exception as error:
            cause = "'list' object has no attribute 'items'"
            known = any(cause in line for line in said)
            outcome = f"{type(error).__name__} after {cause}" if known else repr(error)
        print(f"{kind}, {key or 'no added_tokens_decoder'}: {outcome}")
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
