"""Writes the data that recipes of tests/equality name into FOLDER: python3 write_data.py FOLDER"""

import json
import pathlib
import random
import struct
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "net"), str(TESTS / "e2e")]
import cases  # noqa: E402
import expert_folders  # noqa: E402


def write_tokens(path, ids):
    """llm.c's format: 256 int32, then uint16."""
    header = [20240520, 1, len(ids)] + [0] * 253
    path.write_bytes(struct.pack("<256i", *header) + struct.pack(f"<{len(ids)}H", *ids))


LENGTHS = (5, 6, 31, 32, 33, 64, 65, 127, 128, 200, 256, 257, 300, 400, 511, 512)


def write_lengths(folder, draw):
    """Samples of many lengths, the same to train with and held out: of classes, and with masks of
    their own."""
    lines = {"classes": "", "masks": ""}
    for length in draw.sample(LENGTHS, len(LENGTHS)):
        ids = [draw.randrange(1, 300) for _ in range(length)]
        types = [i % 2 for i in range(length)]
        labels = [ids[i] if i % 4 == 1 else -100 for i in range(length)]
        sample = {"input_ids": ids, "token_type_ids": types, "label": length % 3}
        lines["classes"] += json.dumps(sample) + "\n"
        lines["masks"] += json.dumps({"input_ids": ids, "labels": labels}) + "\n"
    for name, text in lines.items():
        for split in ("train", "held"):
            (folder / f"{split}_{name}.jsonl").write_text(text)


def write_answers(folder):
    """Pairs of a source and what is to be written, some of whose tokens are not to be learnt."""
    draw = random.Random(21)
    for part, count in (("train", 96), ("held", 16)):
        with open(folder / f"{part}_answers.jsonl", "w") as out:
            for _ in range(count):
                source = [draw.randrange(6, 128) for _ in range(draw.randint(1, 32))]
                target = [draw.randrange(6, 128) for _ in range(draw.randint(1, 20))]
                labels = [t if i == 0 or draw.random() < 0.9 else -100 for i, t in enumerate(target)]
                print(json.dumps({"input_ids": source, "labels": labels}), file=out)


def write_labels(folder):
    """Texts with a class for each token, with some of three labels, and with a number."""
    draw = random.Random(22)
    label = {
        "tags": lambda ids: [-100] + [i % 3 for i in ids[1:]],
        "choices": lambda ids: [float(ids[k] % 2) for k in range(1, 4)],
        "values": lambda ids: [len(ids) / 32],
    }
    for part, count in (("train", 96), ("held", 17)):
        texts = [
            [101] + [draw.randrange(110, 200) for _ in range(draw.randint(3, 31))]
            for _ in range(count)
        ]
        for name, of in label.items():
            lines = [json.dumps({"input_ids": ids, "labels": of(ids)}) for ids in texts]
            (folder / f"{part}_{name}.jsonl").write_text("\n".join(lines) + "\n")


def main():
    folder, draw = pathlib.Path(sys.argv[1]), random.Random(20)
    cases.write_data(folder)
    expert_folders.write_corrected(folder / "corrected", draw)
    expert_folders.write_one_mind(folder / "one_mind", draw)
    expert_folders.write_switch(folder / "switch", draw)
    write_lengths(folder, draw)
    write_answers(folder)
    write_labels(folder)
    write_tokens(folder / "expert_tokens.bin", expert_folders.tokens(draw, 20 * 8))


main()
