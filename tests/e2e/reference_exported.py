"""Reference figures from transformers and torch.optim for models that scripts/trainx-export wrote,
never from trainx, and the exports themselves.

    reference_exported.py all                       commands of the list of lists on stdin: the list
                                                    of their answers
    reference_exported.py make CASE FOLDER          a tiny random folder
    reference_exported.py export FOLDER OUT TASK [WORD ...]     {"said": [...]}, or
                                                    {"refused": "..."}; words: fp32 (no graph of
                                                    bf16), fp16 (one of fp16 as well), wrong (a
                                                    layer whose gradient
                                                    torch.export loses)
    reference_exported.py train FOLDER TASK DATA OUT    5 AdamW steps in the order of the data, and
                                                    saves the model: {"losses": [...]}
    reference_exported.py evaluate FOLDER TASK DATA     {"loss": mean over the targets of DATA}
    reference_exported.py compare FOLDER OTHER TASK     how far OTHER's logits are from FOLDER's,
                                                    and what from_pretrained says of names
"""
import contextlib
import importlib.machinery
import importlib.util
import json
import logging
import pathlib
import struct
import sys
import warnings

import torch
import transformers

from reference_exported_data import (BATCH, LABELS, LENGTH, STEPS, TARGET_LENGTH, TASKS,
                                     VOCABULARY)

NO_DROPOUT = {"gpt2": dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)}
SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=VOCABULARY,
             max_position_embeddings=48)


def config(case):
    if case.startswith("gpt2"):
        how = {} if case == "gpt2_dropout" else NO_DROPOUT["gpt2"]
        return transformers.GPT2Config(n_embd=32, n_layer=3 if case == "gpt2" else 2,
                                       n_head=4, vocab_size=VOCABULARY, n_positions=48, **how)
    if case == "llama":
        return transformers.LlamaConfig(**SIZES, intermediate_size=64, num_key_value_heads=2)
    if case == "falcon":
        return transformers.FalconConfig(**SIZES, hidden_dropout=0.0, attention_dropout=0.0)
    if case == "gpt_neo":
        return transformers.GPTNeoConfig(
            hidden_size=32, num_layers=2, num_heads=4, vocab_size=VOCABULARY,
            max_position_embeddings=48, attention_types=[[["global", "local"], 1]], window_size=8,
            resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0)
    if case == "t5":
        return transformers.T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4,
            vocab_size=VOCABULARY, dropout_rate=0.0, decoder_start_token_id=0)
    if case == "apertus":       # its activations have buffers without dims
        return transformers.ApertusConfig(**SIZES, intermediate_size=64, num_key_value_heads=2)
    if case in ("mbart", "marian"):     # the one wraps targets, the other's positions are fixed
        of_case = transformers.MBartConfig if case == "mbart" else transformers.MarianConfig
        return of_case(
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
            vocab_size=VOCABULARY, max_position_embeddings=48, dropout=0.0, pad_token_id=0,
            decoder_start_token_id=0, eos_token_id=2, forced_eos_token_id=2)
    if case == "bert":
        return transformers.BertConfig(**SIZES, intermediate_size=64, num_labels=LABELS,
                                       hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    raise ValueError(case)


CLASSES = {"causal_lm": "AutoModelForCausalLM", "seq2seq": "AutoModelForSeq2SeqLM",
           "classification": "AutoModelForSequenceClassification"}


def make(case, folder):
    torch.manual_seed(3)
    of_task = getattr(transformers, CLASSES[TASKS.get(case, "causal_lm")])
    model = of_task.from_config(config(case))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.1)
    model.save_pretrained(folder)


def tool():
    path = str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "trainx-export")
    loader = importlib.machinery.SourceFileLoader("trainx_export", path)
    spec = importlib.util.spec_from_loader("trainx_export", loader)
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes
    return module


class Doubled(torch.autograd.Function):
    """Its gradient is not that of what its forward calls: an exporter that follows the calls alone
    loses it."""
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@contextlib.contextmanager
def wrong_gradients():
    mlp = transformers.models.gpt2.modeling_gpt2.GPT2MLP
    own = mlp.forward
    mlp.forward = lambda self, x: Doubled.apply(own(self, x))
    try:
        yield
    finally:
        mlp.forward = own


