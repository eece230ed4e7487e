"""Samples of many lengths: losses are the weighted means of those that are trained alone, without
padding, in any order, and the memory plan holds. tests/equality/cuts.yaml has all cuts."""
import json
import math

from support import Trainx, main, sampled

BERT = """\
run: {{name: {name}, duration: {steps} steps}}
model: {{type: bert, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 512, vocab_size: 300, task: {task}}}}}
data: {{type: jsonl, train: train.jsonl, eval: held_out.jsonl, sequence_length: 512, {data}}}
batch: {{global_batch_size: {batch}, micro_batch_size: {micro}}}
optimizer: {{type: sgd, lr: 0}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
LENGTHS = (5, 6, 31, 32, 33, 64, 65, 127, 128, 200, 256, 257, 300, 400, 511, 512)


class Shapes(Trainx):
    forks = True

    def train(self, name, task, batch, micro, data):
        recipe = self.recipe(
            BERT.format(name=name, task=task, batch=batch, micro=micro, steps=len(LENGTHS) // batch,
                        data=data), f"{name}.yaml")
        plan = json.loads(self.run_trainx("plan", recipe, "--json").stdout)
        self.run_trainx("train", recipe)
        metrics = self.metrics(name)
        self.assertLessEqual(metrics[-1]["peak_memory_bytes"],
                             plan["arena_bytes"] + plan["library_bytes"])
        lines = map(json.loads,
                    (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines())
        return [m["loss"] for m in metrics], [m["eval_loss"] for m in lines if "eval_loss" in m][-1]

    def compare(self, task, line, weight):
        lengths = list(LENGTHS)
        self.random.shuffle(lengths)
        text = "".join(json.dumps(line(n)) + "\n" for n in lengths)
        for name in ("train", "held_out"):
            (self.folder / f"{name}.jsonl").write_text(text)
        # each without padding
        single, held_out = self.train("single", task, 1, 1,
                                      f"shuffle: false, pad_to: {sorted(lengths)}")
        close = lambda a, b: self.assertLess(abs(a / b - 1), 1e-5)
        cuts = (("padded", 8, "shuffle: false"), ("cut", 2, "shuffle: false"),
                ("longest", 4, "shuffle: false, pad_to: 512"))
        for name, micro, data in self.drawn(cuts):
            losses, eval_loss = self.train(name, task, 8, micro, data)
            for step, loss in enumerate(losses):
                part = range(step * 8, (step + 1) * 8)
                close(loss, math.fsum(single[i] * weight(lengths[i]) for i in part)
                      / sum(weight(lengths[i]) for i in part))
            close(eval_loss, held_out)
        # any order: the epoch's mean is the same
        orders = (("shuffled", "shuffle: true"), ("grouped", "group_by_length: true"))
        for name, data in self.drawn(orders):
            losses, _ = self.train(name, task, 1, 1, data)
            close(math.fsum(losses), math.fsum(single))

    @sampled
    def test_classification(self):
        ids = lambda n: [self.random.randrange(1, 300) for _ in range(n)]
        self.compare(
            "classification, num_labels: 3", lambda n:
            {"input_ids": ids(n), "token_type_ids": [i % 2 for i in range(n)], "label": n % 3},
            lambda n: 1)

    @sampled
    def test_masked_lm_with_given_masks(self):
        def line(n):
            ids = [self.random.randrange(1, 300) for _ in range(n)]
            return {"input_ids": ids, "labels": [ids[i] if i % 4 == 1 else -100 for i in range(n)]}
        self.compare("masked_lm", line, lambda n: (n + 2) // 4)


if __name__ == "__main__":
    main()
