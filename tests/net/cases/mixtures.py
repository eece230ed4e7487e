"""Mixtures of experts, and ranks that share experts."""

from .base import BF16, SIZES, STORIES, case, ranks
from .gpt2 import IN_BACKWARD, OPTIMIZERS, offload

SMALL = (
    "num_layers: 2, num_heads: 2, num_key_value_heads: 2, hidden_size: 32, "
    "intermediate_size: 24, max_positions: 32, num_experts: 8, num_experts_per_tok: 2"
)
FULL = "memory.activation_checkpoint=full"


def mixture(name, more=""):
    return (f"{{type: {name}, options: {{{SMALL}{more}}}}}", STORIES)


def deepseek(name, size):
    """Its heads share no keys; a published size has the form of its experts."""
    options = SMALL.replace("num_key_value_heads: 2, ", "")
    return (f"{{type: {name}, size: {size}, options: {{{options}}}}}", STORIES)


def switch(more=""):
    options = f"num_layers: 4, {SIZES}, num_experts: 4, dropout: 0.1{more}"
    return (f"{{type: gpt2, options: {{{options}}}}}", STORIES)


def shared(mode, world, experts, more=""):
    return ranks(mode, world, 1, f", experts: {experts}{more}")


def in_backward(world, experts):
    """With the whole batch at once."""
    return (*ranks("ddp", world, 8 // world, f", experts: {experts}"), IN_BACKWARD)


MIXTURES = {
    "mixtral": case(mixture("mixtral")),
    "mixtral, bf16": case(mixture("mixtral"), BF16),
    "mixtral, recomputed": case(mixture("mixtral"), BF16, FULL),
    "mixtral, recomputed: mlp": case(mixture("mixtral"), "memory.activation_checkpoint=mlp"),
    "mixtral, z-loss of routers": case(mixture("mixtral", ", router_z_loss: 0.01")),
    "mixtral, ddp": case(mixture("mixtral"), *ranks("ddp", 2), BF16),
    "mixtral, zero3": case(mixture("mixtral"), *ranks("zero3", 2)),
    "mixtral, optimizer on the host": case(
        mixture("mixtral"), BF16, "memory.optimizer_offload.where=cpu"
    ),
    "qwen2_moe: a shared expert behind a gate": case(mixture("qwen2_moe"), BF16),
    "qwen3_moe": case(mixture("qwen3_moe")),
    "olmoe": case(mixture("olmoe"), BF16),
    "granitemoe: one tensor of experts": case(mixture("granitemoe")),
    "gpt_oss: limits, biases, sinks": case(mixture("gpt_oss"), BF16),
    "glm4_moe: a correction": case(mixture("glm4_moe")),
    "glm4_moe, balanced by it": case(mixture("glm4_moe", ", router_bias_rate: 0.01")),
    "glm4_moe, balanced, zero2": case(
        mixture("glm4_moe", ", router_bias_rate: 0.01"), *ranks("zero2", 2)
    ),
    "dots1: a shared expert": case(mixture("dots1"), BF16),
    "deepseek_v2: experts": case(deepseek("deepseek_v2", "lite"), BF16),
    "deepseek_v3: groups of experts": case(deepseek("deepseek_v3", "16b-a3b")),
    "switch: a capacity": case(switch()),
    "switch, none dropped, two of a token": case(
        switch(", capacity_factor: 0, num_experts_per_tok: 2, decoder_sparse_step: 1"), BF16
    ),
    "switch, both losses": case(
        switch(", capacity_factor: 0.5, router_aux_loss_coef: 0.1, router_z_loss: 0.01")
    ),
    "switch, ddp, recomputed": case(switch(), *ranks("ddp", 2), FULL),
}

SHARED = {
    "experts of 2 ranks, ddp": case(mixture("mixtral"), *shared("ddp", 2, 2)),
    "experts of 2 ranks, bf16, recomputed": case(
        mixture("granitemoe"), *shared("ddp", 2, 2), BF16, FULL
    ),
    "experts of 4 ranks, zero1": case(mixture("olmoe"), *shared("zero1", 4, 4)),
    "experts of 2 of 4 ranks, ddp": case(mixture("mixtral"), *shared("ddp", 4, 2), BF16),
    "experts of 2 of 4 ranks, zero2": case(mixture("gpt_oss"), *shared("zero2", 4, 2)),
    "experts of 2 of 4 ranks, zero3": case(mixture("mixtral"), *shared("zero3", 4, 2)),
    "experts of 2 ranks, zero3, a shared expert": case(
        mixture("qwen2_moe"), *shared("zero3", 2, 2), BF16
    ),
    "experts of 2 ranks, some room": case(
        mixture("mixtral"),
        *shared("ddp", 2, 2, ", experts_capacity: 1.5, experts_overflow: drop"),
    ),
    "experts of 2 ranks, balanced by a correction": case(
        mixture("dots1", ", router_bias_rate: 0.01"), *shared("zero1", 2, 2)
    ),
    "experts of 2 ranks, switch": case(switch(", capacity_factor: 0"), *shared("ddp", 2, 2)),
    "experts of 2 ranks, lamb": case(
        mixture("mixtral"), *shared("ddp", 2, 2), optimizer=OPTIMIZERS["lamb"]
    ),
    "experts of 2 of 4 ranks, lamb, zero2": case(
        mixture("gpt_oss"), *shared("zero2", 4, 2), optimizer=OPTIMIZERS["lamb"], gpus=("",)
    ),
    "experts of 2 ranks, optimizer on the host": case(
        mixture("mixtral"), *shared("ddp", 2, 2), BF16, offload("cpu")
    ),
    "experts of 2 of 4 ranks, zero3, weights on the host": case(
        mixture("mixtral"), *shared("zero3", 4, 2), offload("cpu"), "memory.parameter_offload=cpu"
    ),
    "experts of 2 ranks, update in backward": case(
        mixture("mixtral"), *in_backward(2, 2), BF16
    ),
    "experts of 2 of 4 ranks, update in backward": case(
        mixture("granitemoe"), *in_backward(4, 2), FULL
    ),
    "experts of 2 ranks, update in backward, adafactor": case(
        mixture("mixtral"), *in_backward(2, 2), optimizer=OPTIMIZERS["adafactor"], gpus=("",)
    ),
    "experts of 2 ranks, update in backward, on the host": case(
        mixture("mixtral"), *in_backward(2, 2), offload("cpu"), "memory.parameter_offload=cpu"
    ),
}

CASES = MIXTURES | SHARED
