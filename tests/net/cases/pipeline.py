"""Stages of ranks that compute some of the layers each."""

from .adapters import lora
from .base import BF16, FP16, STORIES, case, ranks
from .decoders import FULL, family
from .encoders import WIDE, encoder, seq2seq
from .mixtures import mixture

INTERLEAVED = ", pipeline_schedule: interleaved, pipeline_chunks: 2"
GPT2 = (
    "{type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 32, max_positions: 32, "
    "dropout: 0.1}}",
    STORIES,
)


def stages(world, of, more="", mode="ddp", micro=1):
    return ranks(mode, world, micro, f", pipeline: {of}{more}")


CASES = {
    "llama, 2 stages": case(family("llama"), *stages(2, 2), ranks=(0, 1)),
    "llama, 2 stages, interleaved": case(
        family("llama"), *stages(2, 2, INTERLEAVED), BF16, ranks=(0, 1)
    ),
    "llama, 4 stages, recomputed": case(
        family("llama"), *stages(4, 4), BF16, FULL, ranks=(0, 1, 2, 3), gpus=("",)
    ),
    "llama, 2 stages of 2 ranks, zero1": case(
        family("llama"), *stages(4, 2, mode="zero1"), FP16, ranks=(0, 2)
    ),
    "llama, 2 stages of parts of 2 ranks": case(
        family("llama"), *stages(4, 2, ", tensor: 2"), BF16, ranks=(0, 2)
    ),
    "llama, 2 stages of tokens of 2 ranks": case(
        family("llama"), *stages(4, 2, ", context: 2"), ranks=(0, 2)
    ),
    "llama, 2 stages, evaluated in bf16": case(
        family("llama"), *stages(2, 2), "eval.precision=bf16", ranks=(0, 1)
    ),
    "llama, 2 stages, adapters": case(family("llama"), *stages(2, 2), BF16, lora(), ranks=(0, 1)),
    "llama, 2 stages, fp8": case(
        family("llama"), *stages(2, 2), "precision={compute: bf16, products: fp8}", ranks=(0, 1)
    ),
    "llama, 2 stages, optimizer on the host": case(
        family("llama"), *stages(2, 2), BF16, "memory.optimizer_offload.where=cpu", ranks=(0, 1)
    ),
    "gpt2, 4 stages, a tied head, dropout": case(
        GPT2, *stages(4, 4), ranks=(0, 1, 2, 3), gpus=("",)
    ),
    "gpt2, 2 stages of 2 ranks, interleaved": case(
        GPT2, *stages(4, 2, INTERLEAVED), BF16, ranks=(0, 2)
    ),
    "mixtral, 2 stages": case(mixture("mixtral"), *stages(2, 2), BF16, ranks=(0, 1)),
    "t5, 2 stages": case(seq2seq("t5", WIDE), *stages(2, 2), ranks=(0, 1)),
    "bert of lines of two lengths, 2 stages": case("bert", *stages(2, 2), ranks=(0, 1)),
    "modernbert, 2 stages": case(encoder("modernbert"), *stages(2, 2), BF16, ranks=(0, 1)),
}
