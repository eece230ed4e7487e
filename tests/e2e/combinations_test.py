"""Every method with every other: what tests/recipes/legality.json calls illegal is refused, with the keys that it names; all else trains, with the plain run's losses.

Bit-equal where the arithmetic is the same: whatever is recomputed or waits on the host, wherever exact weights lie, whenever they are updated. Within rounding where micro-batches are cut otherwise.
TRAINX_LONG=1: 2,000 random recipes and all pairs; else a sample.
"""
import concurrent.futures
import itertools
import json
import os
import re
import string
import threading
import unittest

from support import LONG, ROOT, Trainx, main, sampled

LEGALITY = json.loads((ROOT / "tests" / "recipes" / "legality.json").read_text())
# The first value of a method is the plain one. The table has first what the reading of a recipe finds, all of
# it at once, and then what planning finds, one thing at a time.
METHODS = {
    "data.kind": ["words", "lines"],
    "data.shuffle": ["true", "false"],
    "data.group_by_length": ["false", "true"],
    "data.pad_to": ["auto", "[16, 32]"],
    "data.workers": ["1", "2"],
    "model.options.dropout": ["0", "0.1"],
    "model.attention": ["auto", "flash", "math", "cudnn", "efficient"],
    "precision.compute": ["fp32", "bf16", "fp16", "tf32"],
    "precision.products": ["compute", "fp8"],
    "precision.first_last": ["auto", "fp8", "compute"],
    "precision.small_products": ["compute", "fp8"],
    "precision.scaling": ["current", "delayed", "blocks"],
    "precision.fallback": ["0.001", "1"],
    "precision.fallback_window": ["100", "2"],
    "precision.master": ["auto", "fp32", "split", "none"],
    "precision.rounding": ["nearest", "stochastic"],
    "eval.precision": ["auto", "bf16", "fp16"],
    "precision.loss_scale": ["auto", "1024"],
    "precision.loss_scale_window": ["2000", "100"],
    "batch.micro_batch_size": ["8", "4", "2", "1", "auto", "3"],
    "memory.activation_checkpoint": ["none", "selective", "mlp", "full", "auto", "[full, none]", "[selective, full]", "[full, none, mlp]"],
    "memory.recompute_segment": ["1", "2"],
    "memory.activation_offload": ["none", "cpu"],
    "memory.optimizer_offload": ["none", "cpu", "disk", "cpu+disk", "{where: cpu, share: 0.5}", "{where: disk, share: 0.3, read_ahead: 1}", "{where: cpu, gradients: bf16}"],
    "memory.parameter_offload": ["none", "cpu", "disk"],
    "memory.release_cache_every": ["null", "1 steps"],
    "checkpoint.asynchronous": ["auto", "true", "false"],
    "memory.fit": ["false", "true"],
    "memory.budget": ["auto", "2 GiB", "1 MiB"],
    "run.deterministic": ["true", "false"],
    "run.execution": ["auto", "eager", "graph"],
    "optimizer": ["{type: adamw, options: {weight_decay: 0.1}}", "{type: sgd}", "{type: sgd, options: {momentum: 0.9, nesterov: true}}", "{type: sgd, options: {momentum: 0.9}}", "{type: adamw}",
                  "{type: sgd, options: {nesterov: true}}", "{type: adam}", "{type: adagrad}", "{type: lion}", "{type: lamb}", "{type: adamw_8bit, options: {min_8bit_size: 1024}}",
                  "{type: adamw_anyprecision}", "{type: adamw_anyprecision, options: {use_kahan_summation: true}}", "{type: adafactor, options: {relative_step: false}}", "{type: adafactor}"],
    "optimizer.max_grad_norm": ["1", "0"],
    "optimizer.update_in_backward": ["false", "true"],
    "parallel": ["{mode: single}"] * 6 + ["{mode: zero2, world_size: 2}", "{mode: zero3, world_size: 2}"],   # several ranks of two cores take their time
    "schedule.type": ["cosine", "linear", "constant"],
    "schedule.final_ratio": ["0", "0.1"],
}
# What the losses follow from; all else must not change them.
NUMBERS = ("data.kind", "data.shuffle", "data.group_by_length", "model.options.dropout", "precision.compute", "precision.products", "precision.scaling", "precision.rounding", "precision.loss_scale", "optimizer", "optimizer.max_grad_norm", "schedule.type", "schedule.final_ratio")
MODELS = {
    "words": "model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}\ndata: {type: stories, sequence_length: 32, samples: 512, eval_samples: 10}\n",
    "lines": "model: {type: bert, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, vocab_size: 200, task: masked_lm, mask_probability: 0.3}}\n"
             "data: {type: jsonl, train: lines.jsonl, sequence_length: 32}\n",
}
STEPS = 3
JOBS = len(os.sched_getaffinity(0)) if LONG else 1      # recipes at a time


