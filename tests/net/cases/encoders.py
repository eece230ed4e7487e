"""Encoders with each of their tasks, and models that read one text and write another."""

from .base import BF16, FP16, SIZES, case, jsonl, ranks

FULL = "memory.activation_checkpoint=full"
TEXTS = jsonl("texts", more=", target_length: 16")


SPECIAL = {
    "roberta": [0, 1, 2, 3, 50264],
    "modernbert": [50279, 50280, 50281, 50282, 50283, 50284],
}


def masked_lm(family):
    special = SPECIAL.get(family, [0, 101, 102, 103])
    return f"task: masked_lm, mask_token: 103, special_tokens: {special}"


def encoder(family, task=None, data="lines", more=""):
    task = task or masked_lm(family)
    options = f"num_layers: 3, {SIZES}, vocab_size: 200, {task}{more}"
    return (f"{{type: {family}, options: {{{options}}}}}", jsonl(data))


def labels(family, data, labels=3, more=""):
    return encoder(family, f"task: classification, num_labels: {labels}{more}", data)


def tags(family):
    return encoder(family, "task: token_classification, num_labels: 3", "tags")


ENCODERS = {
    "roberta": case(encoder("roberta"), BF16),
    "distilbert": case(encoder("distilbert")),
    "electra: narrow embeddings": case(encoder("electra", more=", embedding_size: 16"), BF16),
    "modernbert: windows, gates": case(encoder("modernbert"), BF16),
    "modernbert, recomputed": case(encoder("modernbert"), FULL),
    "modernbert, classes": case(labels("modernbert", "pairs"), BF16),
    "modernbert, zero3": case(encoder("modernbert"), *ranks("zero3", 2)),
    "bert, tags": case(tags("bert")),
    "distilbert, tags, bf16": case(tags("distilbert"), BF16),
    "bert, a number": case(labels("bert", "numbers", 1), gpus=("",)),
    "roberta, several labels": case(
        labels("roberta", "some_labels", more=", problem_type: multi_label_classification"),
        gpus=("",),
    ),
    "electra, classes, ddp": case(labels("electra", "pairs"), *ranks("ddp", 2), BF16),
}


def seq2seq(family, more=""):
    options = (
        "num_layers: 2, num_decoder_layers: 2, num_heads: 2, hidden_size: 32, "
        f"intermediate_size: 48, vocab_size: 200{more}"
    )
    return (f"{{type: {family}, options: {{{options}}}}}", TEXTS)


WIDE = ", head_size: 16"
SEQ2SEQ = {
    "t5": case(seq2seq("t5", WIDE)),
    "t5, bf16, dropout": case(seq2seq("t5", WIDE + ", dropout: 0.1, label_smoothing: 0.1"), BF16),
    "t5, recomputed": case(seq2seq("t5", WIDE), FULL),
    "t5, more layers write": case(
        seq2seq("t5", WIDE), "model.options.num_decoder_layers=3", "data.pad_to=[16, 32]"
    ),
    "t5, zero3": case(seq2seq("t5", WIDE), *ranks("zero3", 2), BF16),
    "bart: learned positions": case(seq2seq("bart", ", max_positions: 40, dropout: 0.1"), BF16),
    "bart, recomputed: mlp": case(
        seq2seq("bart", ", max_positions: 40"), FP16, "memory.activation_checkpoint=mlp"
    ),
    "bart, ddp": case(seq2seq("bart", ", max_positions: 40"), *ranks("ddp", 2)),
    "mbart: norms before": case(seq2seq("mbart", ", max_positions: 40")),
    "mbart, optimizer on the host": case(
        seq2seq("mbart", ", max_positions: 40"), BF16, "memory.optimizer_offload.where=cpu"
    ),
}

CASES = ENCODERS | SEQ2SEQ
