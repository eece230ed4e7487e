"""Contestant: Hugging Face Trainer on BertForSequenceClassification (2 labels, random weights), samples of one length.

    trainer_bert.py --size large --micro-batch 32 [--precision bf16] [--compile] [--dropout 0.1 --attention-dropout 0.1]
    trainer_bert.py --size large --micro-batch 1 --accumulation 4 --checkpointing --precision fp16 --optimizer adafactor [--data samples.jsonl]

trainer_loop.py has the loop and its settings, session.py the protocol.
"""
import argparse
import importlib.util
import os
import sys

import session

SIZES = {"large": (24, 16, 1024), "base": (12, 12, 768), "test": (2, 2, 64)}       # layers, heads, width
OPTIMIZERS = {"adamw": "adamw_torch_fused", "adafactor": "adafactor", "adamw_8bit": "adamw_bnb_8bit"}   # as optim= has them


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, required=True, help="`test` is for trying the protocol")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--precision", choices=("bf16", "fp16", "tf32", "fp32"), default="bf16")
    parser.add_argument("--accumulation", type=int, default=1, help="forwards of a step")
    parser.add_argument("--checkpointing", action="store_true", help="recomputes activations in backward")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--data", help="samples as JSON lines, padded to --length; random ones of that length where it is not named")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--dropout", type=float, default=0.0, help="of embeddings, residual branches and the classifier (BERT's own: 0.1)")
    parser.add_argument("--attention-dropout", type=float, default=0.0, help="of attention's weights (BERT's own: 0.1)")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--wait", action="store_true", help="loads, says so, and touches no GPU before the line `begin`")
    session.add_arguments(parser)
    return parser.parse_args()


def refuse(sentence):
    print(sentence, file=sys.stderr)
    raise SystemExit(69)


def main():
    args = arguments()
    if args.optimizer == "adamw_8bit" and not importlib.util.find_spec("bitsandbytes"):
        refuse(f"optim=adamw_bnb_8bit needs bitsandbytes, which {sys.executable} does not find")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")                  # the Trainer would split its batches over all that it sees
    import torch
    import transformers
    import trainer_loop
    import trainer_samples
    bert, _, _ = transformers.BertForSequenceClassification, transformers.Trainer, transformers.TrainingArguments    # loads them
    samples_per_step = args.micro_batch * args.accumulation
    methods = [args.precision, *(["compile"] if args.compile else []), *(["checkpointing"] if args.checkpointing else []), args.optimizer]
    run = session.Session(
        None, args.warm_up_steps, args.warm_up_seconds, tool=f"Hugging Face Trainer {' '.join(methods)}", model=f"bert {args.size}",
        micro_batch_size=args.micro_batch, accumulation=args.accumulation, sequence_length=args.length, tokens_per_step=samples_per_step * args.length,
        samples_per_step=samples_per_step, dropout=args.dropout, attention_dropout=args.attention_dropout)
    if args.wait:
        run.wait_to_begin()
    device = run.device = session.device_of(args.device)

    transformers.set_seed(1)
    layers, heads, width = SIZES[args.size]
    config = transformers.BertConfig(
        vocab_size=30522, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width, num_labels=2,
        max_position_embeddings=max(512, args.length), hidden_dropout_prob=args.dropout, classifier_dropout=args.dropout,
        attention_probs_dropout_prob=args.attention_dropout, attn_implementation="sdpa")
    with device:
        model = bert(config).float()
    run.facts["parameters"] = sum(p.numel() for p in model.parameters())
    trainer_loop.train(
        run, model, trainer_samples.Read(args.data, args.length) if args.data else trainer_samples.Random(args.length), args.precision,
        per_device_train_batch_size=args.micro_batch, gradient_accumulation_steps=args.accumulation, gradient_checkpointing=args.checkpointing,
        optim=OPTIMIZERS[args.optimizer], torch_compile=args.compile, dataloader_num_workers=args.workers, dataloader_persistent_workers=args.workers > 0)


main()
