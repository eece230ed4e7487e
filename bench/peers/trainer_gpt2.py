"""Contestant: Hugging Face Trainer on GPT2LMHeadModel (random weights and tokens), on several GPUs as people have it.

    trainer_gpt2.py --micro-batch 4 [--precision bf16]                                      nn.DataParallel over all GPUs that it sees
    torchrun --standalone --nproc-per-node 2 trainer_gpt2.py --micro-batch 4 ...            DistributedDataParallel

The micro-batch is each GPU's. trainer_loop.py has the loop and its settings, session.py the protocol.
"""
import argparse
import os

import session

SIZES = {"124m": (12, 12, 768), "test": (2, 2, 64)}                                         # layers, heads, width


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="124m", help="`test` is for trying the protocol")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--precision", choices=("bf16", "fp16", "tf32", "fp32"), default="fp32")
    session.add_arguments(parser)
    args = parser.parse_args()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch
    import transformers
    import trainer_loop
    import trainer_samples
    device, ranks, world = session.ranks_of(session.device_of(args.device))
    gpus = world if world > 1 or device.type == "cpu" else torch.cuda.device_count()
    way = "DDP" if world > 1 else "DP" if gpus > 1 else ""
    run = session.Session(
        device, args.warm_up_steps, args.warm_up_seconds, ranks=ranks, tool=f"Hugging Face Trainer {args.precision} {way}".strip(), model=f"gpt2 {args.size}", micro_batch_size=args.micro_batch,
        sequence_length=args.length, tokens_per_step=gpus * args.micro_batch * args.length, samples_per_step=gpus * args.micro_batch, world_size=gpus)
    transformers.set_seed(1)
    layers, heads, width = SIZES[args.size]
    config = transformers.GPT2Config(n_layer=layers, n_head=heads, n_embd=width, n_positions=args.length, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="sdpa")
    with device:
        model = transformers.GPT2LMHeadModel(config).float()
    run.facts["parameters"] = sum(p.numel() for p in model.parameters())
    trainer_loop.train(run, model, trainer_samples.Tokens(args.length), args.precision, per_device_train_batch_size=args.micro_batch,
                       **({"ddp_find_unused_parameters": False} if world > 1 else {}))
    if world > 1:
        torch.distributed.destroy_process_group()


main()
