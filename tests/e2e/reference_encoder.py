"""Reference figures from transformers and torch.optim, never from trainx: of the encoders of
tiny_encoders.py. On stdin a list of lists of words, the answers as a list:

    make CASE FOLDER SEED               a tiny random folder
    train CASE FOLDER LINES OUT         20 AdamW steps in the order of the lines; the losses
    compare CASE FOLDER OTHER LINES     how far OTHER's logits are from FOLDER's, what
                                        from_pretrained says of names, which settings differ
    first_loss CASE FOLDER LINES PATH...    of the first lines without dropout, with each of these
                                        config.json instead of its own; null where one is refused
"""
import itertools
import json
import logging
import math
import pathlib
import sys

import torch
import transformers

import tiny_encoders
from reference_decoder import said_by

BATCH, EPS = 8, 1e-6
# What from_pretrained makes anew and no loss depends on.
UNUSED = ("pooler.", "position_ids")


def load(case, folder, **how):
    of_task = getattr(transformers, tiny_encoders.TASKS[tiny_encoders.CASES[case][1]][0])
    return of_task.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, **how)


def batches(case, path, model, labels=True):
    lines = [json.loads(line) for line in open(path)]
    padding = model.config.pad_token_id or 0
    for first in range(0, len(lines), BATCH):
        rows = lines[first:first + BATCH]
        longest = max(len(r["input_ids"]) for r in rows)

        def padded(key, value):
            return torch.tensor([r[key] + [value] * (longest - len(r[key])) for r in rows])
        batch = {"input_ids": padded("input_ids", padding),
                 "attention_mask": (padded("input_ids", -1) >= 0).long()}
        if "token_type_ids" in rows[0]:
            batch["token_type_ids"] = padded("token_type_ids", 0)
        if labels:
            task = tiny_encoders.CASES[case][1]
            of = [r.get("label", r.get("labels")) for r in rows]
            batch["labels"] = (padded("labels", -100) if task in ("masked_lm", "tokens")
                               else torch.tensor(of) if task == "classes"
                               else torch.tensor(of, dtype=torch.float32))
        yield batch


def train(case, folder, lines, out):
    model = load(case, folder).train()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.95), eps=EPS)
    losses = []
    for batch in batches(case, lines, model):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(out)
    return losses


@torch.no_grad()
def compare(case, folder, other, lines):
    model, (found, names) = load(case, folder), load(case, other, output_loading_info=True)
    worst = largest = 0.0
    for batch in itertools.islice(batches(case, lines, model, labels=False), 3):
        want, got = [m.eval()(**batch).logits for m in (model, found)]
        seen = batch["attention_mask"].bool()
        if want.dim() == 2:
            seen = torch.ones(len(want), dtype=torch.bool)
        worst = max(worst, (want - got)[seen].abs().max().item())
        largest = max(largest, want[seen].abs().max().item())
    configs = [m.config.to_dict() for m in (model, found)]
    differs = {k: [v, configs[1].get(k)] for k, v in configs[0].items()
               if v != configs[1].get(k) and not k.endswith("_token_id")
               and k not in ("_name_or_path", "transformers_version", "dtype")}
    return {"difference": worst, "largest": largest, "missing": sorted(names["missing_keys"]),
            "unexpected": sorted(names["unexpected_keys"]), "config": differs,
            "type": type(found).__name__, "wanted_type": type(model).__name__}


@torch.no_grad()
def first_loss(case, folder, lines, *configs):
    kept = load(case, folder)
    batch, weights = next(batches(case, lines, kept)), kept.state_dict()
    path = pathlib.Path(folder) / "config.json"
    own, answer, known = path.read_text(), [], {}
    for config in configs:
        path.write_text(pathlib.Path(config).read_text())
        try:
            said = said_by(folder)
            if said in known:
                answer.append(known[said])
                continue
            model, found = load(case, folder, output_loading_info=True)
            used = {k for k, v in model.state_dict().items() if k not in found["missing_keys"]}
            left = [k for k in [*found["unexpected_keys"], *(weights.keys() - used)]
                    if not any(u in k for u in UNUSED)]
            if left:
                raise ValueError("a tensor has no place")
            changed = dict(batch)
            if model.config.pad_token_id is not None:
                seen = batch["attention_mask"].bool()
                changed["input_ids"] = torch.where(seen, batch["input_ids"],
                                                   model.config.pad_token_id)
            loss = model.eval()(**changed).loss.item()
            answer.append(loss if math.isfinite(loss) else None)
            known[said] = answer[-1]
        except Exception:       # whatever it says of such a file
            answer.append(None)
    path.write_text(own)
    return answer


def make(case, folder, seed):
    tiny_encoders.make(case, folder, seed)


COMMANDS = {"make": make, "train": train, "compare": compare, "first_loss": first_loss}


def main():
    torch.set_num_threads(1)            # what others do on the cores beside it is not slowed
    logging.disable(logging.WARNING)
    transformers.logging.disable_progress_bar()
    print(json.dumps([COMMANDS[name](*rest) for name, *rest in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
