"""The same numbers as transformers + torch.optim, however the global batch is cut; and a folder
that transformers loads."""
import unittest

import reference
from support import Trainx, main, write_tokens

PYTHON = reference.PYTHON
RECIPE = """\
run: {{name: hf, duration: 20 steps}}
model: {{type: gpt2, init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
optimizer: {optimizer}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
OPTIMIZERS = {
    "adamw": "{type: adamw, lr: 1e-3, options: {beta2: 0.95, weight_decay: 0.1}}",
    "sgd": "{type: sgd, lr: 0.05, options: {momentum: 0.9, weight_decay: 0.01}}",
    "nesterov": "{type: sgd, lr: 0.05, options: {momentum: 0.9, nesterov: true, weight_decay: 0.01}}",
}


@unittest.skipUnless(
    PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
)
class Transformers(Trainx):
    def reference(self, *args):
        return reference.ask(self, "reference_gpt2.py", *args)

    def setUp(self):
        super().setUp()
        self.model, self.tokens = self.folder / "gpt2", self.folder / "tokens.bin"
        self.reference("make", self.model)
        write_tokens(self.tokens,
                     [min(130, int(self.random.expovariate(0.05))) for _ in range(20 * 8 * 32 + 1)])

    def train(self, optimizer, *more):
        recipe = self.recipe(
            RECIPE.format(folder=self.model, tokens=self.tokens, optimizer=OPTIMIZERS[optimizer]))
        self.run_trainx("train", recipe, *more)

    def test_losses_equal_for_every_cut_of_the_batch(self):
        for optimizer in OPTIMIZERS:
            want = self.reference("losses", self.model, self.tokens, optimizer)
            self.assertLess(want[-1], want[0])
            for micro in (8, 4, 2, 1):
                with self.subTest(optimizer=optimizer, micro_batch_size=micro):
                    run = f"{optimizer}{micro}"
                    self.train(optimizer, f"run.name={run}", f"batch.micro_batch_size={micro}")
                    got = [m["loss"] for m in self.metrics(run)]
                    self.assertEqual(len(got), 20)
                    worst = max(abs(g - w) / w for g, w in zip(got, want))
                    print(f"  {run}: largest relative difference {worst:.1e}")
                    self.assertLess(worst, 1e-4)

    def test_transformers_loads_the_result_with_the_same_loss(self):
        self.train("adamw", "run.duration=19 steps")
        folder = self.folder / "outputs" / "hf" / "latest"
        loss = self.reference("load", folder, self.tokens)
        self.run_trainx(
            "train",
            self.recipe(
                RECIPE.format(folder=folder, tokens=self.tokens, optimizer=OPTIMIZERS["adamw"])),
            "run.name=next", "run.duration=1 steps")
        self.assertAlmostEqual(self.metrics("next")[0]["loss"], loss, delta=1e-4 * loss)

    def test_a_differing_dimension_is_an_error(self):
        recipe = self.recipe(
            RECIPE.format(folder=self.model, tokens=self.tokens, optimizer=OPTIMIZERS["sgd"]))
        self.assertIn(
            "num_layers",
            self.run_trainx("train", recipe, "model.options.num_layers=3", expect=78).stderr)


if __name__ == "__main__":
    main()
