"""Reference figures from transformers and torch.optim, never from trainx: of any decoder that
AutoModelForCausalLM loads.

    reference_decoder.py make CASE FOLDER SEED [talks]    a tiny random folder (tiny_families.py)
    reference_decoder.py train FOLDER TOKENS [OUT [MICRO]]    20 AdamW steps on a token file in file
                                                      order (and saves the model): {"losses",
                                                      "routers", "clear"}: how many there are,
                                                      and that none chooses experts by rounding
    reference_decoder.py generate FOLDER              on stdin [{"ids": [...], "new": n}, ...]:
                                                      [{"ids": [...], "gaps": [...]}, ...], greedy
    reference_decoder.py short FOLDER                 on stdin [{"ids": [...], "prompt": n}, ...]:
                                                      for each {"short", "rounded"}: how far the
                                                      logit of each token behind the prompt lies
                                                      below the highest, and how far logits in
                                                      bf16 are from those in fp32 at most; as
                                                      shares of the largest
    reference_decoder.py logits FOLDER TOKENS         [[[...]]] of the first samples
    reference_decoder.py compare FOLDER OTHER TOKENS  how far OTHER's logits are from FOLDER's
    reference_decoder.py first_loss FOLDER TOKENS PATH...   of the first samples without dropout,
                                                      with each of these config.json instead of
                                                      its own; null where it refuses one
    reference_decoder.py mxfp4 FOLDER OTHER SEED      OTHER: FOLDER with random experts in mxfp4
    reference_decoder.py dequantized FOLDER OTHER     how far OTHER's experts are from what
                                                      transformers makes of FOLDER's in mxfp4
    reference_decoder.py all                          on stdin a list of such lists of words, those
                                                      that read stdin with it at the end: the
                                                      answers, from one process

gaps: how far each chosen token's logit lies above the next one's, as a share of the largest.
"""
import json
import logging
import math
import pathlib
import resource
import sys

import torch
import transformers

import reference_gpt2
import tiny_families

MOST_BYTES = 6 << 30        # of what first_loss allocates
ROUNDING = 6e-6             # of what a router chooses by, while training; of some 1e-6 there is
# AdamW's own 1e-8 turns the rounding of gradients that are all but zero into steps, which is seen
# in the sixth digit of a logit.
EPS = 1e-6


def load(folder, dtype=torch.float32, **how):
    """Experts one after the other: products of all at once take no odd sizes."""
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", experts_implementation="eager", dtype=dtype, **how)
    model = loaded[0] if isinstance(loaded, tuple) else loaded
    if hasattr(model.config, "swiglu_limit"):   # which older gpt-oss classes do not read
        for layer in model.modules():
            if hasattr(layer, "limit") and hasattr(layer, "alpha"):
                layer.limit, layer.alpha = model.config.swiglu_limit, model.config.swiglu_alpha
    return loaded


def logits_of(model, rows):
    return model(rows[:, :-1], use_cache=False).logits


def loss_of(model, rows, reduction="mean"):
    """Of the next tokens, and what the model adds for its routers."""
    out = model(rows[:, :-1], use_cache=False)
    loss = torch.nn.functional.cross_entropy(
        out.logits.flatten(0, 1), rows[:, 1:].flatten(), reduction=reduction)
    routers = getattr(out, "aux_loss", None)
    if routers is not None:
        loss = loss + model.router_aux_loss_coef * routers * (
            rows[:, 1:].numel() if reduction == "sum" else 1)
    return loss


class Choices:
    """Whether routers choose the same experts of inputs that rounding might have made."""

    def __init__(self, model):
        self.clear, self.routers = True, 0
        self.generator = torch.Generator().manual_seed(1)
        for module in model.modules():
            if type(module).__name__.lower().endswith("topkrouter"):
                module.register_forward_hook(self.look)
                self.routers += 1

    @staticmethod
    def experts(output):
        """The chosen ones, in order; versions of transformers return them at different places."""
        return next(x for x in output if not x.is_floating_point()).sort(-1).values

    @torch.no_grad()
    def look(self, router, inputs, output):
        x = inputs[0].detach()
        for _ in range(2):
            noise = torch.randn(x.shape, generator=self.generator) * ROUNDING * x.abs().mean()
            # Each noise is taken both ways: one of them turns a near tie around.
            for moved in (x + noise, x - noise):
                other = self.experts(router.forward(moved))
                self.clear &= bool((other == self.experts(output)).all())


def train(folder, tokens, out=None, micro=reference_gpt2.BATCH):
    """The loss of a step: the mean over all target tokens of its global batch."""
    model = load(folder).train()
    choices = Choices(model)
    optimizer = reference_gpt2.optimizer_of("adamw", model)
    for group in optimizer.param_groups:
        group["eps"] = EPS
    losses = []
    for rows in reference_gpt2.batches(tokens):
        optimizer.zero_grad()
        total = 0.0
        for part in rows.split(int(micro)):
            loss = loss_of(model, part, "sum") / rows[:, 1:].numel()
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(total)
    if out:
        model.save_pretrained(out)
    return {"losses": losses, "routers": choices.routers, "clear": choices.clear}


