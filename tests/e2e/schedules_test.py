"""The learning rates of whole runs are transformers': through every schedule that it has, and
through a resume."""
import signal
import time
import unittest

import reference
from support import Trainx, main, sampled

LR, WARMUP, STEPS = 2e-3, 7, 60
RECIPE = f"""\
run: {{name: schedule, duration: {STEPS} steps}}
model: {{type: gpt2, options: {{num_layers: 1, num_heads: 1, hidden_size: 16, max_positions: 8}}}}
data: {{type: stories, sequence_length: 8, samples: 512, eval_samples: 8}}
batch: {{global_batch_size: 2, micro_batch_size: 2}}
optimizer: {{type: adamw, lr: {LR}}}
checkpoint: {{every: 1000 steps}}
eval: {{every: 1000 steps}}
metrics: {{every: 1 steps}}
"""
# trainx's schedule, transformers' name and arguments for it
SCHEDULES = [
    (f"{{type: constant, warmup: {WARMUP} steps}}", "constant_with_warmup", {}),
    (f"{{type: linear, warmup: {WARMUP} steps}}", "linear", {}),
    ("{type: linear}", "linear", {}),
    (f"{{type: cosine, warmup: {WARMUP} steps}}", "cosine", {}),
    (f"{{type: cosine, warmup: {16 * WARMUP} tokens, final_ratio: 0.1}}", "cosine_with_min_lr",
     {"min_lr_rate": 0.1}),
    (f"{{type: cosine_restarts, warmup: {WARMUP} steps, cycles: 3}}", "cosine_with_restarts",
     {"num_cycles": 3}),
    (f"{{type: polynomial, warmup: {WARMUP} steps, power: 2.5, final_ratio: 0.05}}", "polynomial",
     {"power": 2.5, "lr_end": 0.05 * LR}),
    (f"{{type: inverse_sqrt, warmup: {WARMUP} steps}}", "inverse_sqrt", {}),
    ("{type: inverse_sqrt}", "inverse_sqrt", {}),
    (f"{{type: inverse_sqrt, warmup: {WARMUP} steps, timescale: 320 tokens}}", "inverse_sqrt",
     {"timescale": 20}),
    *[(f"{{type: wsd, warmup: {WARMUP} steps, decay: {length}, shape: {shape}}}",
       "warmup_stable_decay", {"num_decay_steps": 20, "decay_type": shape})
      for shape, length in (("linear", "20 steps"), ("cosine", "320 tokens"),
                            ("1-sqrt", "20 steps"))],
]


def warmup_of(schedule):
    return WARMUP if "warmup" in schedule else 0


def as_trainx(rates, warmup):
    """Warm-up step s of w has s / w of lr here, (s - 1) / w in transformers, whose first step
    trains with 0. After it the steps are the same."""
    return [rates[s + 1] if s < warmup else rates[s] for s in range(STEPS)]


@unittest.skipUnless(
    reference.PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
)
class Schedules(Trainx):
    forks = True

    def reference(self, schedules):
        cases = [{
            "name": name, "lr": LR, "warmup": warmup_of(schedule), "steps": STEPS,
            "arguments": arguments
        } for schedule, name, arguments in schedules]
        told = reference.ask(self, "reference_schedules.py", asks=cases)
        return [
            as_trainx(rates, warmup_of(schedule))
            for rates, (schedule, _, _) in zip(told, schedules)
        ]

    def compare(self, run, want):
        metrics = self.metrics(run)
        self.assertEqual([m["step"] for m in metrics], list(range(1, STEPS + 1)))
        worst = max(abs(m["lr"] - w) / LR for m, w in zip(metrics, want))
        print(f"  {run}: largest difference {worst:.1e} of lr")
        self.assertLess(worst, 1e-12)

    @sampled
    def test_whole_runs(self):
        recipe, drawn = self.recipe(RECIPE), self.drawn(SCHEDULES, 3)[:]
        for i, ((schedule, name, _), want) in enumerate(zip(drawn, self.reference(drawn))):
            with self.subTest(schedule=schedule):
                self.run_trainx("train", recipe, f"run.name={i}-{name}", f"schedule={schedule}")
                self.compare(f"{i}-{name}", want)

    @sampled
    def test_resumed_runs(self):
        """Ended by a signal somewhere, then started again."""
        chosen = self.random.sample(SCHEDULES, len(self.drawn(range(4))))
        recipe = self.recipe(RECIPE)
        for i, ((schedule, name, _), want) in enumerate(zip(chosen, self.reference(chosen))):
            with self.subTest(schedule=schedule):
                run = f"{i}-{name}"
                at = self.random.randrange(1, STEPS - 5)
                process = self.start_trainx("train", recipe, f"run.name={run}",
                                            f"schedule={schedule}")
                file = self.folder / "outputs" / run / "metrics.jsonl"
                while process.poll() is None and not (file.exists()
                                                      and len(file.read_text().splitlines()) > at):
                    time.sleep(0.005)
                process.send_signal(signal.SIGUSR1)
                self.assertIn(process.wait(), (0, 75))
                print(f"  {run}: stopped at step {self.status(run)['step']}")
                self.run_trainx("train", recipe, f"run.name={run}", f"schedule={schedule}")
                self.compare(run, want)

    def test_a_lengthened_run_goes_on_with_the_longer_schedule(self):
        schedule = SCHEDULES[3]
        recipe, [want] = self.recipe(RECIPE), self.reference([schedule])
        self.run_trainx("train", recipe, f"schedule={schedule[0]}", "run.duration=20 steps")
        self.run_trainx("train", recipe, f"schedule={schedule[0]}")
        rates = [m["lr"] for m in self.metrics("schedule")]
        self.assertLess(rates[19], 0.1 * LR)                 # the short run's end
        self.assertLess(max(abs(r - w) / LR for r, w in zip(rates[20:], want[20:])), 1e-12)


if __name__ == "__main__":
    main()