def export(folder, out, task, *words):
    exporter = tool()
    with wrong_gradients() if "wrong" in words else contextlib.nullcontext():
        try:
            return {"said": exporter.export(pathlib.Path(folder), pathlib.Path(out), task, None,
                                            low=() if "fp32" in words else
                                            ("bf16", "fp16") if "fp16" in words else ("bf16",))}
        except exporter.Refusal as e:
            return {"refused": str(e)}


def batches(data, task):
    """(tokens, lengths, targets)"""
    if task != "causal_lm":
        lines = [json.loads(line) for line in open(data)]
        for first in range(0, len(lines), BATCH):
            rows = lines[first:first + BATCH]

            def padded(key, value, length):
                return torch.tensor([r[key] + [value] * (length - len(r[key])) for r in rows])
            lengths = torch.tensor([len(r["input_ids"]) for r in rows])
            yield (padded("input_ids", 0, LENGTH), lengths,
                   torch.tensor([r["label"] for r in rows]) if task == "classification"
                   else padded("labels", -100, TARGET_LENGTH))
        return
    raw = pathlib.Path(data).read_bytes()[1024:]
    ids = torch.tensor(struct.unpack(f"<{len(raw) // 2}H", raw))
    for at in range(0, len(ids) - 1, BATCH * LENGTH):
        end = min(at + BATCH * LENGTH, len(ids) - 1)
        yield ids[at:end].view(-1, LENGTH), None, ids[at + 1:end + 1].view(-1, LENGTH)


def load(folder, task, **how):
    of_task = getattr(transformers, CLASSES[task])
    return of_task.from_pretrained(folder, dtype=torch.float32, **how)


def logits_of(model, tokens, lengths, targets):
    given = {} if lengths is None else {
        "attention_mask": (torch.arange(LENGTH)[None] < lengths[:, None]).long()}
    if model.config.is_encoder_decoder:
        given["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(targets)
    return model(input_ids=tokens, **given).logits


def loss_of(model, tokens, lengths, targets):
    """(sum, count). Rows without targets are left out: some models cannot shift them."""
    has = targets != -100 if targets.dim() == 1 else (targets != -100).any(1)
    logits = logits_of(model, tokens[has], lengths[has] if lengths is not None else None,
                       targets[has])
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                                             targets[has].reshape(-1), reduction="sum")
    return loss, int((targets != -100).sum())


@torch.no_grad()
def evaluate(folder, task, data):
    model = load(folder, task).eval()
    sums, counts = zip(*(loss_of(model, *batch) for batch in batches(data, task)))
    return {"loss": float(sum(sums)) / sum(counts)}


def train(folder, task, data, out):
    model = load(folder, task).train()
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-6)
    losses = []
    for tokens, lengths, targets in batches(data, task):
        loss, count = loss_of(model, tokens, lengths, targets)
        loss = loss / count
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.save_pretrained(out)
    return {"losses": losses}


@torch.no_grad()
def compare(folder, other, task):
    model, (found, names) = load(folder, task), load(other, task, output_loading_info=True)
    tokens = torch.arange(2 * LENGTH).view(2, LENGTH) % (VOCABULARY - 3) + 3
    lengths = None if task == "causal_lm" else torch.tensor([LENGTH, LENGTH - 7])
    targets = tokens[:, :TARGET_LENGTH]
    want, got = [logits_of(m.eval(), tokens, lengths, targets) for m in (model, found)]
    return {"difference": (want - got).abs().max().item(), "largest": want.abs().max().item(),
            "missing": sorted(names["missing_keys"]),
            "unexpected": sorted(names["unexpected_keys"]),
            "type": type(found).__name__, "wanted_type": type(model).__name__}


COMMANDS = {"make": make, "export": export, "train": train, "evaluate": evaluate,
            "compare": compare}


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)            # what others do on the cores beside it is not slowed
    command, *words = sys.argv[1:]
    if command == "all":
        answer = [COMMANDS[name](*rest) for name, *rest in json.load(sys.stdin)]
    else:
        answer = COMMANDS[command](*words)
    if answer is not None:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
