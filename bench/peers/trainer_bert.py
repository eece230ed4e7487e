"""Contestant: Hugging Face Trainer on BertForSequenceClassification (2 labels, random weights), full-length samples.

    trainer_bert.py --size large --micro-batch 32 [--precision bf16] [--compile] [--dropout 0.1 --attention-dropout 0.1]

The Trainer runs its own loop: a callback after each step begins and ends the rounds. Its settings are the fastest that keep its maths: fused AdamW,
no look at the loss on the host after each step, nothing saved or logged. session.py has the protocol.
"""
import argparse
import os
import tempfile

import session

SIZES = {"large": (24, 16, 1024), "base": (12, 12, 768), "test": (2, 2, 64)}       # layers, heads, width
SAMPLES, DISTINCT = 2**18, 512                      # an epoch is long, so that none ends inside a round; its samples go round


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, required=True, help="`test` is for trying the protocol")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--precision", choices=("bf16", "tf32", "fp32"), default="bf16")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--dropout", type=float, default=0.0, help="of embeddings, residual branches and the classifier (BERT's own: 0.1)")
    parser.add_argument("--attention-dropout", type=float, default=0.0, help="of attention's weights (BERT's own: 0.1; trainx has none)")
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    session.add_arguments(parser)
    args = parser.parse_args()

    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")                  # the Trainer would split its batches over all that it sees
    import torch
    import transformers
    device = session.device_of(args.device)
    layers, heads, width = SIZES[args.size]
    run = session.Session(
        device, args.warm_up_steps, args.warm_up_seconds, tool=f"Hugging Face Trainer {args.precision}{' compile' if args.compile else ''}",
        model=f"bert {args.size}", micro_batch_size=args.micro_batch, sequence_length=args.length, tokens_per_step=args.micro_batch * args.length,
        samples_per_step=args.micro_batch, dropout=args.dropout, attention_dropout=args.attention_dropout)

    class Samples(torch.utils.data.Dataset):
        def __init__(self):
            generator = torch.Generator().manual_seed(0)
            self.tokens = torch.randint(1000, 30000, (DISTINCT, args.length), generator=generator)
            self.labels = torch.randint(2, (DISTINCT,), generator=generator)

        def __len__(self):
            return SAMPLES

        def __getitem__(self, i):
            return {"input_ids": self.tokens[i % DISTINCT], "labels": self.labels[i % DISTINCT]}

    class Rounds(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, control, **kwargs):
            control.should_training_stop = not run.after_step()

    class Trainer(transformers.Trainer):
        """Keeps the last loss, which the Trainer only adds up."""

        def training_step(self, *args, **kwargs):
            self.last_loss = super().training_step(*args, **kwargs)
            return self.last_loss

    torch.set_float32_matmul_precision("highest" if args.precision == "fp32" else "high")
    transformers.set_seed(1)
    config = transformers.BertConfig(
        vocab_size=30522, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width, num_labels=2,
        max_position_embeddings=max(512, args.length), hidden_dropout_prob=args.dropout, classifier_dropout=args.dropout,
        attention_probs_dropout_prob=args.attention_dropout)
    model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="sdpa").float()
    run.facts["parameters"] = sum(p.numel() for p in model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, max_steps=10**9, per_device_train_batch_size=args.micro_batch, learning_rate=1e-5, lr_scheduler_type="constant",
            optim="adamw_torch_fused", max_grad_norm=1.0, bf16=args.precision == "bf16", torch_compile=args.compile, use_cpu=device.type == "cpu",
            dataloader_num_workers=args.workers, dataloader_persistent_workers=args.workers > 0, dataloader_pin_memory=device.type == "cuda",
            save_strategy="no", logging_strategy="no", logging_nan_inf_filter=False, report_to="none", disable_tqdm=True, log_level="error")
        trainer = Trainer(model=model, args=arguments, train_dataset=Samples(), callbacks=[Rounds()])
        trainer.train()
    run.done(trainer.last_loss)


main()
