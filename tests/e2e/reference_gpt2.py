"""Reference figures from transformers and torch.optim, never from trainx: a GPT-2 folder, and the
losses of training it.

    reference_gpt2.py make FOLDER                         writes a small random GPT-2 as a Hugging
    Face folder
    reference_gpt2.py losses FOLDER TOKENS OPTIMIZER      trains it on a token file in file order,
    prints a JSON list of losses
    reference_gpt2.py load FOLDER FILE                    loads FOLDER with from_pretrained and
    prints its loss on the first samples of FILE
    reference_gpt2.py shard FOLDER OTHER SIZE             saves FOLDER's model into OTHER in shards
    of at most SIZE
    reference_gpt2.py compare FOLDER OTHER                loads both and prints OTHER's type, and
    how far its logits, computed in fp32, are from FOLDER's
"""
import json
import struct
import sys

import torch
import transformers

T, BATCH, STEPS = 32, 8, 20


def config():
    return transformers.GPT2Config(vocab_size=131, n_positions=48, n_embd=32, n_layer=2, n_head=4,
                                   resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0,
                                   eos_token_id=0)


def batches(path):
    data = open(path, "rb").read()
    n = struct.unpack("<3i", data[:12])[2]
    ids = torch.tensor(struct.unpack(f"<{n}H", data[1024:1024 + 2 * n]), dtype=torch.long)
    for step in range(STEPS):
        rows = [ids[i * T:i * T + T + 1] for i in range(step * BATCH, (step + 1) * BATCH)]
        yield torch.stack(rows)


def loss_of(model, rows):
    logits = model(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                                             rows[:, 1:].reshape(-1))


def optimizer_of(kind, model):
    # weights of norms and biases are not decayed, of two dimensions or not
    decayed = [p for n, p in model.named_parameters()
               if p.dim() >= 2 and "norm" not in n and not n.endswith("bias")]
    chosen = {id(p) for p in decayed}
    plain = [p for p in model.parameters() if id(p) not in chosen]
    if kind == "adamw":
        return torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
            lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    return torch.optim.SGD(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        lr=0.05, momentum=0.9, nesterov=kind == "nesterov")


def compare(folder, other):
    models = [
        transformers.GPT2LMHeadModel.from_pretrained(f, dtype="auto") for f in (folder, other)
    ]
    kind = str(models[1].dtype)
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(models[0].config.vocab_size, (4, 16), generator=generator)
    with torch.no_grad():
        want, got = [m.eval().float()(ids).logits for m in models]
    print(
        json.dumps({
            "dtype": kind, "difference": (got - want).abs().max().item(),
            "largest": want.abs().max().item()
        }))


def main():
    torch.set_num_threads(2)
    command, folder = sys.argv[1:3]
    if command == "make":
        torch.manual_seed(11)
        transformers.GPT2LMHeadModel(config()).save_pretrained(folder)
        return
    if command == "compare":
        compare(folder, sys.argv[3])
        return
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).train()
    if command == "shard":
        model.save_pretrained(sys.argv[3], max_shard_size=sys.argv[4])
        return
    if command == "load":
        model.eval()
        with torch.no_grad():
            print(json.dumps(loss_of(model, next(batches(sys.argv[3]))).item()))
        return
    optimizer = optimizer_of(sys.argv[4], model)
    losses = []
    for rows in batches(sys.argv[3]):
        optimizer.zero_grad()
        loss = loss_of(model, rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses))


if __name__ == "__main__":
    main()
