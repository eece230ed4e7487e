"""Reference figures of GPT-2 with experts, from torch in double precision, never from trainx: what
Fedus et al. 2021 (arXiv:2101.03961, equations 1 to 6) say, written out.

    reference_switch.py make FOLDER SEED SETTINGS     writes a small random model as a folder, with
                                                      SETTINGS, JSON, in its config.json
    reference_switch.py train FOLDER TOKENS OUT MICRO Z
                                                      trains it on a token file in file order, in
                                                      micro-batches of MICRO samples, with Z times
                                                      the routers' z-loss; writes OUT, and prints
                                                      {"losses": [...], "dropped": [...], "clear"}
    reference_switch.py evaluate FOLDER TOKENS        {"loss", "clear"} of the first samples, where
                                                      nothing is dropped, without the losses of
                                                      routers
    reference_switch.py greedy FOLDER IDS NEW         {"ids", "gaps", "clear"} of greedy text
    reference_switch.py compare FOLDER OTHER          how far OTHER's logits are from FOLDER's
"""
import json
import math
import pathlib
import sys

import safetensors.torch
import torch
from torch.nn.functional import cross_entropy, gelu, layer_norm, scaled_dot_product_attention

from reference_gpt2 import BATCH, batches

CONFIG = {"model_type": "gpt2_moe", "n_layer": 4, "n_head": 4, "n_embd": 32, "n_inner": 64,
          "n_positions": 48, "vocab_size": 131, "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.0,
          "attn_pdrop": 0.0, "num_experts": 4, "num_experts_per_tok": 1, "decoder_sparse_step": 2,
          "capacity_factor": 1.25, "router_aux_loss_coef": 0.01}
# Two experts of a token whose logits are nearer are told apart by rounding.
CLEAR = 1e-5


def has_experts(config, layer):
    return (layer + 1) % config["decoder_sparse_step"] == 0


def make(folder, seed, settings):
    """one_mind: routers see the same of each token, and choose the first expert."""
    config = CONFIG | settings
    one_mind = config.pop("one_mind", False)
    torch.manual_seed(seed)
    hidden, inner, experts = config["n_embd"], config["n_inner"], config["num_experts"]

    def normal(*dims, std=0.1):
        return torch.randn(*dims) * std
    tensors = {"wte.weight": normal(config["vocab_size"], hidden),
               "wpe.weight": normal(config["n_positions"], hidden)}
    norms = ["ln_f"]
    for layer in range(config["n_layer"]):
        h = f"h.{layer}"
        norms += [f"{h}.ln_1", f"{h}.ln_2"]
        for name, dims in (("attn.c_attn", (hidden, 3 * hidden)),
                           ("attn.c_proj", (hidden, hidden))):
            tensors |= {f"{h}.{name}.weight": normal(*dims), f"{h}.{name}.bias": normal(dims[1])}
        if has_experts(config, layer):
            tensors |= {f"{h}.mlp.router.weight": normal(experts, hidden, std=0.5),
                        f"{h}.mlp.experts.c_fc.weight": normal(experts, inner, hidden),
                        f"{h}.mlp.experts.c_fc.bias": normal(experts, inner),
                        f"{h}.mlp.experts.c_proj.weight": normal(experts, hidden, inner),
                        f"{h}.mlp.experts.c_proj.bias": normal(experts, hidden)}
            continue
        for name, dims in (("mlp.c_fc", (hidden, inner)), ("mlp.c_proj", (inner, hidden))):
            tensors |= {f"{h}.{name}.weight": normal(*dims), f"{h}.{name}.bias": normal(dims[1])}
    for name in norms:
        tensors |= {f"{name}.weight": 1 + normal(hidden), f"{name}.bias": normal(hidden)}
    for name, tensor in tensors.items() if one_mind else ():
        if name.endswith("router.weight"):
            norm = name.replace("mlp.router.weight", "ln_2")
            tensors[f"{norm}.weight"].zero_()
            tensors[f"{norm}.bias"].fill_(1)
            tensor.fill_(-0.1)
            tensor[0] = 0.1
    write(folder, config, tensors)


def write(folder, config, tensors):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    safetensors.torch.save_file({n: t.detach().float().contiguous() for n, t in tensors.items()},
                                folder / "model.safetensors")


