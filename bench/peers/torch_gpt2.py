"""Contestant: GPT-2 in plain torch at its best settings: bf16 autocast over fp32 weights, fused attention and AdamW, tf32 for what stays fp32.

    torch_gpt2.py --size 124m --micro-batch 64 --length 1024 [--compile] [--compile-mode reduce-overhead] [--attention cudnn]
    torchrun --standalone --nproc-per-node 2 torch_gpt2.py ...    DistributedDataParallel over the host's GPUs; the micro-batch is each rank's
    ... --shard                                                   FSDP2 in its place: weights, gradients and states in shards, gathered block by block in bf16

Random tokens, another batch each step, from pinned memory. No step waits for the host or the other way round. session.py has the protocol.
"""
import argparse
import contextlib

import gpt2_model
import session

BATCHES = 16                                        # made before the first step; steps go round


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=gpt2_model.SIZES, required=True, help="`test` is for trying the protocol")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--compile-mode", choices=("default", "reduce-overhead", "max-autotune-no-cudagraphs"), default="default")
    parser.add_argument("--attention", choices=("sdpa", "flash", "cudnn", "efficient", "math"), default="sdpa", help="sdpa: torch's own choice")
    parser.add_argument("--shard", action="store_true")
    session.add_arguments(parser)
    args = parser.parse_args()

    import torch
    import torch.distributed.fsdp
    from torch.nn.attention import SDPBackend, sdpa_kernel
    device, ranks, world = session.ranks_of(session.device_of(args.device))
    layers, heads, width = gpt2_model.SIZES[args.size]
    compiled = f"compile{'' if args.compile_mode == 'default' else ' ' + args.compile_mode}" if args.compile else "eager"
    run = session.Session(
        device, args.warm_up_steps, args.warm_up_seconds, ranks=ranks, tool=f"torch {compiled}{'' if world == 1 else ' FSDP2' if args.shard else ' DDP'}", model=f"gpt2 {args.size}", micro_batch_size=args.micro_batch,
        sequence_length=args.length, tokens_per_step=world * args.micro_batch * args.length, samples_per_step=world * args.micro_batch, world_size=world)

    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    with device:
        model = gpt2_model.Gpt2(layers, heads, width, args.length, gpt2_model.PADDED_VOCABULARY)
    run.facts["parameters"] = sum(p.numel() for p in model.parameters())
    run.facts["attention"] = args.attention
    if args.attention == "sdpa" and device.type == "cuda":
        q = torch.empty(args.micro_batch, args.length, heads, width // heads, device=device, dtype=torch.bfloat16, requires_grad=True).transpose(1, 2)
        run.facts["attention"] = f"sdpa: {SDPBackend(torch._fused_sdp_choice(q, q, q, is_causal=True)).name}"
        del q
    replica = model
    if args.shard:                                  # blocks and the loss are compiled one by one, for gathers lie between them
        mixed = torch.distributed.fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in model.blocks:
            if args.compile:
                block.compile(mode=args.compile_mode)
            torch.distributed.fsdp.fully_shard(block, mp_policy=mixed)
        torch.distributed.fsdp.fully_shard(model, mp_policy=mixed)
        if args.compile:
            model.loss_of = torch.compile(model.loss_of, mode=args.compile_mode)
    elif world > 1:
        replica = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None, gradient_as_bucket_view=True, static_graph=True)
    optimizer = gpt2_model.adamw(model, 1e-4)
    loss_of = torch.compile(replica, mode=args.compile_mode) if args.compile and not args.shard else replica
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
                "math": SDPBackend.MATH}
    attention = sdpa_kernel(backends[args.attention]) if args.attention in backends else contextlib.nullcontext()
    host = torch.randint(gpt2_model.VOCABULARY, (BATCHES, 2, args.micro_batch, args.length), pin_memory=device.type == "cuda")

    def step(i):
        tokens, targets = host[i % BATCHES].to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16):
            loss = loss_of(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    with attention:
        loss = step(0)
        while run.after_step():
            loss = step(run.steps)
    run.done(loss)
    if world > 1:
        torch.distributed.destroy_process_group()


main()
