"""Modules and optimizers of the user's own, and models that scripts/trainx-export wrote."""

from .base import BF16, WHOLE, case, jsonl, ranks

MIXER = (
    "{type: mixer, options: {vocab_size: 50, depth: 3, dropout: 0.1}}",
    "{type: tokens, train: train_tokens.bin, eval: held_tokens.bin, sequence_length: 32}",
)
PAIRS = ("{type: pairs, options: {width: 32, dropout: 0.1}}", jsonl("vectors", 1))
GPT2 = (
    "{type: own_gpt2, options: {vocab_size: 50, num_layers: 2, num_heads: 2, hidden_size: 32}}",
    MIXER[1],
)
EXPORTED = ("{type: exported, init_from: exported}", MIXER[1])
FULL = "memory.activation_checkpoint=full"
# The worker that has the model, and that of modules measured on a GPU.
NET, OWN = "net-worker", "own-modules-worker"


def own(model, *settings, worker=NET, gpus=("",), **more):
    return case(model, *settings, worker=worker, gpus=gpus, **more)


CASES = {
    "own": own(MIXER),
    "own, bf16": own(MIXER, BF16),
    "own, recomputed": own(MIXER, FULL),
    "own, ddp": own(MIXER, *ranks("ddp", 2)),
    "own, zero2": own(MIXER, *ranks("zero2", 2), BF16),
    "own, zero3, recomputed": own(MIXER, *ranks("zero3", 2), FULL),
    "own, optimizer on the host": own(MIXER, "memory.optimizer_offload.where=cpu"),
    "own graph, own loss": own(PAIRS, worker=OWN),
    "own graph, selective": own(PAIRS, "memory.activation_checkpoint=selective", worker=OWN),
    "own graph, dp": own(PAIRS, *ranks("dp", 2), worker=OWN, ranks=(0, 1)),
    "own gpt2": own(GPT2, BF16, worker=OWN),
    "own rule": own("gpt2", worker=OWN, optimizer="{type: nesterov, lr: 1e-2}"),
    "own rule over tensors, zero1": own(
        "gpt2", *ranks("zero1", 2), worker=OWN, optimizer="{type: tensor_adamw, lr: 3e-3}"
    ),
    "own rule, eight states, in backward": own(
        "gpt2",
        WHOLE,
        worker=OWN,
        optimizer="{type: many_states, lr: 1e-3, update_in_backward: true, max_grad_norm: 0}",
    ),
    "exported": own(EXPORTED),
    "exported, bf16, recomputed": own(EXPORTED, BF16, FULL),
    "exported, zero3": own(EXPORTED, *ranks("zero3", 2)),
}
