"""Contestant: a model of transformers with new weights, in plain torch at its best settings: bf16 autocast over fp32 weights, fused attention and AdamW, torch.compile.
Decoders learn the next token, encoders two classes, encoder-decoders targets of a quarter of the length.

    torch_transformers.py --family qwen2 --size 0.5b --micro-batch 16 --length 1024 [--compile]
    ... --weights bf16      weights, gradients and states in bf16, where fp32 has no room
    torchrun --standalone --nproc-per-node 2 torch_transformers.py ... --shard     FSDP2: weights, gradients and states of a decoder in shards, gathered layer by layer

Random tokens, another batch each step, from pinned memory. No step waits for the host or the other way round. session.py has the protocol.
"""
import argparse
import os

import session

BATCHES = 16                                        # made before the first step; steps go round
ROPE = {"rope_type": "default", "rope_theta": 1e6}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
GPT2 = {"n_positions": 1024, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def sizes(hidden, mlp, layers, heads, key_value_heads, vocabulary, tied, **more):
    return {"hidden_size": hidden, "intermediate_size": mlp, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_value_heads,
            "vocab_size": vocabulary, "tie_word_embeddings": tied, **more}


MODELS = {                                          # published sizes
    ("qwen2", "0.5b"): sizes(896, 4864, 24, 14, 2, 151936, True, rope_parameters=ROPE),
    ("qwen2", "1.5b"): sizes(1536, 8960, 28, 12, 2, 151936, True, rope_parameters=ROPE),
    ("qwen2", "3b"): sizes(2048, 11008, 36, 16, 2, 151936, True, rope_parameters=ROPE),
    ("qwen2", "7b"): sizes(3584, 18944, 28, 28, 4, 152064, False, rope_parameters=ROPE),
    ("llama", "8b"): sizes(4096, 14336, 32, 32, 8, 128256, False, head_dim=128, rms_norm_eps=1e-5, rope_parameters=LLAMA3 | {"factor": 8.0}),
    ("llama", "1b"): sizes(2048, 8192, 16, 32, 8, 128256, True, head_dim=64, rms_norm_eps=1e-5, rope_parameters=LLAMA3),
    ("olmoe", "1b-7b"): sizes(2048, 1024, 16, 16, 16, 50304, False, num_experts=64, num_experts_per_tok=8, rope_parameters=ROPE | {"rope_theta": 1e4}),
    ("olmoe", "16x4"): sizes(256, 256, 4, 8, 8, 4096, False, num_experts=16, num_experts_per_tok=4, eos_token_id=1, rope_parameters=ROPE | {"rope_theta": 1e4}),
    # without dropout
    ("gpt2", "124m"): GPT2 | {"n_layer": 12, "n_head": 12, "n_embd": 768},
    ("modernbert", "base"): {"classifier_pooling": "mean", "num_labels": 2, "pad_token_id": 0},
    ("t5", "base"): {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_decoder_layers": 12, "num_heads": 12, "vocab_size": 32128, "dropout_rate": 0.0, "decoder_start_token_id": 0},
    # for trying the protocol
    ("llama", "test"): sizes(64, 96, 2, 4, 2, 256, True, rope_parameters=ROPE),
    ("gpt2", "test"): GPT2 | {"n_layer": 2, "n_head": 2, "n_embd": 64},
    ("qwen2", "test"): sizes(64, 96, 2, 4, 2, 256, True, rope_parameters=ROPE),
    ("modernbert", "test"): {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 256, "num_labels": 2, "pad_token_id": 0},
    ("t5", "test"): {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "vocab_size": 256, "dropout_rate": 0.0, "decoder_start_token_id": 0},
}
CLASSES = {"modernbert": "AutoModelForSequenceClassification", "t5": "AutoModelForSeq2SeqLM"}      # others: decoders


def model_of(transformers, config, element, classes, **how):
    """With torch's fused attention where the model knows it."""
    kind = getattr(transformers, classes)
    try:
        return kind.from_config(config, attn_implementation="sdpa", dtype=element, **how).train()
    except ValueError:
        return kind.from_config(config, attn_implementation="eager", dtype=element, **how).train()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=sorted({family for family, _ in MODELS}), required=True)
    parser.add_argument("--size", choices=sorted({size for _, size in MODELS}), required=True)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--accumulate", type=int, default=1, help="micro-batches a step")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--weights", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16", help="bf16: of products, by autocast")
    parser.add_argument("--experts", choices=("eager", "batched_mm", "grouped_mm"), help="how experts are computed; default: transformers'")
    parser.add_argument("--shard", action="store_true")
    session.add_arguments(parser)
    args = parser.parse_args()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    import torch
    import torch.distributed.fsdp
    import transformers

    device, ranks, world = session.ranks_of(session.device_of(args.device))
    tokens = args.length + (args.length // 4 if args.family == "t5" else 0)       # of a sample
    run = session.Session(
        device, args.warm_up_steps, args.warm_up_seconds, ranks=ranks, tool=f"transformers {'compile' if args.compile else 'eager'}{' FSDP2' if args.shard else ''}", model=f"{args.family} {args.size}", micro_batch_size=args.micro_batch,
        sequence_length=args.length, tokens_per_step=world * args.accumulate * args.micro_batch * tokens, samples_per_step=world * args.accumulate * args.micro_batch,
        world_size=world)
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    lengths = {} if args.family in ("t5", "gpt2") else {"max_position_embeddings": max(args.length, 2048)}
    config = transformers.CONFIG_MAPPING[args.family](**MODELS[args.family, args.size], **lengths, **({} if args.family in CLASSES else {"use_cache": False}))
    element = torch.bfloat16 if args.weights == "bf16" else torch.float32
    with device:
        how = {"experts_implementation": args.experts} if args.experts else {}
        model = model_of(transformers, config, element, CLASSES.get(args.family, "AutoModelForCausalLM"), **how)
    run.facts["parameters"] = sum(p.numel() for p in model.parameters())
    if args.shard:                                  # layers are compiled one by one, for gathers lie between them
        mixed = torch.distributed.fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in model.model.layers:
            if args.compile:
                layer.compile()
            torch.distributed.fsdp.fully_shard(layer, mp_policy=mixed)
        torch.distributed.fsdp.fully_shard(model, mp_policy=mixed)
    decayed, plain = ([p for p in model.parameters() if (p.dim() >= 2) == large] for large in (True, False))
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-5, betas=(0.9, 0.95), eps=1e-8, fused=True)

    def entropy_of(logits, targets):
        return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    entropy = torch.compile(entropy_of) if args.compile and args.shard else entropy_of

    def loss_of(tokens, targets):
        if args.family in CLASSES:
            return model(input_ids=tokens, labels=targets).loss
        return entropy(model(input_ids=tokens).logits, targets)

    step_loss = torch.compile(loss_of) if args.compile and not args.shard else loss_of
    vocabulary = min(30000 if args.family in CLASSES else 50257, config.vocab_size)
    pinned = device.type == "cuda"
    host = torch.randint(2, vocabulary, (BATCHES, args.micro_batch, args.length), pin_memory=pinned)
    targets_like = {"t5": (vocabulary, (args.length // 4,)), "modernbert": (2, ())}
    most, shape = targets_like.get(args.family, (vocabulary, (args.length,)))
    host_targets = torch.randint(most, (BATCHES, args.micro_batch, *shape), pin_memory=pinned)

    def step(i):
        for k in range(i * args.accumulate, (i + 1) * args.accumulate):
            tokens, targets = (x[k % BATCHES].to(device, non_blocking=True) for x in (host, host_targets))
            with torch.autocast(device.type, torch.bfloat16, enabled=args.precision == "bf16"):
                loss = step_loss(tokens, targets) / args.accumulate
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach() * args.accumulate

    loss = step(0)
    while run.after_step():
        loss = step(run.steps)
    run.done(loss)
    if world > 1:
        torch.distributed.destroy_process_group()


main()
