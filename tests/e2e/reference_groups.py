"""Reference losses of training with parameter groups, from transformers and torch.optim: groups of
torch.optim.AdamW and requires_grad, chosen by patterns of names.

    reference_groups.py FOLDER TOKENS [OUT]   on stdin {"groups": [{"match", "freeze", "lr",
                                              "weight_decay"}, ...], "ema": decay or null}: the
                                              losses of 20 steps, and the names that were frozen;
                                              of an average also the loss of its weights on the
                                              first samples, and OUT has those weights
"""
import copy
import fnmatch
import json
import logging
import sys

import torch
import transformers

import reference_decoder
import reference_gpt2

LR, DECAY = 1e-3, 0.1


def settings_of(name, parameter, groups):
    """Of maps that set the same key the last one that matches holds."""
    found = {"lr": LR, "freeze": False,
             "weight_decay": DECAY if parameter.dim() >= 2 and "norm" not in name else 0.0}
    for group in groups:
        # brackets are no part of names
        if fnmatch.fnmatchcase(name, group["match"]):
            found |= {key: value for key, value in group.items() if key != "match"}
    if "lr_scale" in found:
        found["lr"] = LR * found.pop("lr_scale")
    return found


def average(model, ema, decay):
    with torch.no_grad():
        for (name, p), (_, mean) in zip(model.named_parameters(), ema.named_parameters()):
            if p.requires_grad:
                mean.lerp_(p, 1 - decay)


def train(folder, tokens, out, groups, decay):
    model = reference_decoder.load(folder).train()
    ema = copy.deepcopy(model) if decay else None
    params, frozen = [], []
    for name, p in model.named_parameters():
        found = settings_of(name, p, groups)
        if found["freeze"]:
            p.requires_grad_(False)
            frozen.append(name)
        else:
            params.append({"params": [p], "lr": found["lr"],
                           "weight_decay": found["weight_decay"]})
    optimizer = torch.optim.AdamW(params, betas=(0.9, 0.95), eps=reference_decoder.EPS)
    losses = []
    for rows in reference_gpt2.batches(tokens):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            reference_decoder.logits_of(model, rows).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for g in params for p in g["params"]], 1.0)
        optimizer.step()
        if ema is not None:
            average(model, ema, decay)
        losses.append(loss.item())
    if out:
        (ema or model).save_pretrained(out)
    return {"losses": losses, "frozen": frozen}


def main():
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    transformers.logging.disable_progress_bar()
    asked = json.load(sys.stdin)
    out = sys.argv[3] if len(sys.argv) > 3 else None
    print(json.dumps(train(sys.argv[1], sys.argv[2], out, asked["groups"], asked.get("ema"))))


if __name__ == "__main__":
    main()
