"""Losses of training reference_gpt2.py's model with the optimizers that people know, on a token
file in file order.

    reference_optimizers.py FOLDER TOKENS OPTIMIZER STEPS      prints a JSON list of losses

torch.optim, transformers and bitsandbytes where they have the optimizer; else the paper's formula,
written out plainly.
"""
import importlib.util
import json
import math
import sys

import torch
import transformers

import reference_gpt2


class Plain(torch.optim.Optimizer):
    """Calls update(parameter, gradient, state, t, group) for each tensor."""

    def __init__(self, groups, update, **defaults):
        super().__init__(groups, defaults)
        self.update = update

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["t"] = state.get("t", 0) + 1
                self.update(p, p.grad, state, state["t"], group)


def lion(p, g, state, t, o):
    """Chen et al. 2023, Alg. 2."""
    m = state.setdefault("m", torch.zeros_like(p))
    b1, b2 = o["betas"]
    p.mul_(1 - o["lr"] * o["weight_decay"]).sub_(o["lr"] * (b1 * m + (1 - b1) * g).sign())
    m.mul_(b2).add_(g, alpha=1 - b2)


def lamb(p, g, state, t, o):
    """You et al. 2020, Alg. 2, phi the identity."""
    m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
    b1, b2 = o["betas"]
    m.mul_(b1).add_(g, alpha=1 - b1)
    v.mul_(b2).addcmul_(g, g, value=1 - b2)
    u = (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + o["eps"]) + o["weight_decay"] * p
    w_norm, u_norm = p.norm(), u.norm()
    p.sub_(o["lr"] * (w_norm / u_norm if w_norm > 0 and u_norm > 0 else 1.0) * u)


def any_precision(p, g, state, t, o):
    """What torchdistx' AnyPrecisionAdamW does without Kahan summation."""
    m, v = state.setdefault("m", torch.zeros_like(p, dtype=o["momentum"])), state.setdefault(
        "v", torch.zeros_like(p, dtype=o["variance"]))
    b1, b2 = o["betas"]
    p.mul_(1 - o["lr"] * o["weight_decay"])
    m.mul_(b1).add_(g, alpha=1 - b1)
    v.mul_(b2).addcmul_(g, g, value=1 - b2)
    p.addcdiv_(m.float(),
               v.float().sqrt() / math.sqrt(1 - b2**t) + o["eps"], value=-o["lr"] / (1 - b1**t))


def dynamic_map(is_signed):
    """Dettmers et al. 2022: seven powers of ten, each cut evenly, finer the larger it is."""
    data = [0.0, 1.0]
    for power in range(7):
        border = torch.linspace(0.1, 1, (1 if is_signed else 2) * 2**power + 1)
        means = (10.0 ** (power - 6) * (border[:-1] + border[1:]) / 2).tolist()
        data += means + [-x for x in means] * is_signed
    return torch.tensor(sorted(data))


def quantised(x, numbers):
    """What a byte for each element and a scale for every 256 say of x."""
    flat = torch.nn.functional.pad(x.flatten(), (0, -x.numel() % 256)).view(-1, 256)
    scale = flat.abs().amax(1, keepdim=True)
    nearest = torch.bucketize(torch.where(scale > 0, flat / scale, 0.0),
                              (numbers[:-1] + numbers[1:]) / 2)
    return (numbers[nearest] * scale).flatten()[:x.numel()].view_as(x)


def adamw_8bit(p, g, state, t, o):
    m, v = state.setdefault("m", torch.zeros_like(p)), state.setdefault("v", torch.zeros_like(p))
    b1, b2 = o["betas"]
    m.mul_(b1).add_(g, alpha=1 - b1)
    v.mul_(b2).addcmul_(g, g, value=1 - b2)
    p.mul_(1 - o["lr"] * o["weight_decay"]).addcdiv_(m,
                                                     v.sqrt() / math.sqrt(1 - b2**t) + o["eps"],
                                                     value=-o["lr"] / (1 - b1**t))
    if p.numel() >= 4096:
        m.copy_(quantised(m, dynamic_map(True)))
        v.copy_(quantised(v, dynamic_map(False)))


class Turned:
    """An optimizer over [out, in] copies of GPT-2's [in, out] weights, as trainx has them: what
    blocks of 256 elements hold depends on it."""

    def __init__(self, model, make):
        turned = {
            id(m.weight)
            for m in model.modules()
            if isinstance(m, transformers.pytorch_utils.Conv1D)
        }
        self.pairs = [(p,
                       torch.nn.Parameter(p.detach().t().contiguous() if id(p) in
                                          turned else p.detach().clone()), id(p) in turned)
                      for p in model.parameters()]
        self.optimizer = make(
            [{"params": [q for _, q, _ in self.pairs if q.dim() >= 2], "weight_decay": 0.1},
             {"params": [q for _, q, _ in self.pairs if q.dim() < 2], "weight_decay": 0.0}])

    def zero_grad(self):
        for p, _, _ in self.pairs:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for p, q, turn in self.pairs:
            q.grad = p.grad.t().contiguous() if turn else p.grad.clone()
        self.optimizer.step()
        for p, q, turn in self.pairs:
            p.copy_(q.t() if turn else q)


def optimizer_of(kind, model):
    decay = 0.1
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": decay},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    adafactor = transformers.optimization.Adafactor
    if kind == "adam":
        return torch.optim.Adam(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8)
    if kind == "adagrad":
        return torch.optim.Adagrad(groups, lr=1e-2, lr_decay=0.01, initial_accumulator_value=0.1,
                                   eps=1e-10)
    if kind == "lion":
        return Plain(groups, lion, lr=1e-4, betas=(0.9, 0.99))
    if kind == "lamb":
        return Plain(groups, lamb, lr=1e-2, betas=(0.9, 0.999), eps=1e-6)
    if kind.startswith("adamw_anyprecision"):
        momentum = torch.bfloat16 if kind.endswith("bf16") else torch.float32
        return Plain(groups, any_precision, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, momentum=momentum,
                     variance=torch.bfloat16)
    if kind == "adamw_8bit":
        return Turned(
            model, lambda turned: Plain(turned, adamw_8bit, lr=1e-3, betas=(0.9, 0.95), eps=1e-8))
    if kind == "adamw_8bit_bitsandbytes":
        import bitsandbytes
        return Turned(
            model, lambda turned: bitsandbytes.optim.AdamW8bit(turned, lr=1e-3, betas=(0.9, 0.95),
                                                               eps=1e-8))
    if kind == "adafactor":
        return adafactor(groups)
    if kind == "adafactor_warmup":
        return adafactor(groups, warmup_init=True, beta1=0.9, decay_rate=-0.7)
    if kind == "adafactor_fixed":
        return adafactor(groups, lr=1e-3, relative_step=False, scale_parameter=False,
                         clip_threshold=0.8, eps=(1e-20, 1e-3))
    raise SystemExit(f"no optimizer {kind}")


def main():
    folder, tokens, kind, steps = sys.argv[1:5]
    if kind == "has_bitsandbytes":
        print(json.dumps(importlib.util.find_spec("bitsandbytes") is not None))
        return
    torch.set_num_threads(2)
    reference_gpt2.STEPS = int(steps)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).train()
    optimizer = optimizer_of(kind, model)
    losses = []
    for rows in reference_gpt2.batches(tokens):
        optimizer.zero_grad()
        loss = reference_gpt2.loss_of(model, rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps(losses))


main()
