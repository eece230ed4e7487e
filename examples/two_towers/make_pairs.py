"""Writes jsonl lines of queries with documents: python3 make_pairs.py COUNT OUT.jsonl [SEED]

Words belong to eight topics; the first document has the query's topic, the others have others.
"""
import json
import random
import sys

WORDS, TOPICS, QUERY, DOCUMENT, DOCUMENTS = 64, 8, 4, 6, 4


def samples(count, seed):
    draw = random.Random(seed)

    def text(topic, length):
        return [draw.randrange(WORDS // TOPICS) * TOPICS + topic for _ in range(length)]

    for _ in range(count):
        topics = draw.sample(range(TOPICS), DOCUMENTS)
        yield {"query": text(topics[0], QUERY),
               "documents": [text(topic, DOCUMENT) for topic in topics]}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], "w") as out:
        for sample in samples(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) == 4 else 0):
            out.write(json.dumps(sample) + "\n")