class Model:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.config = json.loads((folder / "config.json").read_text())
        tensors = {}
        for file in folder.glob("model*.safetensors"):
            tensors |= safetensors.torch.load_file(file)
        self.p = {n.removeprefix("transformer."): t.double().requires_grad_()
                  for n, t in tensors.items()}
        self.margin = math.inf      # of the nearest two experts so far

    def norm(self, x, name):
        return layer_norm(x, (x.shape[-1],), self.p[f"{name}.weight"], self.p[f"{name}.bias"],
                          self.config["layer_norm_epsilon"])

    def linear(self, x, name):
        return x @ self.p[f"{name}.weight"] + self.p[f"{name}.bias"]

    def mixture(self, x, name, drops):
        """y[N, H] of x[N, H], in the order of tokens; (y, loss of equation 4, mean of log sums
        squared, dropped choices)."""
        experts, k = self.config["num_experts"], self.config["num_experts_per_tok"]
        logits = x @ self.p[f"{name}.router.weight"].T
        probabilities = logits.softmax(-1)
        ranked = logits.detach().sort(-1, descending=True).values
        gaps = ranked[:, :-1] - ranked[:, 1:]
        if gaps[:, :k].numel():
            self.margin = min(self.margin, gaps[:, :k].min().item())
        weights, chosen = probabilities.topk(k)
        tokens, factor = len(x), self.config["capacity_factor"]
        capacity = math.ceil(tokens * k / experts * factor) if drops and factor > 0 else tokens * k
        rows = [[] for _ in range(experts)]
        dropped = 0
        for token, choices in enumerate(chosen.tolist()):
            for place, expert in enumerate(choices):
                if len(rows[expert]) < capacity:
                    rows[expert].append((token, place))
                else:
                    dropped += 1
        y = torch.zeros_like(x)
        for expert, pairs in enumerate(rows):
            if not pairs:
                continue
            token, place = (torch.tensor(part) for part in zip(*pairs))
            p = {n: self.p[f"{name}.experts.{n}"][expert]
                 for n in ("c_fc.weight", "c_fc.bias", "c_proj.weight", "c_proj.bias")}
            inner = gelu(x[token] @ p["c_fc.weight"].T + p["c_fc.bias"], approximate="tanh")
            made = inner @ p["c_proj.weight"].T + p["c_proj.bias"]
            y = y.index_add(0, token, weights[token, place, None] * made)
        shares = torch.bincount(chosen.flatten(), minlength=experts).double() / tokens
        loss = experts * (shares * probabilities.mean(0)).sum()
        return y, loss, logits.logsumexp(-1).square().mean(), dropped

    def logits(self, ids, drops=True):
        """(logits, sum of the layers' losses of even loads, mean of their z, dropped choices)"""
        heads = self.config["n_head"]
        samples, length = ids.shape
        h = self.p["wte.weight"][ids] + self.p["wpe.weight"][:length]
        even, z, dropped = 0, [], 0
        for layer in range(self.config["n_layer"]):
            name = f"h.{layer}"
            qkv = self.linear(self.norm(h, f"{name}.ln_1"), f"{name}.attn.c_attn").chunk(3, -1)
            q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in qkv)
            seen = scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + self.linear(seen.transpose(1, 2).flatten(2), f"{name}.attn.c_proj")
            x = self.norm(h, f"{name}.ln_2")
            if has_experts(self.config, layer):
                y, loss, of_z, lost = self.mixture(x.flatten(0, 1), f"{name}.mlp", drops)
                even, dropped = even + loss, dropped + lost
                z.append(of_z)
                h = h + y.view_as(h)
            else:
                inner = gelu(self.linear(x, f"{name}.mlp.c_fc"), approximate="tanh")
                h = h + self.linear(inner, f"{name}.mlp.c_proj")
        return self.norm(h, "ln_f") @ self.p["wte.weight"].T, even, sum(z) / len(z), dropped


def train(folder, tokens, out, micro, z_factor):
    model = Model(folder)
    decayed = [p for n, p in model.p.items() if p.dim() >= 2 and not n.endswith("bias")]
    chosen = {id(p) for p in decayed}
    plain = [p for p in model.p.values() if id(p) not in chosen]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                                   {"params": plain, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.95), eps=1e-6)
    losses, all_dropped = [], []
    for rows in batches(tokens):
        optimizer.zero_grad()
        total = dropped = 0
        for some in rows.split(micro):
            logits, even, z, lost = model.logits(some[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), some[:, 1:].flatten())
            loss = loss + model.config["router_aux_loss_coef"] * even + z_factor * z
            (loss * micro / BATCH).backward()
            total, dropped = total + loss.item() * micro / BATCH, dropped + lost
        optimizer.step()
        losses.append(total)
        all_dropped.append(dropped)
    write(out, model.config, model.p)
    return {"losses": losses, "dropped": all_dropped, "clear": model.margin > CLEAR}


def evaluate(folder, tokens):
    model = Model(folder)
    rows = next(iter(batches(tokens)))
    logits, *_ = model.logits(rows[:, :-1], drops=False)
    return {"loss": cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).item(),
            "clear": model.margin > CLEAR}


def greedy(folder, ids, new):
    model, gaps = Model(folder), []
    for _ in range(new):
        logits = model.logits(torch.tensor([ids]), drops=False)[0][0, -1]
        first, second = logits.topk(2).values.tolist()
        gaps.append((first - second) / logits.abs().max().item())
        ids = [*ids, int(logits.argmax())]
    return {"ids": ids, "gaps": gaps, "clear": model.margin > CLEAR}


def compare(folder, other):
    ids = torch.randint(CONFIG["vocab_size"], (4, 32), generator=torch.Generator().manual_seed(3))
    want, got = [Model(f).logits(ids, drops=False)[0] for f in (folder, other)]
    return {"difference": (got - want).abs().max().item(), "largest": want.abs().max().item()}


def main():
    torch.set_num_threads(2)
    command, folder, *rest = sys.argv[1:]
    if command == "make":
        make(folder, int(rest[0]), json.loads(rest[1]))
    elif command == "train":
        print(json.dumps(train(folder, *rest[:2], int(rest[2]), float(rest[3]))))
    else:
        with torch.no_grad():
            print(json.dumps({"evaluate": evaluate, "compare": compare,
                              "greedy": lambda f, ids, new: greedy(f, json.loads(ids), int(new))}
                             [command](folder, *rest)))


if __name__ == "__main__":
    main()
