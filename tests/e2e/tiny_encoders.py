"""Tiny random encoders as Hugging Face folders, one for each family, task and switch, and lines of
data for each task.

    tiny_encoders.py CASE FOLDER [SEED]     writes one; needs torch and transformers
    tiny_encoders.py                        lists the cases

CASES: name -> (model_type, task, {what differs from SIZES and from the family's own defaults}).
"""
import json
import random
import sys

SIZES = {
    "hidden_size": 48, "dim": 48, "intermediate_size": 80, "hidden_dim": 80,
    "num_hidden_layers": 3, "n_layers": 3, "num_attention_heads": 4, "n_heads": 4,
    "max_position_embeddings": 48, "vocab_size": 131,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "dropout": 0.0,
    "attention_dropout": 0.0, "seq_classif_dropout": 0.0, "embedding_size": 20,
    "local_attention": 8,
}
LABELS = 3
TASKS = {  # (class of the model, labels, problem_type)
    "masked_lm": ("AutoModelForMaskedLM", None, None),
    "classes": ("AutoModelForSequenceClassification", LABELS, "single_label_classification"),
    "regression": ("AutoModelForSequenceClassification", 1, None),
    "numbers": ("AutoModelForSequenceClassification", LABELS, "regression"),
    "labels": ("AutoModelForSequenceClassification", LABELS, "multi_label_classification"),
    "tokens": ("AutoModelForTokenClassification", LABELS, None),
}
# What a recipe says of the task.
OPTIONS = {
    "masked_lm": "task: masked_lm, mask_token: 103, special_tokens: [0, 101, 102, 103]",
    "classes": f"task: classification, num_labels: {LABELS}",
    "regression": "task: classification, num_labels: 1",
    "numbers": f"task: classification, num_labels: {LABELS}",
    "labels": f"task: classification, num_labels: {LABELS}",
    "tokens": f"task: token_classification, num_labels: {LABELS}",
}
LINES, LONGEST = 8 * 20, 32


def each_task(model_type, tasks, **changes):
    return {f"{model_type}_{task}": (model_type, task, changes) for task in tasks}


OF_ROBERTA = {"layer_norm_eps": 1e-5, "type_vocab_size": 2}
CASES = {
    **each_task("bert", TASKS),
    "bert_tokens_one_type": ("bert", "tokens", {"type_vocab_size": 1, "layer_norm_eps": 0.01}),
    **each_task("roberta", TASKS, **OF_ROBERTA),
    **each_task("distilbert", TASKS),
    **each_task("electra", TASKS),
    "electra_wide": ("electra", "masked_lm", {"embedding_size": 64, "layer_norm_eps": 0.01}),
    "electra_even": ("electra", "tokens", {"embedding_size": 48}),
    **each_task("modernbert", TASKS, pad_token_id=0),
    "modernbert_mean": ("modernbert", "classes", {"pad_token_id": 0, "classifier_pooling": "mean"}),
    "modernbert_biases": ("modernbert", "masked_lm", {
        "pad_token_id": 0, "norm_bias": True, "attention_bias": True, "mlp_bias": True,
        "classifier_bias": True, "decoder_bias": False
    }),
    "modernbert_short": ("modernbert", "numbers", {
        "pad_token_id": 0, "local_attention": 5, "classifier_pooling": "mean", "norm_eps": 0.01,
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 100.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}
        }
    }),
    "modernbert_layers": ("modernbert", "tokens", {
        "pad_token_id": 0,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]
    }),
    **each_task("xlm-roberta", ("regression", "labels", "tokens"), **OF_ROBERTA),
}
WITHOUT_TYPES = ("distilbert", "modernbert")        # of tokens
FIRST_TOKEN = 3             # those below are padding and specials: no line has them


def config_of(case):
    import transformers
    model_type, task, changes = CASES[case]
    kind = transformers.CONFIG_MAPPING[model_type]
    known = kind().to_dict()
    _, labels, problem = TASKS[task]
    more = {} if labels is None else {"num_labels": labels, "problem_type": problem}
    return kind(**{k: v for k, v in SIZES.items() if k in known} | more | changes)


def make(case, folder, seed=3):
    """Norms and biases beside what they begin as, so that none can be left out unseen."""
    import torch
    import transformers
    torch.manual_seed(seed)
    config = config_of(case)
    of_task = getattr(transformers, TASKS[CASES[case][1]][0])
    model = of_task.from_config(config, attn_implementation="eager").float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p) * 1.3 / p.shape[1] ** 0.5)
    model.save_pretrained(folder)


def write_lines(path, case, seed):
    """Samples of 5 to LONGEST tokens."""
    draw = random.Random(seed)
    model_type, task, changes = CASES[case]
    with open(path, "w") as out:
        for _ in range(LINES):
            n = draw.randint(5, LONGEST)
            ids = [min(SIZES["vocab_size"] - 1, FIRST_TOKEN + int(draw.expovariate(0.05)))
                   for _ in range(n)]
            line = {"input_ids": ids}
            if model_type not in WITHOUT_TYPES and changes.get("type_vocab_size") != 1:
                first = draw.randint(2, n)
                line["token_type_ids"] = [int(i >= first) for i in range(n)]
            if task == "masked_lm":
                line["labels"] = [i if draw.random() < 0.2 or at == 1 else -100
                                  for at, i in enumerate(ids)]
                line["input_ids"] = [103 if t != -100 else i for i, t in zip(ids, line["labels"])]
            elif task == "classes":
                line["label"] = (ids[0] + ids[-1]) % LABELS
            elif task == "regression":
                line["label"] = (ids[0] - ids[-1]) / 40
            elif task == "numbers":
                line["labels"] = [(i % 7) / 3 - 1 for i in ids[:LABELS]]
            elif task == "labels":
                line["labels"] = [i % 2 if draw.random() < 0.8 else 0.3 for i in ids[:LABELS]]
            else:
                line["labels"] = [i % LABELS if draw.random() < 0.7 else -100 for i in ids]
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        make(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
    else:
        print(*CASES, sep="\n")
