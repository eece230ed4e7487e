"""The rows of several GPUs: how close training comes to as many times one GPU, beside torch's DDP; what shards of the state cost, beside torch's FSDP2; and the guides' table of two GPUs, beside Hugging Face's Trainer."""
from figures import OURS

import decoders
import steps

ONE, DDP = "trainx, one GPU", "trainx, ddp"
NO_MULTICAST = {"NCCL_NVLS_ENABLE": "0"}            # of NVLink: not every host of several GPUs has it set up


def gpt2(size, batch, ratio, tiny):
    row = steps.gpt2(size, batch, None, ratio, None)
    if tiny:
        small = [f"model.options.{key}={value}" for key, value in (("num_layers", 2), ("num_heads", 2), ("hidden_size", 64), ("max_positions", 32))]
        row |= {"batch": 2, "length": 32, "overrides": [*small, "data.sequence_length=32"]}
    return row


def options(row, size, tiny):
    """Of the peers, as their command lines have them."""
    return f"--size {'test' if tiny else size} --micro-batch {row['batch']} --length {row['length']}" + (" --warm-up-steps 2 --warm-up-seconds 0.1" if tiny else "")


def torchrun(world):
    return f"-m torch.distributed.run --standalone --nproc-per-node {world}"


def among(world, row):
    """All but ONE compute on `world` GPUs."""
    return row | {"ranks": {name: world for name in (OURS, *row["peers"], *(n for n in row.get("variants", {}) if n != ONE))}, "environment": {**NO_MULTICAST, **row.get("environment", {})}}


def beside_torch(world, size, batch, ratio, tiny):
    """All GPUs, ours and torch's; the goal is the ratio that one GPU has."""
    row, who = gpt2(size, batch, ratio, tiny), "torch compile DDP"
    peer = f"{torchrun(world)} bench/peers/torch_gpt2.py {options(row, size, tiny)}{'' if tiny else ' --compile'}"
    return among(world, row | {"name": f"ddp-{size}-x{world}", "title": f"{row['title']} a GPU, {world} GPUs", "peers": {who: peer}, "against": who,
                              "overrides": [*row["overrides"], "parallel.mode=ddp"]})


def beside_one(world, size, batch, tiny):
    """All GPUs and one of them: ours over it is the share of what would be linear."""
    row = gpt2(size, batch, 0.97, tiny)
    return among(world, row | {"name": f"linear-{size}-x{world}", "title": f"{row['title']} a GPU, {world} GPUs and one", "peers": {}, "against": ONE,
                              "overrides": [*row["overrides"], "parallel.mode=ddp"], "variants": {ONE: row["overrides"]}})


def sharded(mode, world, size, batch, share, tiny):
    """What sharding costs beside ddp, which holds all state on every GPU."""
    row = gpt2(size, batch, share, tiny)
    return among(world, row | {"name": f"{mode}-{size}-x{world}", "title": f"{row['title']} a GPU, {world} GPUs, {mode}", "peers": {}, "against": DDP,
                               "overrides": [*row["overrides"], f"parallel.mode={mode}"], "variants": {DDP: [*row["overrides"], "parallel.mode=ddp"]}})


def modes(size, links, tiny):
    """Every mode of two GPUs, with NVLink or without it, by turns."""
    row, others = gpt2(size, 4, None, tiny), ("zero1", "zero2", "zero3")
    settings = {mode: [*row["overrides"], f"parallel.mode={mode}"] for mode in ("ddp", *others)}
    return among(2, row | {
        "name": f"modes-{size}{'' if links else '-no-p2p'}",
        "title": f"{row['title']} a GPU, 2 GPUs, ddp{'' if links else ', no NVLink'}",
        "peers": {}, "against": "trainx, zero1", "overrides": settings["ddp"],
        "variants": {f"trainx, {mode}": settings[mode] for mode in others},
        "environment": {} if links else {"NCCL_P2P_DISABLE": "1"}})


def beside_fsdp(world, size, batch, tiny):
    """Weights, gradients and states in shards, ours and torch's FSDP2."""
    row, who = gpt2(size, batch, None, tiny), "torch compile FSDP2"
    peer = f"{torchrun(world)} bench/peers/torch_gpt2.py {options(row, size, tiny)} --shard{'' if tiny else ' --compile'}"
    return among(world, row | {"name": f"fsdp-{size}-x{world}", "title": f"{row['title']} a GPU, {world} GPUs, zero3", "peers": {who: peer}, "against": who,
                               "overrides": [*row["overrides"], "parallel.mode=zero3"]})


def llama(world, batch, length, tiny):
    """Weights, gradients and states in shards, where fp32 has no room: ours bf16 with stochastic rounding and 8-bit moments, the peer's all in bf16."""
    row, who = decoders.row("llama", "8b", batch, length, tiny=tiny), "transformers compile FSDP2"
    (peer,) = row["peers"].values()
    own = ["parallel.mode=zero3", "precision.master=none", "precision.rounding=stochastic", "optimizer.type=adamw_8bit"]
    return among(world, row | {"name": f"llama-8b-x{world}", "title": f"{row['title']} a GPU, {world} GPUs, zero3", "peers": {who: f"{torchrun(world)} {peer} --weights bf16 --shard"}, "against": who,
                               "overrides": [*row["overrides"], *own], "set_up_seconds": 150})


def guide(mode, precision, ratio, tiny, links=True):
    """GPT-2, four samples of 1024 tokens a GPU, two GPUs."""
    row, who = gpt2("124m", 4, ratio, tiny), f"Trainer {mode.upper()}"
    peer = f"bench/peers/trainer_gpt2.py {options(row, '124m', tiny)} --precision {precision}"
    own = [f"precision.compute={precision}", f"parallel.mode={mode}", "optimizer.options.weight_decay=0.0"]
    return among(2, row | {"name": f"guide-{mode}-{precision}{'' if links else '-no-p2p'}", "title": f"GPT-2, 4 x 1024 a GPU, {mode}, {precision}{'' if links else ', no NVLink'}", "unit": "samples",
                        "overrides": row["overrides"] + own, "peers": {who: peer if mode == "dp" else f"{torchrun(2)} {peer}"}, "against": who,
                        "environment": {} if links else {"NCCL_P2P_DISABLE": "1"}})


def rows(tiny=False):
    """`tiny`: a model of two layers, on any machine; without DP, of which the Trainer has none on a CPU."""
    return [
        *(row for world in (2, 4) for size, batch, ratio in (("124m", 64, 1.16), ("1558m", 16, 1.11))
          for row in (beside_torch(world, size, batch, ratio, tiny), beside_one(world, size, batch, tiny))),
        *(row for world in (2, 4) for row in (*(sharded(mode, world, "1558m", 16, share, tiny) for mode, share in (("zero1", 0.98), ("zero2", 0.98), ("zero3", 0.92))),
                                              beside_fsdp(world, "1558m", 16, tiny))),
        *(modes(size, links, tiny) for size in ("124m", "1558m") for links in (True, False)),
        llama(2, 4, 1024, tiny),
        *([] if tiny else [guide("dp", "fp32", 1.0, tiny), guide("dp", "bf16", None, tiny)]),
        *(guide("ddp", precision, ratio, tiny, links) for links in (True, False) for precision, ratio in (("fp32", 1.15), ("bf16", 2.5))),
    ]
