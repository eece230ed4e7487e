"""transformers as the reference of chat templates: token ids, and which of them are learned.

    reference_chat.py make TOKENIZER_JSON FOLDER     FOLDER/tokenizer.json with the special tokens
    of the templates, and tokenizer_config.json
    reference_chat.py conversations FOLDER           [{"template": ..., "conversations": [[...],
    ...]}, ...] in, [[{"input_ids", "labels"}, ...], ...] out
    reference_chat.py completions FOLDER             [[prompt, completion], ...] in, the same out
    reference_chat.py words FOLDER                   [[words, tags], ...] in, the same out
"""
import json
import pathlib
import sys

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

import chat_templates


def make(source, folder):
    t = Tokenizer.from_file(source)
    t.add_special_tokens(["<s>", "</s>", *chat_templates.SPECIAL])
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    t.save(f"{folder}/tokenizer.json")
    pathlib.Path(folder, "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}}))


def opened(folder):
    return PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", bos_token="<s>",
                                   eos_token="</s>")


def masked(t, text, spans, special):
    """Labels of the tokens that have a character in one of the spans."""
    encoded = t(text, add_special_tokens=special, return_offsets_mapping=True)
    labels = [-100] * len(encoded["input_ids"])
    for begin, end in spans:
        for i, (a, b) in enumerate(encoded["offset_mapping"]):
            if a < b and a < end and b > begin:
                labels[i] = encoded["input_ids"][i]
    return {"input_ids": encoded["input_ids"], "labels": labels}


def conversations(folder):
    t = opened(folder)
    print(json.dumps([by_template(t, job) for job in json.load(sys.stdin)]))


def by_template(t, job):
    t.chat_template = job["template"]
    out = []
    for messages in job["conversations"]:
        if "{% generation %}" in job["template"] or "{%- generation -%}" in job["template"]:
            made = t.apply_chat_template(messages, return_dict=True,
                                         return_assistant_tokens_mask=True)
            out.append({
                "input_ids": made["input_ids"], "labels": [
                    i if m else -100
                    for i, m in zip(made["input_ids"], made["assistant_masks"], strict=True)
                ]
            })
            continue
        whole = t.apply_chat_template(messages, tokenize=False)
        spans = []
        for i, message in enumerate(messages):
            if message["role"] == "assistant":
                begin = len(
                    t.apply_chat_template(messages[:i], tokenize=False, add_generation_prompt=True))
                shorter = t.apply_chat_template(messages[:i + 1], tokenize=False)
                end = len(shorter)
                if not whole.startswith(shorter):
                    # A thought that is gone: up to where the next question begins.
                    end = whole.index("<|im_start|>user", begin)
                spans.append((begin, end))
        ids = t.apply_chat_template(messages, return_dict=True)["input_ids"]
        made = masked(t, whole, spans, False)
        assert ids == made["input_ids"]
        out.append(made)
    return out


def completions(folder):
    t = opened(folder)
    out = []
    for prompt, completion in json.load(sys.stdin):
        made = masked(t, prompt + completion, [(len(prompt), len(prompt + completion))], True)
        if made["input_ids"][-1] != t.eos_token_id:
            made = {name: ids + [t.eos_token_id] for name, ids in made.items()}
        out.append(made)
    print(json.dumps(out))


def words(folder):
    t = Tokenizer.from_file(f"{folder}/tokenizer.json")
    out = []
    for these, tags in json.load(sys.stdin):
        made = t.encode(these, is_pretokenized=True)
        before = [None, *made.word_ids]
        labels = [-100 if w is None or w == b else tags[w] for w, b in zip(made.word_ids, before)]
        out.append({"input_ids": made.ids, "labels": labels})
    print(json.dumps(out))


if __name__ == "__main__":
    commands = {"words": words, "make": make, "conversations": conversations,
                "completions": completions}
    commands[sys.argv[1]](*sys.argv[2:])
