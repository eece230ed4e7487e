"""Contestant: low-rank adapters of PEFT on a decoder of transformers with new weights, at the fastest settings that keep the maths.

    peft_lora.py --model llama-8b --micro-batch 4 --length 2048 --compile [--recompute]

Base weights are bf16 and frozen. Adapters of rank 16, alpha 32, on all linear layers but the head, in bf16; fused AdamW, gradients clipped at 1. Random tokens,
another batch each step, from pinned memory. With --compile layers, the last norm and the loss are compiled one by one, for whole models take minutes; the loss is
Liger's, which makes no logits, where liger_kernel can be imported. `tool` in the last line says which. session.py has the protocol.

transformers hands attention a mask of all pairs under torch.compile, which rules the fused kernels out: `causal` is torch's attention without one.
"""
import argparse
import importlib.util
import os

import session

BATCHES = 16                                        # made before the first step; steps go round
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


def sizes(family, hidden, mlp, layers, heads, key_value_heads, head, vocabulary, tied, **more):
    return family, {"hidden_size": hidden, "intermediate_size": mlp, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_value_heads,
                    "head_dim": head, "vocab_size": vocabulary, "tie_word_embeddings": tied, **more}


MODELS = {                                          # published sizes
    "llama-8b": sizes("llama", 4096, 14336, 32, 32, 8, 128, 128256, False, rms_norm_eps=1e-5, rope_parameters=LLAMA3),
    "qwen3-0.6b": sizes("qwen3", 1024, 3072, 28, 16, 8, 128, 151936, True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
    # for trying the protocol
    "llama-test": sizes("llama", 64, 96, 2, 4, 2, 16, 256, False, rms_norm_eps=1e-5, rope_parameters=LLAMA3),
    "qwen3-test": sizes("qwen3", 64, 96, 2, 4, 2, 16, 256, True, rope_parameters={"rope_type": "default", "rope_theta": 1e6}),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--recompute", action="store_true", help="recomputes each layer in backward")
    parser.add_argument("--wait", action="store_true", help="loads, says so, and touches no GPU before the line `begin`")
    session.add_arguments(parser)
    return parser.parse_args()


def causal(module, query, key, value, mask, *, dropout=0.0, scaling=None, **_):
    """Attention as transformers calls it: q, k, v are [samples, heads, tokens, head]; gives [samples, tokens, heads, head]."""
    import torch
    found = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, dropout_p=dropout, scale=scaling, is_causal=True, enable_gqa=key.shape[1] != query.shape[1])
    return found.transpose(1, 2).contiguous(), None


def adapted(family, options, args, device):
    """The model with its adapters, in training; and whether layers were compiled."""
    import peft
    import torch
    import transformers
    transformers.AttentionInterface.register("causal", causal)
    config = transformers.CONFIG_MAPPING[family](**options, max_position_embeddings=max(args.length, 8192), use_cache=False)
    with device:
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="causal", dtype=torch.bfloat16)
    adapters = peft.LoraConfig(r=args.rank, lora_alpha=2 * args.rank, lora_dropout=0.0, bias="none", target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, adapters, autocast_adapter_dtype=False).train()
    base = model.get_base_model()
    if args.recompute:
        base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if args.compile:
        limit = 2 * len(base.model.layers)              # should each layer be compiled for itself
        torch._dynamo.config.recompile_limit = max(limit, torch._dynamo.config.recompile_limit)
        for part in (*base.model.layers, base.model.norm):
            part.compile(dynamic=False)
    return model, base


def loss_of_states(args, device):
    """loss(states [tokens, hidden], the head's weight, targets [tokens]), and what computes it."""
    import torch
    if device.type == "cuda" and importlib.util.find_spec("liger_kernel"):
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss
        liger = LigerFusedLinearCrossEntropyLoss()
        return (lambda states, weight, targets: liger(weight, states, targets)), "Liger's loss"

    def entropy(states, weight, targets):
        return torch.nn.functional.cross_entropy(torch.nn.functional.linear(states, weight).float(), targets)

    return (torch.compile(entropy, dynamic=False) if args.compile else entropy), "torch's loss"


def main():
    args = arguments()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import peft
    import torch
    import transformers
    family, options = MODELS[args.model]
    _, _ = transformers.CONFIG_MAPPING[family], peft.LoraConfig                 # loads them
    run = session.Session(None, args.warm_up_steps, args.warm_up_seconds, model=f"{args.model} LoRA", micro_batch_size=args.micro_batch, sequence_length=args.length,
                          tokens_per_step=args.micro_batch * args.length, samples_per_step=args.micro_batch, world_size=1, rank=args.rank)
    if args.wait:
        run.wait_to_begin()
    device = run.device = session.device_of(args.device)
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model, base = adapted(family, options, args, device)
    loss_of, by = loss_of_states(args, device)
    trained = [p for p in model.parameters() if p.requires_grad]
    run.facts |= {"tool": " ".join(["peft", peft.__version__, "compiled layers" if args.compile else "eager", *(["recomputed"] if args.recompute else []), by]),
                  "parameters": sum(p.numel() for p in model.parameters()), "trained_parameters": sum(p.numel() for p in trained)}
    optimizer = torch.optim.AdamW(trained, lr=1e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0, fused=True)
    tokens = torch.randint(2, min(50257, base.config.vocab_size), (BATCHES, args.micro_batch, args.length + 1), pin_memory=device.type == "cuda")

    def step(i):
        batch = tokens[i % BATCHES].to(device, non_blocking=True)
        states = base.model(input_ids=batch[:, :-1]).last_hidden_state
        loss = loss_of(states.flatten(0, 1), base.lm_head.weight, batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    loss = step(0)
    while run.after_step():
        loss = step(run.steps)
    run.done(loss)


main()
