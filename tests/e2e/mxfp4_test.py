"""Folders whose experts are in mxfp4: read as transformers reads them, trained, and saved as plain
weights.
"""
import json
import unittest

import reference
from support import Trainx, main, write_tokens

RECIPE = """\
run: {{name: r, duration: {steps} steps, device: cpu}}
model: {{init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: sgd, lr: {lr}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
EXPERTS = 2 * 4                     # tensors of matrices: up and down, in 4 layers


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Mxfp4(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [3 + self.random.randrange(125) for _ in range(8 * 8 * 32 + 1)])
        self.plain, self.packed = self.folder / "plain", self.folder / "packed"
        seed = str(self.random.randrange(1000))
        _, _, self.loss = self.ask(["make", "gpt_oss", str(self.plain), seed],
                                   ["mxfp4", str(self.plain), str(self.packed), seed],
                                   ["first_loss", str(self.packed), str(self.tokens),
                                    str(self.packed / "config.json")])

    def ask(self, *commands):
        return reference.ask(self, "reference_decoder.py", "all", asks=commands)

    def train(self, name, steps, lr):
        recipe = RECIPE.format(folder=self.packed, tokens=self.tokens, steps=steps, lr=lr)
        self.run_trainx("train", self.recipe(recipe, f"{name}.yaml"), f"run.name={name}")
        return [m["loss"] for m in self.metrics(name)]

    def test_a_folder_is_that_of_transformers(self):
        losses = self.train("kept", 1, 1e-30)
        latest = self.folder / "outputs" / "kept" / "latest"
        [found] = self.ask(["dequantized", str(self.packed), str(latest)])
        self.assertEqual(found["tensors"], EXPERTS)
        self.assertLess(found["difference"], 1e-30)     # of the step that moves zeros
        self.assertLess(abs(losses[0] - self.loss[0]) / self.loss[0], 1e-5)
        config = (latest / "config.json").read_text()
        self.assertNotIn("quantization_config", config)
        losses = self.train("trained", 9, 0.1)
        self.assertLess(losses[8], losses[0])           # of the same samples, an epoch later

    def test_adapters_of_experts_are_added_to_them(self):
        recipe = RECIPE.format(folder=self.packed, tokens=self.tokens, steps=8, lr=0.1).replace(
            f"init_from: {self.packed}", f"init_from: {self.packed}, adapter: {{type: lora, rank: 4, "
            "targets: [q_proj], target_parameters: [experts.gate_up_proj, experts.down_proj]}")
        held_out = self.folder / "held_out.bin"
        write_tokens(held_out, [3 + self.random.randrange(125) for _ in range(8 * 32 + 1)])
        self.run_trainx("train", self.recipe(recipe), "run.name=adapted", "optimizer.lr=3",
                        f"data.eval={held_out}", "eval.every=1 steps")
        lines = (self.folder / "outputs/adapted/metrics.jsonl").read_text().splitlines()
        evaluated = [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]
        self.assertEqual(len(evaluated), 8)
        # Two of them may be the same by chance; the lowest and the highest are not.
        self.assertGreater(max(evaluated) - min(evaluated), 1e-3)
        told = json.loads(self.run_trainx("eval", "outputs/adapted", "--json").stdout
                          .splitlines()[-1])
        self.assertAlmostEqual(told["eval_loss"], evaluated[-1], places=5)

    def test_what_is_not_that_format_is_refused(self):
        path = self.packed / "config.json"
        path.write_text(path.read_text().replace('"mxfp4"', '"fp8"'))
        recipe = RECIPE.format(folder=self.packed, tokens=self.tokens, steps=1, lr=0.1)
        self.refused("plan", self.recipe(recipe), code=65, names=["quantization_config"])
        path.write_text(path.read_text().replace('"fp8"', '"mxfp4"'))
        self.refused("export", self.packed, "exported", code=65, names=["mxfp4"])


if __name__ == "__main__":
    main()
