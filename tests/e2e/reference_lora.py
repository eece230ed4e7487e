"""Reference figures of low-rank adapters from PEFT and torch.optim, never from trainx.

    reference_lora.py all       on stdin a list of these, whose answers are printed:
        adapt KIND FOLDER OUT SEED SETTINGS     an adapter of FOLDER's model, drawn, in OUT; SETTINGS
                                                are LoraConfig's, where EMBEDDING, HEAD and LINEAR
                                                are what the model calls these modules, and ROUTER
                                                its routers' parameter. MOVED: the file has other
                                                values of the embedding and the head than FOLDER
        train KIND FOLDER ADAPTER DATA OUT      AdamW steps on all data in file order, from ADAPTER
                                                on: {"losses", "trained"}: how many numbers
        compare KIND FOLDER WANT GOT DATA       of two adapters: {"names", "shapes"}: what differs;
                                                "tensors": by name, the largest difference as a
                                                share of the largest value; "logits": likewise
        merged KIND FOLDER ADAPTER OTHER DATA   how far OTHER's logits are from the adapted model's,
                                                as a share of the largest
        drawn FOLDER                            of a new adapter: {"b_is_zero", "a": by name
                                                [lowest, highest, mean, deviation, rank, in]}; of
                                                embeddings A is zero, and "a" tells of B
KIND: decoder, seq2seq, or a case of tiny_encoders.py.
"""
import json
import logging
import sys
import warnings

import peft
import safetensors.torch
import torch
import transformers

import reference_decoder
import reference_encoder
import reference_gpt2
import reference_seq2seq
import tiny_encoders

warnings.filterwarnings("ignore")


class Decoder:
    task = "CAUSAL_LM"
    load = staticmethod(reference_decoder.load)
    loss = staticmethod(reference_decoder.loss_of)
    logits = staticmethod(reference_decoder.logits_of)

    @staticmethod
    def batches(data, _):
        return reference_gpt2.batches(data)


class Seq2Seq:
    task = "SEQ_2_SEQ_LM"
    load = staticmethod(reference_seq2seq.load)
    loss = staticmethod(reference_seq2seq.loss_of)

    @staticmethod
    def batches(data, _):
        return reference_seq2seq.batches(data)

    @staticmethod
    def logits(model, lines):
        return reference_seq2seq.logits_and_labels(model, lines)[0]


class Encoder:
    def __init__(self, case):
        self.case = case
        self.task = {"tokens": "TOKEN_CLS", "masked_lm": None}.get(
            tiny_encoders.CASES[case][1], "SEQ_CLS")

    def load(self, folder):
        return reference_encoder.load(self.case, folder)

    def batches(self, data, model):
        return reference_encoder.batches(self.case, data, model)

    @staticmethod
    def loss(model, batch):
        return model(**batch).loss

    @staticmethod
    def logits(model, batch):
        return model(**batch).logits


CLEARLY = 1e-4  # of a tensor's largest value


def of(kind):
    return {"decoder": Decoder, "seq2seq": Seq2Seq}.get(kind) or Encoder(kind)


def adapted(kind, folder, adapter, **how):
    return peft.PeftModel.from_pretrained(of(kind).load(folder), adapter, **how)


def names_in(model):
    """What stands for a name in settings -> the end of a module's name."""
    linear = (torch.nn.Linear, transformers.pytorch_utils.Conv1D)
    modules = {"EMBEDDING": model.get_input_embeddings(), "HEAD": model.get_output_embeddings()}
    names = {what: next((n for n, m in model.named_modules() if m is module), "none")
             for what, module in modules.items()}
    names["LINEAR"] = next(n for n, m in model.named_modules()
                           if isinstance(m, linear) and m is not modules["HEAD"])
    names = {what: name.split(".")[-1] for what, name in names.items()}
    routers = [n for n, m in model.named_modules() if type(m).__name__.endswith("TopKRouter")]
    return names | {"ROUTER": routers[0].split(".")[-1] + ".weight" if routers else "none"}


def with_names(settings, names):
    if isinstance(settings, dict):
        return {names.get(k, k): with_names(v, names) for k, v in settings.items()}
    if isinstance(settings, list):
        return [with_names(one, names) for one in settings]
    return names.get(settings, settings) if isinstance(settings, str) else settings


