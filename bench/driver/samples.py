"""What rows train on: files of random ids, made once for all rows. Zeros would train faster than anything real."""
import array
import functools
import json
import random
import sys


def write_tokens(path, length, vocabulary=50257):
    """llm.c's format, random ids, by default below GPT-2's vocabulary: 4 million, so that an epoch is 64 steps of 64 x 1024."""
    ids = array.array("H", random.Random(1).choices(range(vocabulary), k=2**22 + 1))
    header = array.array("i", [20240520, 1, len(ids)] + [0] * 253)
    if sys.byteorder == "big":
        ids.byteswap(), header.byteswap()
    path.write_bytes(header.tobytes() + ids.tobytes())


def write_jsonl(path, length):
    """512 samples without padding, as the guides' experiment has it."""
    generator = random.Random(1)
    with path.open("w") as f:
        for _ in range(512):
            f.write(json.dumps({"input_ids": generator.choices(range(1000, 30000), k=length), "label": generator.randrange(2)}) + "\n")


def write_pairs(path, length):
    """512 pairs of sentences as BERT reads them, of which the longest fill `length` tokens: as in MRPC most take less than half."""
    generator = random.Random(1)
    start, end, longest = 101, 102, (length - 3) // 2
    with path.open("w") as f:
        for _ in range(512):
            first, second = (generator.choices(range(1000, 30000), k=min(longest, round(longest * generator.triangular(0.2, 1.1, 0.4)))) for _ in range(2))
            ids = [start, *first, end, *second, end]
            types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            f.write(json.dumps({"input_ids": ids, "token_type_ids": types, "label": generator.randrange(2)}) + "\n")


def write_targets(path, length):
    """512 texts without padding and targets of a quarter of their length."""
    generator = random.Random(1)
    with path.open("w") as f:
        for _ in range(512):
            source, target = (generator.choices(range(2, 30000), k=n) for n in (length, length // 4))
            f.write(json.dumps({"input_ids": source, "labels": target}) + "\n")


KINDS = {"targets": ("jsonl", write_targets), "tokens": ("bin", write_tokens), "few_tokens": ("bin", functools.partial(write_tokens, vocabulary=4096)), "jsonl": ("jsonl", write_jsonl), "pairs": ("jsonl", write_pairs)}


def file_of(row, folder):
    """The file that this row trains on; None where the row brings none."""
    if not row.get("data"):
        return None
    suffix, write = KINDS[row["data"]]
    path = folder / f"{row['data']}-{row['length']}.{suffix}"
    if not path.exists():
        write(path, row["length"])
    return path