def broken_rule(chosen):
    """The rule of the table that makes the choice illegal; None where it is legal."""
    return next((rule for rule in LEGALITY if all(chosen[method] in values for method, values in rule["illegal"].items())), None)


def draw(random):
    """Any values; of four recipes three are drawn on, where a rule is broken, until none is."""
    chosen = {method: random.choice(values) for method, values in METHODS.items()}
    legal = random.random() < 0.75
    while legal and (rule := broken_rule(chosen)):
        method = random.choice(list(rule["illegal"]))
        chosen[method] = random.choice(METHODS[method])
    return chosen


class Combinations(Trainx):
    def setUp(self):
        super().setUp()
        with open(self.folder / "lines.jsonl", "w") as out:
            for _ in range(64):
                print(json.dumps({"input_ids": [self.random.randrange(104, 200) for _ in range(self.random.randrange(6, 33))]}), file=out)
        self.plain, self.plain_lock = {}, threading.Lock()

    def settings(self, chosen):
        ranks = 1 if "single" in chosen["parallel"] else 2
        per_rank = {str(n): str(n // ranks) for n in (8, 4, 2)}
        given = chosen | {"batch.micro_batch_size": per_rank.get(chosen["batch.micro_batch_size"], chosen["batch.micro_batch_size"])}
        return [f"{method}={value}" for method, value in given.items() if method not in ("data.kind", "optimizer") and value != METHODS[method][0] or method == "batch.micro_batch_size"]

    def text(self, chosen):
        optimizer = chosen["optimizer"].replace("{type:", "{lr: 1e-2, type:", 1)
        return f"run: {{duration: {STEPS} steps, deterministic: true}}\n{MODELS[chosen['data.kind']]}batch: {{global_batch_size: 8}}\noptimizer: {optimizer}\nschedule: {{type: cosine}}\nmetrics: {{every: 1 steps}}\nparallel: {{mode: single}}\n"

    def plan(self, chosen):
        path = self.folder / f"{self.name_of(chosen)}.yaml"
        path.write_text(self.text(chosen))
        return self.run_trainx("plan", path, *self.settings(chosen), expect=None)

    def name_of(self, chosen):
        """Which methods have which of their values, as 3b: short enough for a folder, however many there are."""
        return "-".join(["run", *(f"{k}{string.ascii_lowercase[METHODS[m].index(chosen[m])]}" for k, m in enumerate(METHODS) if chosen[m] != METHODS[m][0])])

    def losses(self, chosen):
        name = self.name_of(chosen)
        path = self.folder / f"{name}.yaml"
        path.write_text(self.text(chosen))
        self.run_trainx("train", path, f"run.name={name}", *self.settings(chosen), env=self.environment(OMP_NUM_THREADS="1"))
        return [m["loss"] for m in self.metrics(name)]

    def check_refused(self, chosen, names):
        """One problem names the key that is refused, and what it is refused for."""
        done = self.plan(chosen)
        self.assertIn(done.returncode, (71, 78), f"{chosen} should be refused: {names}\n{done.stdout[-300:]}")
        whole = [re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])") for name in names]
        self.assertTrue(any(all(word.search(line) for word in whole) for line in done.stderr.splitlines()), f"{chosen}: {names}\n{done.stderr}")

    def plain_losses(self, numbers):
        """Of the plain run with these numbers, which runs once, whoever asks first."""
        key = tuple(numbers.values())
        with self.plain_lock:
            first = key not in self.plain
            if first:
                self.plain[key] = concurrent.futures.Future()
        if first:
            try:
                self.plain[key].set_result(self.losses({m: numbers.get(m, values[0]) for m, values in METHODS.items()}))
            except BaseException as error:
                self.plain[key].set_exception(error)
        return self.plain[key].result()

    def check_trains(self, chosen):
        numbers = {m: chosen[m] for m in NUMBERS} | {"precision.master": "none" if chosen["precision.master"] == "none" else "auto"}
        if "gradients: bf16" in chosen["memory.optimizer_offload"]:
            numbers["memory.optimizer_offload"] = chosen["memory.optimizer_offload"]   # what updates read is rounded
        want, got = self.plain_losses(numbers), self.losses(chosen)
        self.assertEqual(len(got), STEPS, chosen)
        whole = chosen["batch.micro_batch_size"] in ("8", "auto") and chosen["data.pad_to"] == "auto" and chosen["model.attention"] != "math" and "single" in chosen["parallel"]
        if whole:
            self.assertEqual(got, want, chosen)
        else:
            # A sign, or a code of 8 bits, falls on another side where sums round otherwise.
            # Scales of fp8 are those of a micro-batch.
            tolerance = 2e-2 if chosen["precision.products"] == "fp8" else 1e-2 if chosen["precision.compute"] != "fp32" else 1e-3 if "lion" in chosen["optimizer"] or "8bit" in chosen["optimizer"] else 1e-5
            self.assertLess(max(abs(g / w - 1) for g, w in zip(got, want)), tolerance, chosen)

    def check(self, chosen):
        rule = broken_rule(chosen)
        if rule:
            self.check_refused(chosen, rule["names"])
        else:
            self.check_trains(chosen)
        return rule is None

    def outcome(self, chosen):
        """Whether it was legal, and what is wrong."""
        try:
            return self.check(chosen), None
        except AssertionError as error:
            return True, error

    def check_all(self, choices):
        """Share of legal ones. The same choice drawn twice runs once: it would be the same run."""
        once = {self.name_of(chosen): chosen for chosen in choices}
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            outcomes = list(pool.map(self.outcome, once.values()))
        wrong = [str(error) for _, error in outcomes if error]
        self.assertFalse(wrong, f"{len(wrong)} of {len(once)}:\n" + "\n\n".join(wrong))
        return sum(legal for legal, _ in outcomes) / len(outcomes)

    def test_the_reason_of_each_refusal(self):
        for rule in LEGALITY:
            for values in itertools.product(*rule["illegal"].values()):
                with self.subTest(values=values):
                    self.check_refused({m: v[0] for m, v in METHODS.items()} | dict(zip(rule["illegal"], values)), rule["names"])

    def test_all_pairs(self):
        each = [(m, v) for m, values in METHODS.items() for v in dict.fromkeys(values)]
        pairs = [(a, b) for a, b in itertools.combinations(each, 2) if a[0] != b[0]]
        chosen = [{m: v[0] for m, v in METHODS.items()} | dict(pair) for pair in (pairs if LONG else self.random.sample(pairs, 25))]
        share = self.check_all(chosen)
        print(f"  {len(chosen)} of {len(pairs)} pairs, {share:.0%} legal")

    @sampled
    def test_random_recipes(self):
        chosen = [draw(self.random) for _ in (range(2000) if LONG else self.drawn(range(25), 10))]
        share = self.check_all(chosen)
        print(f"  {len(chosen)} recipes, {share:.0%} legal")
        if LONG:
            self.assertGreater(share, 0.7)


if __name__ == "__main__":
    main()
