"""Levers on memory: memory falls by what each says, in the plan and as measured.
tests/equality/memory.yaml holds that none changes a loss or a weight."""
import itertools
import json
import math
import re

from support import Trainx, main, sampled

RECIPE = """\
run: {{name: {name}, seed: 3, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: 8, num_heads: 2, hidden_size: 64, max_positions: 64, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 64, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: 16, micro_batch_size: {micro}}}
precision: {precision}
optimizer: {{type: adamw, lr: 3e-3, max_grad_norm: 0}}
checkpoint: {{every: 2 steps}}
metrics: {{every: 1 steps}}
"""


class Memory(Trainx):
    forks = True

    def run_of(self, name, *settings, steps=4, precision="fp32", micro=16, expect=0):
        path = self.recipe(RECIPE.format(name=name, steps=steps, precision=precision, micro=micro),
                           f"{name}.yaml")
        plan = json.loads(
            self.run_trainx("plan", path, "--json", *settings).stdout.splitlines()[-1])
        done = self.run_trainx("train", path, *settings, env=self.environment(OMP_NUM_THREADS="1"),
                               expect=expect)
        return plan, done

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def measured(self, name):
        return max(m["peak_memory_bytes"] for m in self.metrics(name))

    @staticmethod
    def category(plan, name):
        return sum(c["bytes"] for c in plan["memory"] if c["category"] == name)

    @sampled
    def test_updates_in_backward_free_the_gradients(self):
        optimizers = ("adamw", "adafactor", "adamw_8bit", "lamb")
        for precision, optimizer in self.drawn(itertools.product(("fp32", "bf16"), optimizers)):
            with self.subTest(precision=precision, optimizer=optimizer):
                name = f"{precision}-{optimizer}"
                # Few tokens, so that gradients are what memory is fullest with.
                more = ["memory.activation_checkpoint=full", "data.sequence_length=16",
                        "batch={global_batch_size: 2, micro_batch_size: 2}",
                        "model.options.hidden_size=128", f"optimizer.type={optimizer}"]
                if optimizer == "adafactor":
                    more.append("optimizer.options.relative_step=false")
                plain, _ = self.run_of(name, *more, precision=precision)
                plan, _ = self.run_of(name + "-b", *more, "optimizer.update_in_backward=true",
                                      precision=precision)
                self.assertEqual(self.losses(name + "-b"), self.losses(name))
                fell = plain["arena_bytes"] - plan["arena_bytes"]
                gradients = self.category(plain, "gradients")
                print(f"  {name}: arena {plain['arena_bytes']} -> {plan['arena_bytes']}, "
                      f"gradients {gradients}")
                self.assertGreater(fell, 0.75 * gradients)
                measured = self.measured(name) - self.measured(name + "-b")
                self.assertLess(abs(measured - fell), 0.03 * plain["arena_bytes"])

    def test_a_gradient_that_is_not_finite_ends_a_run_that_updates_in_backward_and_saves_nothing_of_it(
            self):
        more = ("optimizer={type: sgd, lr: 1e30, max_grad_norm: 0, update_in_backward: true}",
                "checkpoint.every=1 steps", "checkpoint.keep_last=9")
        _, done = self.run_of("bad", *more, steps=30, expect=80)
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("trainx: ")]
        self.assertRegex(line, r"\bstep 2\b.*\b16\b.*\b31\b")
        self.check_sentence("train.not_finite_in_backward", line)
        self.assertEqual(
            sorted(p.name for p in (self.folder / "outputs" / "bad").glob("checkpoint-*")),
            ["checkpoint-1"])
        self.assertEqual([m["step"] for m in self.metrics("bad")], [1])
        self.assertTrue(all(map(math.isfinite, self.losses("bad"))))
        self.run_trainx("ckpt", "verify", "outputs/bad")
        status = json.loads((self.folder / "outputs" / "bad" / "status.json").read_text())
        self.assertEqual(status["exit_code"], 80)
        _, done = self.run_of("plain", *[m.replace("true", "false") for m in more], steps=30,
                              expect=80)  # there the step is skipped, 20 times
        self.assertIn(" 20 steps", done.stderr)

    @sampled
    def test_offloaded_activations_leave_the_device(self):
        levels = ("none", "selective", "full", "[full, full, full, full, none, none, none, none]")
        for number, (level, micro) in enumerate(self.drawn(itertools.product(levels, (16, 4)), 2)):
            with self.subTest(level=level, micro=micro):
                name, setting = f"r{number}", f"memory.activation_checkpoint={level}"
                plain, _ = self.run_of(name, setting, micro=micro)
                plan, _ = self.run_of(name + "-o", setting, "memory.activation_offload=cpu",
                                      micro=micro)
                self.assertEqual(self.losses(name + "-o"), self.losses(name))
                fell = plain["arena_bytes"] - plan["arena_bytes"]
                print(f"  {level}: arena {plain['arena_bytes']} -> {plan['arena_bytes']}, "
                      f"host {plan['host_bytes']}")
                self.assertGreater(plan["host_bytes"], 0)
                self.assertGreater(fell, 0)
                if level == "none":
                    self.assertGreater(fell, 0.6 * plan["host_bytes"])

    def test_caches_are_released(self):
        with open(self.folder / "lines.jsonl", "w") as out:
            for _ in range(80):
                length = self.random.randrange(6, 513)
                ids = [self.random.randrange(104, 4000) for _ in range(length)]
                print(json.dumps({"input_ids": ids}), file=out)
        text = """run: {name: released, duration: 4 steps, deterministic: true}
model: {type: bert, options: {num_layers: 4, num_heads: 8, hidden_size: 256, max_positions: 512,
        vocab_size: 4000, task: masked_lm,
        mask_token: 103, special_tokens: [0, 101, 102, 103], mask_probability: 0.3}}
data: {type: jsonl, train: lines.jsonl, sequence_length: 512}
batch: {global_batch_size: 16, micro_batch_size: 16}
optimizer: {type: adamw}
metrics: {every: 1 steps}
"""
        recipe = self.recipe(text)
        done = self.run_trainx("train", recipe, "memory.release_cache_every=2 steps")
        told = re.findall(r"^step (\d+): (?!eval|saved).*?([\d.]+ [KMG]iB)", done.stderr, re.M)
        print("  ", told)
        self.assertTrue(set(step for step, _ in told) & {"2", "4"}, done.stderr)
        self.assertTrue(set(step for step, _ in told) <= {"2", "4"}, done.stderr)
        self.refused("plan", recipe, "--gpu", "h200", "memory.release_cache_every=2 steps",
                     key="memory.release_cache_every", sentence="plan.release_cache_on_gpu")
        self.refused("plan", recipe, "memory.release_cache_every=0 steps",
                     key="memory.release_cache_every", names="0")

    def test_offload_without_anything_to_offload_is_refused(self):
        path = self.recipe(
            RECIPE.format(name="short", steps=2, precision="fp32",
                          micro=16).replace("num_layers: 8", "num_layers: 1"))
        self.refused("plan", path, "memory={activation_offload: cpu, activation_checkpoint: full}",
                     key="memory.activation_offload", sentence="plan.nothing_to_offload")


if __name__ == "__main__":
    main()
