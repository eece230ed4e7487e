"""Reference figures from transformers and torch.optim, never from trainx: of encoder-decoders that
AutoModelForSeq2SeqLM loads. Commands as reference_decoder.py has them; DATA is a file of lines
{"input_ids": [...], "labels": [...]}, taken in order, BATCH at a time.

    reference_seq2seq.py make CASE FOLDER SEED [talks]
    reference_seq2seq.py train FOLDER DATA [OUT]
    reference_seq2seq.py generate FOLDER              on stdin [{"ids": [...], "new": n}, ...]
    reference_seq2seq.py beams FOLDER                 on stdin [{"ids": [...], "new": n, ...}, ...]
    reference_seq2seq.py forced FOLDER                on stdin [{"ids": [...], "new": n, ...}, ...]
    reference_seq2seq.py compare FOLDER OTHER DATA
    reference_seq2seq.py first_loss FOLDER DATA PATH...
    reference_seq2seq.py all
"""
import json
import logging
import math
import pathlib
import sys

import torch
import transformers

import reference_gpt2
import tiny_seq2seq
from reference_decoder import EPS, said_by

BATCH = 8


def load(folder, **how):
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, **how)


def batches(data):
    lines = [json.loads(line) for line in pathlib.Path(data).read_text().splitlines()]
    return [lines[at:at + BATCH] for at in range(0, len(lines), BATCH)]


def padded(rows, pad):
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])


def logits_and_labels(model, lines):
    sources = [line["input_ids"] for line in lines]
    labels = padded([line["labels"] for line in lines], -100)
    mask = padded([[1] * len(row) for row in sources], 0)
    out = model(input_ids=padded(sources, model.config.pad_token_id), attention_mask=mask,
                labels=labels, use_cache=False)
    return out.logits, labels


def loss_of(model, lines, reduction="mean"):
    logits, labels = logits_and_labels(model, lines)
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), reduction=reduction)


def train(folder, data, out=None):
    model = load(folder).train()
    optimizer = reference_gpt2.optimizer_of("adamw", model)
    for group in optimizer.param_groups:
        group["eps"] = EPS
    losses = []
    for lines in batches(data):
        optimizer.zero_grad()
        loss = loss_of(model, lines)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    if out:
        model.save_pretrained(out)
    return {"losses": losses}


@torch.no_grad()
def generate(folder, asked):
    model = load(folder).eval()
    answer = []
    for question in asked:
        ids = torch.tensor([question["ids"]])
        out = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1,
            min_new_tokens=question["new"], eos_token_id=None, forced_eos_token_id=None,
            use_cache=False,    # it has as many layers as the encoder, the decoder may have more
            max_new_tokens=question["new"], output_logits=True, return_dict_in_generate=True)
        gaps = []
        for logits in out.logits:
            first, second = logits[0].topk(2).values.tolist()
            gaps.append((first - second) / logits.abs().max().item())
        answer.append({"ids": out.sequences[0].tolist(), "gaps": gaps})
    return answer


@torch.no_grad()
def beams(folder, asked):
    model = load(folder).eval()
    answer = []
    for question in asked:
        ids = torch.tensor([question["ids"]])
        out = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False,
            num_beams=question["beams"], length_penalty=question["penalty"], early_stopping=False,
            eos_token_id=question["ends"] or None, forced_eos_token_id=None, use_cache=False,
            max_new_tokens=question["new"])
        answer.append(out[0].tolist())
    return answer


@torch.no_grad()
def forced(folder, asked):
    """With what each question's files, {name: contents or None}, say of first and last tokens."""
    answer = []
    for question in asked:
        for name, contents in question["files"].items():
            path = pathlib.Path(folder) / name
            path.unlink(missing_ok=True)
            if contents is not None:
                path.write_text(json.dumps(contents))
        ids = torch.tensor([question["ids"]])
        out = load(folder).eval().generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False,
            num_beams=question["beams"], use_cache=False, max_new_tokens=question["new"])
        answer.append(out[0].tolist())
    return answer


@torch.no_grad()
def compare(folder, other, data):
    lines = batches(data)[0]
    model, (found, names) = load(folder), load(other, output_loading_info=True)
    want, got = [logits_and_labels(m.eval(), lines)[0] for m in (model, found)]
    configs = [m.config.to_dict() for m in (model, found)]
    differs = {k: [v, configs[1].get(k)] for k, v in configs[0].items()
               if v != configs[1].get(k)
               and k not in ("_name_or_path", "transformers_version", "dtype")}
    return {"difference": (got - want).abs().max().item(), "largest": want.abs().max().item(),
            "missing": sorted(names["missing_keys"]),
            "unexpected": sorted(names["unexpected_keys"]),
            "type": type(found).__name__, "wanted_type": type(model).__name__, "config": differs}


@torch.no_grad()
def first_loss(folder, data, *configs):
    lines, kept = batches(data)[0], load(folder)
    weights, path = kept.state_dict(), pathlib.Path(folder) / "config.json"
    own, answer, known = path.read_text(), [], {}
    for config in configs:
        path.write_text(pathlib.Path(config).read_text())
        try:
            said = said_by(folder)
            if said in known:
                answer.append(known[said])
                continue
            model, found = load(folder, output_loading_info=True)
            tied = {k for k in model.state_dict() if k not in found["missing_keys"]}
            if found["unexpected_keys"] or weights.keys() - tied:
                raise ValueError("a tensor has no place")
            loss = loss_of(model.eval(), lines).item()
            answer.append(loss if math.isfinite(loss) else None)
            known[said] = answer[-1]
        except Exception:       # whatever it says of such a file
            answer.append(None)
    path.write_text(own)
    return answer


def make(case, folder, seed, talks=""):
    tiny_seq2seq.make(case, folder, int(seed), talks == "talks")


COMMANDS = {"make": make, "train": train, "generate": generate, "compare": compare,
            "first_loss": first_loss, "beams": beams, "forced": forced}


def main():
    torch.set_num_threads(1)            # what others do on the cores beside it is not slowed
    logging.disable(logging.WARNING)
    transformers.logging.disable_progress_bar()
    command, *words = sys.argv[1:]
    if command == "all":
        answer = [COMMANDS[name](*rest) for name, *rest in json.load(sys.stdin)]
    else:
        reads = command in ("generate", "beams", "forced")
        answer = COMMANDS[command](*words, *([json.load(sys.stdin)] * reads))
    if answer is not None:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
