"""Writes jsonl lines of small images of bars: python3 make_images.py COUNT OUT.jsonl [SEED]

A bar is horizontal, vertical, or one of the two diagonals: four classes.
"""
import json
import random
import sys

SIZE = 8


def image(label, draw):
    at = draw.randrange(1, SIZE - 1)
    on = {0: lambda y, x: y == at, 1: lambda y, x: x == at,
          2: lambda y, x: (x - y) % SIZE == at, 3: lambda y, x: (x + y) % SIZE == at}[label]
    return [[[round(on(y, x) + draw.gauss(0, 0.2), 3) for x in range(SIZE)]
             for y in range(SIZE)]]


def samples(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        label = draw.randrange(4)
        yield {"image": image(label, draw), "label": label}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], "w") as out:
        for sample in samples(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) == 4 else 0):
            out.write(json.dumps(sample) + "\n")
