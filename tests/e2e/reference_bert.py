"""Reference figures from transformers and torch.optim, never from trainx: BERT folders, labelled
lines, and the losses of training.
Reads a JSON list of commands from stdin, each a list, and prints the list of their answers.

    make FOLDER HEAD                    writes a small random BERT with that head: classification,
    masked_lm or none
    data FILE HELD_OUT HEAD SEED        writes 160 and 40 samples of 5 to 32 tokens as JSON lines,
    some of them sentence pairs
    train FOLDER HEAD FILE OUT          trains it on the file in order, saves into OUT; its losses
    loss FOLDER HEAD FILE               its loss on all of the file, and what from_pretrained had to
    say about names
    compare FOLDER OTHERS HEAD FILE     how far the logits of each of OTHERS on the file are from
    FOLDER's: a list
    hidden FOLDER FILE BATCHES OUT      writes BATCHES batches of FILE and last_hidden_state of a
    BertModel on them as safetensors
"""
import itertools
import json
import random
import sys

import safetensors.torch
import torch
import transformers

BATCH, STEPS, HELD_OUT_STEPS, LONGEST, VOCABULARY, LABELS = 8, 20, 5, 32, 131, 3
MODELS = {
    "classification": transformers.BertForSequenceClassification,
    "masked_lm": transformers.BertForMaskedLM, "none": transformers.BertModel,
    "roberta/classification": transformers.RobertaForSequenceClassification,
    "roberta/masked_lm": transformers.RobertaForMaskedLM,
    "xlm-roberta/classification": transformers.XLMRobertaForSequenceClassification,
    "xlm-roberta/masked_lm": transformers.XLMRobertaForMaskedLM
}
CONFIGS = {"roberta": transformers.RobertaConfig, "xlm-roberta": transformers.XLMRobertaConfig}


def family_of(head):
    return head.rpartition("/")[0] or "bert"


def padding_of(head):
    """RoBERTa counts positions by what is not padding, which it calls 1."""
    return 0 if family_of(head) == "bert" else 1


def config(head):
    of = CONFIGS.get(family_of(head), transformers.BertConfig)
    more = {} if of is transformers.BertConfig else {
        "pad_token_id": 1, "type_vocab_size": 2, "layer_norm_eps": 1e-5}
    return of(**more, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
              num_attention_heads=4, intermediate_size=80, max_position_embeddings=48,
              hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=LABELS,
              initializer_range=0.1)


def write_data(path, held_out, head, seed):
    draw = random.Random(seed)
    for name, steps in ((path, STEPS), (held_out, HELD_OUT_STEPS)):
        write_rows(name, head, BATCH * steps, draw)


def write_rows(path, head, count, draw):
    with open(path, "w") as out:
        for _ in range(count):
            n = draw.randint(5, LONGEST)
            first = draw.randint(2, n)
            least = 1 + padding_of(head)
            ids = [min(VOCABULARY - 1, least + int(draw.expovariate(0.05))) for _ in range(n)]
            line = {"input_ids": ids, "token_type_ids": [int(i >= first) for i in range(n)]}
            if head.endswith("classification"):
                line["label"] = (ids[0] + ids[-1]) % LABELS
            else:
                line["labels"] = [
                    ids[i] if draw.random() < 0.2 or i == 1 else -100 for i in range(n)
                ]
                line["input_ids"] = [103 if t != -100 else i for i, t in zip(ids, line["labels"])]
            out.write(json.dumps(line) + "\n")


def batches(path, head, size=BATCH):
    lines = [json.loads(line) for line in open(path)]
    for first in range(0, len(lines), size):
        rows = lines[first:first + size]
        longest = max(len(r["input_ids"]) for r in rows)

        def padded(key, value):
            return torch.tensor([r[key] + [value] * (longest - len(r[key])) for r in rows])

        batch = {
            "input_ids": padded("input_ids", padding_of(head)),
            "token_type_ids": padded("token_type_ids", 0), "attention_mask": torch.tensor(
                [[1] * len(r["input_ids"]) + [0] * (longest - len(r["input_ids"])) for r in rows])
        }
        if "label" in rows[0]:
            batch["labels"] = torch.tensor([r["label"] for r in rows])
        elif "labels" in rows[0]:
            batch["labels"] = padded("labels", -100)
        yield batch


def train(folder, head, path, out):
    model = MODELS[head].from_pretrained(folder).train()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-3,
        betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for batch in batches(path, head):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(out)
    return losses


def loss(folder, head, path):
    model, names = MODELS[head].from_pretrained(folder, output_loading_info=True)
    total = count = 0
    with torch.no_grad():
        for batch in batches(path, head):
            n = int((batch["labels"] != -100).sum())
            total += model.eval()(**batch).loss.item() * n
            count += n
    return {
        "loss": total / count, "missing": sorted(names["missing_keys"]),
        "unexpected": sorted(names["unexpected_keys"])
    }


def compare(folder, others, head, path):
    given = list(batches(path, head))

    def logits(of):
        model = MODELS[head].from_pretrained(of).eval()
        return [model(**batch).logits for batch in given]

    def differences(got):
        for batch, w, g in zip(given, want, got):
            every = torch.ones(len(w), dtype=torch.bool)
            seen = batch["attention_mask"].bool() if w.dim() == 3 else every
            yield (w - g)[seen].abs().max().item(), w[seen].abs().max().item()

    with torch.no_grad():
        want = logits(folder)
        found = [list(zip(*differences(logits(other)))) for other in others]
    return [{"difference": max(difference), "largest": max(largest)}
            for difference, largest in found]


def hidden(folder, path, count, out, head="none"):
    model = transformers.BertModel.from_pretrained(folder).eval()
    tensors = {}
    with torch.no_grad():
        for i, batch in enumerate(itertools.islice(batches(path, head), count)):
            batch.pop("labels", None)
            mask = batch["attention_mask"]
            tensors[f"tokens.{i}"] = batch["input_ids"].int()
            tensors[f"token_types.{i}"] = batch["token_type_ids"].int()
            tensors[f"lengths.{i}"] = mask.sum(1).int()
            tensors[f"hidden.{i}"] = model(**batch).last_hidden_state
    safetensors.torch.save_file({k: v.contiguous() for k, v in tensors.items()}, out)


def make(folder, head):
    torch.manual_seed(11)
    MODELS[head](config(head)).save_pretrained(folder)


def main():
    torch.set_num_threads(1)            # what others do on the cores beside it is not slowed
    commands = {"make": make, "data": write_data, "train": train, "loss": loss, "compare": compare,
                "hidden": hidden}
    asked = json.loads(sys.stdin.readline())
    print(json.dumps([commands[name](*args) for name, *args in asked]))


main()
