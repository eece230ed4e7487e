"""Writes jsonl lines of points of a surface: python3 make_points.py COUNT OUT.jsonl [SEED]"""
import json
import math
import random
import sys


def samples(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        point = [round(draw.uniform(-2, 2), 3) for _ in range(4)]
        height = math.sin(point[0]) + point[1] * math.cos(point[2]) - 0.5 * point[3]
        yield {"point": point, "z": round(height, 4)}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], "w") as out:
        for sample in samples(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) == 4 else 0):
            out.write(json.dumps(sample) + "\n")
