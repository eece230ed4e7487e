"""Contestant: a decoder of Llama's form whose layers lie over all ranks, by torch's tensor and
sequence parallelism (DTensor), at the fastest settings that keep the maths.

    torchrun --standalone --nproc-per-node 2 torch_tensor.py --size 8b --micro-batch 4 --length 2048
        --compile [--asynchronous]

All ranks have one batch of random tokens, another each step. Heads, features and the vocabulary of
embedding and head are divided; norms and sums are of a rank's own tokens; the loss is torch's
loss_parallel. Weights, gradients and AdamW's moments are bf16, gradients are clipped at 1. With
--compile each layer is compiled; --asynchronous lets inductor take products and exchanges apart, so
that one runs beside the other. session.py has the protocol.
"""
import argparse
import os

import session

BATCHES = 16  # made before the first step; steps go round
# hidden, intermediate, layers, query heads, key-value heads, head size, vocabulary
SIZES = {
    "8b": (4096, 14336, 32, 32, 8, 128, 128256),
    "test": (64, 96, 2, 4, 2, 16, 512),
}
THETA, EPSILON = 500000.0, 1e-5


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--asynchronous", action="store_true")
    session.add_arguments(parser)
    return parser.parse_args()


def decoder(torch, size, length):
    nn = torch.nn
    hidden, features, layers, heads, shared, head, vocabulary = SIZES[size]

    def linear(rows, columns):
        return nn.Linear(rows, columns, bias=False)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (
                linear(hidden, n * head) for n in (heads, shared, shared)
            )
            self.o = linear(heads * head, hidden)

        def forward(self, x, turns):
            q, k, v = (
                f(x).unflatten(-1, (-1, head)).transpose(1, 2) for f in (self.q, self.k, self.v)
            )
            q, k = turned(torch, q, turns), turned(torch, k, turns)
            seen = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=True
            )
            return self.o(seen.transpose(1, 2).flatten(2))

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up = linear(hidden, features), linear(hidden, features)
            self.down = linear(features, hidden)

        def forward(self, x):
            return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.behind = (nn.RMSNorm(hidden, eps=EPSILON) for _ in range(2))
            self.attention, self.mlp = Attention(), Gated()

        def forward(self, x, turns):
            x = x + self.attention(self.before(x), turns)
            return x + self.mlp(self.behind(x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, hidden)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.head = nn.RMSNorm(hidden, eps=EPSILON), linear(hidden, vocabulary)

        def forward(self, ids, turns):
            x = self.tokens(ids)
            for layer in self.layers:
                x = layer(x, turns)
            return self.head(self.norm(x))

    return Decoder(), head


def turns_of(torch, head, length, device):
    steps = THETA ** (-torch.arange(0, head, 2, device=device).float() / head)
    angles = torch.arange(length, device=device).float()[:, None] * steps
    return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def turned(torch, x, turns):
    cos, sin = (t.to(x.dtype) for t in turns)
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def divided(torch, model, mesh):
    """Each rank's part of the model."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor import parallel as p

    rows, all_rows = Shard(1), Replicate()
    plan = {
        "tokens": p.RowwiseParallel(input_layouts=all_rows, output_layouts=rows),
        "norm": p.SequenceParallel(),
        "head": p.ColwiseParallel(
            input_layouts=rows, output_layouts=Shard(-1), use_local_output=False
        ),
    }
    p.parallelize_module(model, mesh, plan)
    for layer in model.layers:
        columns, sums = p.ColwiseParallel, p.RowwiseParallel
        p.parallelize_module(
            layer,
            mesh,
            {
                "before": p.SequenceParallel(),
                "behind": p.SequenceParallel(),
                "attention": p.PrepareModuleInput(
                    input_layouts=(rows, None), desired_input_layouts=(all_rows, None)
                ),
                "mlp": p.PrepareModuleInput(
                    input_layouts=(rows,), desired_input_layouts=(all_rows,)
                ),
                **{f"attention.{name}": columns() for name in "qkv"},
                "attention.o": sums(output_layouts=rows),
                "mlp.gate": columns(),
                "mlp.up": columns(),
                "mlp.down": sums(output_layouts=rows),
            },
        )


def main():
    args = arguments()
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import loss_parallel

    device, ranks, world = session.ranks_of(session.device_of(args.device))
    mesh = init_device_mesh(device.type, (world,))
    torch.manual_seed(1)
    with device:
        model, head = decoder(torch, args.size, args.length)
    model.to(torch.bfloat16)
    divided(torch, model, mesh)
    if args.compile:
        torch._dynamo.config.recompile_limit = 4 * len(model.layers)
        if args.asynchronous:
            from torch.distributed._symmetric_memory import enable_symm_mem_for_group

            torch._inductor.config._micro_pipeline_tp = True
            enable_symm_mem_for_group(mesh.get_group().group_name)
        for layer in model.layers:
            layer.compile(fullgraph=True, dynamic=False)
    fused = device.type == "cuda"
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-5, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=fused
    )
    turns = turns_of(torch, head, args.length, device)
    ids = torch.randint(
        0,
        min(50257, SIZES[args.size][-1]),
        (BATCHES, args.micro_batch, args.length + 1),
        pin_memory=fused,
    )
    way = "asynchronous" if args.asynchronous else "compiled" if args.compile else "eager"
    run = session.Session(
        device,
        args.warm_up_steps,
        args.warm_up_seconds,
        ranks=ranks,
        tool=f"torch {torch.__version__} tensor parallel, {way} layers",
        model=f"llama-{args.size}",
        micro_batch_size=args.micro_batch,
        sequence_length=args.length,
        tokens_per_step=args.micro_batch * args.length,
        samples_per_step=args.micro_batch,
        world_size=world,
    )

    def step(i):
        batch = ids[i % BATCHES].to(device, non_blocking=True)
        with loss_parallel():
            logits = model(batch[:, :-1], turns)
            loss = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).float(), batch[:, 1:].flatten()
            )
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    loss = step(0)
    while run.after_step():
        loss = step(run.steps)
    run.done(loss.full_tensor() if hasattr(loss, "full_tensor") else loss)
    torch.distributed.destroy_process_group()


main()
