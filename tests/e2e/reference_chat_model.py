"""transformers as the reference of a chat model's folder: what it makes, and what it opens.

    reference_chat_model.py make FOLDER          a tiny random Qwen3 with its tokenizer and chat_template.jinja
    reference_chat_model.py chats FOLDER         on stdin [{"messages", "tools"}, ...]: [{"text", "ids", "prompt"}, ...]
    reference_chat_model.py greedy FOLDER        on stdin [{"text", "new": n}, ...]: [{"text", "gaps"}, ...]
    reference_chat_model.py loss FOLDER LINES    {"loss"}: of the labels of {"input_ids", "labels"} lines

`prompt` is the text of the conversation without its last turn, with the prompt for that one; `gaps`
are how far each chosen token's logit lies above the next one's.
"""
import json
import pathlib
import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import chat_templates

TURNS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<tools>", "</tools>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]


def make(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(TURNS)
    made.add_tokens(MARKS)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=TURNS[2], pad_token=TURNS[0])
    tokenizer.chat_template = chat_templates.QWEN3_TOOLS
    tokenizer.save_pretrained(folder)
    torch.manual_seed(31)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=2048, initializer_range=0.1, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)


def chats(folder, asked):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def text(messages, tools, ask):
        return tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=ask)
    return [{"text": text(q["messages"], q["tools"], False),
             "ids": tokenizer.apply_chat_template(q["messages"], tools=q["tools"], return_dict=True)["input_ids"],
             "prompt": text(q["messages"][:-1], q["tools"], True)} for q in asked]


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@torch.no_grad()
def greedy(folder, asked):
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), load(folder)
    answers = []
    for q in asked:
        ids = tokenizer(q["text"], return_tensors="pt")["input_ids"]
        made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=q["new"],
                              output_logits=True, return_dict_in_generate=True)
        two = [logits[0].topk(2).values.tolist() for logits in made.logits]
        answers.append({"text": tokenizer.decode(made.sequences[0][ids.shape[1]:], skip_special_tokens=True),
                        "gaps": [first - second for first, second in two]})
    return answers


@torch.no_grad()
def loss(folder, lines):
    model, total, count = load(folder), 0.0, 0
    for line in map(json.loads, pathlib.Path(lines).read_text().splitlines()):
        logits = model(input_ids=torch.tensor([line["input_ids"]])).logits[0, :-1]
        labels = torch.tensor(line["labels"][1:])
        total += torch.nn.functional.cross_entropy(logits, labels, ignore_index=-100, reduction="sum").item()
        count += int((labels != -100).sum())
    return {"loss": total / count}


def main():
    command, folder, *more = sys.argv[1:]
    torch.set_num_threads(2)
    if command == "make":
        return make(folder)
    answer = loss(folder, *more) if command == "loss" else {"chats": chats, "greedy": greedy}[command](folder, json.load(sys.stdin))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