def adapt(kind, folder, out, seed, settings):
    torch.manual_seed(seed)
    base = of(kind).load(folder)
    settings = dict(settings)
    moved = settings.pop("MOVED", False)
    tables = [*base.get_input_embeddings().parameters(),
              *base.get_output_embeddings().parameters()] if moved else []
    config = peft.LoraConfig(task_type=of(kind).task, init_lora_weights=False,
                             base_model_name_or_path=folder,
                             **with_names(settings, names_in(base)))
    model = peft.get_peft_model(base, config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_B" in name or "lora_embedding_B" in name:
                p.mul_(0.1)             # as after some training: larger ones multiply rounding
            if "modules_to_save" in name or "trainable_tokens" in name:
                p.add_(0.02 * torch.randn_like(p))
        for p in tables:
            p.add_(0.02 * torch.randn_like(p))
    model.save_pretrained(out, save_embedding_layers=True if moved else "auto")


def trained(kind, model, data):
    """The losses of AdamW steps on all data, and whether routers chose clearly."""
    decayed = [p for n, p in model.named_parameters()
               if p.requires_grad and p.dim() >= 2 and "norm" not in n]
    plain = [p for p in model.parameters()
             if p.requires_grad and not any(p is d for d in decayed)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                                   {"params": plain, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.95), eps=reference_decoder.EPS)
    losses, choices = [], reference_decoder.Choices(model)
    for batch in of(kind).batches(data, model):
        optimizer.zero_grad()
        loss = of(kind).loss(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(decayed + plain, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, choices.clear


def has_kinks(model):
    """Whether rounding decides on which side of zero a ReLU's input lies."""
    config = model.config
    return any("relu" in str(getattr(config, key, "")).split("-")[-1]
               for key in ("hidden_act", "activation_function", "feed_forward_proj", "activation"))


def names_of(adapter):
    return safetensors.torch.load_file(f"{adapter}/adapter_model.safetensors").keys()


def train(kind, folder, adapter, data, out):
    """clear: a model in double precision has the same adapter in the end, so that neither a router
    nor a ReLU was decided by rounding."""
    model = adapted(kind, folder, adapter, is_trainable=True).train()
    losses, clear = trained(kind, model, data)
    if has_kinks(model):
        exact = adapted(kind, folder, adapter, is_trainable=True).train().double()
        trained(kind, exact, data)
        ours = dict(exact.named_parameters())
        clear = clear and all(share(p.detach().double(), ours[n].detach()) < CLEARLY
                              for n, p in model.named_parameters() if p.requires_grad)
    model.save_pretrained(out)
    if names_of(out) != names_of(adapter):
        model.save_pretrained(out, save_embedding_layers=True)
    return {"losses": losses, "clear": clear,
            "trained": sum(p.numel() for p in model.parameters() if p.requires_grad)}


def share(a, b):
    """The largest difference as a share of the largest value."""
    return ((a - b).abs().max() / a.abs().max()).item()


@torch.no_grad()
def compare(kind, folder, want, got, data):
    files = [safetensors.torch.load_file(f"{f}/adapter_model.safetensors") for f in (want, got)]
    both = files[0].keys() & files[1].keys()
    shapes = sorted(n for n in both if files[0][n].shape != files[1][n].shape)
    models = [adapted(kind, folder, f).eval() for f in (want, got)]
    batch = next(iter(of(kind).batches(data, models[0])))
    return {"names": sorted(files[0].keys() ^ files[1].keys()), "shapes": shapes,
            "tensors": {n: share(files[0][n], files[1][n]) for n in both if n not in shapes},
            "types": sorted({str(t.dtype) for t in files[1].values()}),
            "logits": share(*(of(kind).logits(m, batch) for m in models))}


@torch.no_grad()
def merged(kind, folder, adapter, other, data):
    models = adapted(kind, folder, adapter).eval(), of(kind).load(other).eval()
    batch = next(iter(of(kind).batches(data, models[0])))
    return share(*(of(kind).logits(m, batch) for m in models))


def drawn(folder):
    tensors = safetensors.torch.load_file(f"{folder}/adapter_model.safetensors")
    a = {n: [t.min().item(), t.max().item(), t.mean().item(), t.std().item(), *t.shape]
         for n, t in tensors.items() if ".lora_A." in n or "lora_embedding_B" in n}
    zero = [t for n, t in tensors.items() if ".lora_B." in n or "lora_embedding_A" in n]
    return {"b_is_zero": not any(t.any() for t in zero), "a": a}


COMMANDS = {f.__name__: f for f in (adapt, train, compare, merged, drawn)}


def main():
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    transformers.logging.disable_progress_bar()
    print(json.dumps([COMMANDS[name](*rest) for name, *rest in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
