"""The data that recipes of the net name; the same at each call."""

import json
import random
import struct

VOCABULARY = 200


def tokens(draw, least=6, most=33):
    return [draw.randrange(104, VOCABULARY) for _ in range(draw.randrange(least, most))]


def line(draw):
    return {"input_ids": tokens(draw)}


def pair(draw):
    ids = tokens(draw)
    cut = len(ids) // 2
    types = [0] * cut + [1] * (len(ids) - cut)
    return {"input_ids": ids, "token_type_ids": types, "label": sum(ids) % 3}


def packed(draw):
    documents = [draw.randrange(3, 9) for _ in range(4)]
    ids = [draw.randrange(VOCABULARY) for _ in range(sum(documents))]
    return {"input_ids": ids, "document_lengths": documents}


def number(draw):
    ids = tokens(draw)
    return {"input_ids": ids, "label": (ids[0] - ids[-1]) / 40}


def some_labels(draw):
    ids = tokens(draw)
    return {"input_ids": ids, "labels": [i % 2 for i in ids[:3]]}


def tags(draw):
    ids = tokens(draw)
    return {"input_ids": ids, "labels": [i % 3 if i % 5 else -100 for i in ids]}


def text(draw):
    return {"input_ids": tokens(draw), "labels": tokens(draw, 2, 17)}


def vectors(draw):
    left, right = ([round(draw.gauss(0, 1), 4) for _ in range(12)] for _ in range(2))
    return {"left": left, "right": right, "goal": round(sum(a * b for a, b in zip(left, right)), 4)}


LINES = {
    "lines": line,
    "pairs": pair,
    "packed": packed,
    "numbers": number,
    "some_labels": some_labels,
    "tags": tags,
    "texts": text,
    "vectors": vectors,
}


def write(folder):
    for split, samples in (("train", 256), ("held", 32)):
        for name, sample in LINES.items():
            draw = random.Random(f"{split} {name}")
            with open(folder / f"{split}_{name}.jsonl", "w") as out:
                for _ in range(samples):
                    print(json.dumps(sample(draw)), file=out)
        draw = random.Random(f"{split} tokens")
        ids = [0]
        for _ in range(samples * 32):
            ids.append((7 * ids[-1] + draw.choice([1, 1, 1, 2])) % 50)
        header = [20240520, 1, len(ids)] + [0] * 253  # llm.c's format: 256 int32, then uint16
        (folder / f"{split}_tokens.bin").write_bytes(
            struct.pack("<256i", *header) + struct.pack(f"<{len(ids)}H", *ids)
        )
