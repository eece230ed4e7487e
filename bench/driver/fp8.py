"""Rows in fp8: ours with delayed scaling, beside ours in bf16 and the peers of the bf16 rows."""
import decoders
import steps

FP8 = ["precision.products=fp8", "precision.scaling=delayed"]


def in_fp8(row, goal=None, peers=None):
    """`peers`: instead of the row's; with none of them nothing is compared."""
    peers = row["peers"] if peers is None else peers
    return {**row, "name": f"{row['name']}-fp8", "title": f"{row['title']}, fp8", "goal": goal,
            "overrides": [*row["overrides"], *FP8], "peers": peers}


def gpt2(size, batch, goal=None, beside_bf16=True):
    """`beside_bf16`: a GPU holds ours in bf16 beside the other two."""
    row = steps.gpt2(size, batch, None, None, None)
    variants = {"trainx bf16": row["overrides"]} if beside_bf16 else {}
    return {**in_fp8(row, goal), "variants": variants}


def of_llmq(size, goal):
    """LLM.Q publishes figures of these; under torch compile they are rows of `decoders`."""
    return in_fp8(decoders.llmq(size), goal, peers={})


def rows(tiny=False):
    """`tiny`: a model of two layers, on any machine."""
    if tiny:
        return [in_fp8(decoders.row("qwen2", "0.5b", 2, 32, tiny=True))]
    return [
        gpt2("124m", 64, 720e3),
        gpt2("350m", 32),
        gpt2("774m", 16),
        gpt2("1558m", 16, 72e3, beside_bf16=False),
        of_llmq("1.5b", 80e3),
        of_llmq("7b", 21.5e3),
    ]