@torch.no_grad()
def generate(folder, asked):
    model = load(folder).eval()
    model.generation_config.eos_token_id = None
    answer = []
    for question in asked:
        ids = torch.tensor([question["ids"]])
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0,
            max_new_tokens=question["new"], output_logits=True, return_dict_in_generate=True)
        gaps = []
        for logits in out.logits:
            first, second = logits[0].topk(2).values.tolist()
            gaps.append((first - second) / logits.abs().max().item())
        answer.append({"ids": out.sequences[0].tolist(), "gaps": gaps})
    return answer


@torch.no_grad()
def short(folder, texts):
    models = [load(folder, dtype).eval() for dtype in (torch.float32, torch.bfloat16)]
    answer = []
    for text in texts:
        ids = torch.tensor([text["ids"]])
        logits, rounded = [m(ids, use_cache=False).logits[0, text["prompt"] - 1:-1].float()
                           for m in models]
        taken = logits.gather(1, ids[0, text["prompt"]:, None])[:, 0]
        largest = logits.abs().amax(1)
        answer.append({"short": ((logits.amax(1) - taken) / largest).tolist(),
                       "rounded": ((logits - rounded).abs().amax(1) / largest).max().item()})
    return answer


@torch.no_grad()
def logits(folder, tokens):
    return logits_of(load(folder).eval(), next(reference_gpt2.batches(tokens))).tolist()


@torch.no_grad()
def compare(folder, other, tokens):
    """`config`: which settings transformers reads otherwise from OTHER than from FOLDER, but for
    token ids."""
    rows = next(reference_gpt2.batches(tokens))
    model, (found, names) = load(folder), load(other, output_loading_info=True)
    want, got = [logits_of(m.eval(), rows) for m in (model, found)]
    configs = [m.config.to_dict() for m in (model, found)]
    differs = {k: [v, configs[1].get(k)] for k, v in configs[0].items()
               if v != configs[1].get(k) and not k.endswith("_token_id")
               and k not in ("_name_or_path", "transformers_version", "dtype")}
    return {"difference": (got - want).abs().max().item(), "largest": want.abs().max().item(),
            "missing": sorted(names["missing_keys"]),
            "unexpected": sorted(names["unexpected_keys"]),
            "type": type(found).__name__, "wanted_type": type(model).__name__, "config": differs}


def said_by(folder):
    """All that a model is built from: of two folders with the same tensors it is the same model."""
    config = transformers.AutoConfig.from_pretrained(folder)
    return json.dumps(config.to_dict(), sort_keys=True, default=str)


@torch.no_grad()
def first_loss(folder, tokens, *configs):
    # a file without a size means that of a published model: it ends here, not the machine
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    rows, kept = next(reference_gpt2.batches(tokens)), load(folder)
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
            tied = {k for k, v in model.state_dict().items() if k not in found["missing_keys"]}
            if found["unexpected_keys"] or weights.keys() - tied:
                raise ValueError("a tensor has no place")
            loss = loss_of(model.eval(), rows).item()
            answer.append(loss if math.isfinite(loss) else None)
            known[said] = answer[-1]
        except Exception:       # whatever it says of such a file
            answer.append(None)
    path.write_text(own)
    return answer


def quantized_name(name):
    return name.endswith(("gate_up_proj", "down_proj"))


def mxfp4(folder, other, seed):
    import safetensors.torch
    folder, other = pathlib.Path(folder), pathlib.Path(other)
    generator = torch.Generator().manual_seed(int(seed))
    found = safetensors.torch.load_file(folder / "model.safetensors")
    tensors = {}
    for name, t in found.items():
        if not quantized_name(name):
            tensors[name] = t
            continue
        experts, fan_in, out = t.shape
        rows = (experts, out, fan_in // 32)
        tensors[name + "_blocks"] = torch.randint(256, (*rows, 16), generator=generator,
                                                  dtype=torch.uint8)
        tensors[name + "_scales"] = torch.randint(119, 125, rows, generator=generator,
                                                  dtype=torch.uint8)
    other.mkdir()
    safetensors.torch.save_file(tensors, other / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                   "model.embed_tokens", "lm_head"]}
    (other / "config.json").write_text(json.dumps(config))


def dequantized(folder, other):
    import safetensors.torch
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    packed, plain = [safetensors.torch.load_file(pathlib.Path(f) / "model.safetensors")
                     for f in (folder, other)]
    worst, count = 0.0, 0
    for name, t in plain.items():
        if quantized_name(name):
            want = convert_moe_packed_tensors(packed[name + "_blocks"], packed[name + "_scales"],
                                              dtype=torch.float32)
            assert want.shape == t.shape, (name, want.shape, t.shape)
            worst, count = max(worst, (want - t).abs().max().item()), count + 1
    return {"difference": worst, "tensors": count}


def make(case, folder, seed, talks=""):
    tiny_families.make(case, folder, int(seed), talks == "talks")


COMMANDS = {"make": make, "train": train, "generate": generate, "short": short,
            "logits": logits, "compare": compare, "first_loss": first_loss,
            "mxfp4": mxfp4, "dequantized": dequantized}
READ_STDIN = {"generate", "short"}


def main():
    torch.set_num_threads(1)            # what others do on the cores beside it is not slowed
    logging.disable(logging.WARNING)
    transformers.logging.disable_progress_bar()
    command, *words = sys.argv[1:]
    if command == "all":
        answer = [COMMANDS[name](*rest) for name, *rest in json.load(sys.stdin)]
    else:
        answer = COMMANDS[command](*words, *([json.load(sys.stdin)] * (command in READ_STDIN)))
    if answer is not None:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
