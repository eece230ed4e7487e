"""Runs whose losses and checkpoints are compared byte by byte, wherever their parts lie."""
import json

from support import Trainx

RECIPE = """\
run: {{name: r, seed: {seed}, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: {layers}, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 20}}
batch: {{global_batch_size: 12, micro_batch_size: {micro}}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
checkpoint: {{every: 3 steps, keep_last: 9}}
eval: {{every: 3 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""


class Offloading(Trainx):
    forks = True
    layers, more = 3, ""                    # more: of the recipe

    def write(self, steps=6, micro=12):
        self.recipe(
            RECIPE.format(seed=self.random.randrange(1000), steps=steps, layers=self.layers,
                          micro=micro) + self.more, "r.yaml")

    def train(self, name, *settings, **how):
        return self.run_trainx("train", "r.yaml", f"run.name={name}", *settings,
                               **({"env": self.environment(OMP_NUM_THREADS="1")} | how))

    def plan(self, *settings):
        return json.loads(
            self.run_trainx("plan", "r.yaml", "--json", *settings).stdout.splitlines()[-1])

    def losses(self, name):
        lines = map(json.loads,
                    (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines())
        return [m.get("loss", m.get("eval_loss")) for m in lines]

    def saved(self, name, checkpoint="latest"):
        """Every byte of the tensors of a checkpoint."""
        return {
            path.name: path.read_bytes()
            for path in (self.folder / "outputs" / name / checkpoint).glob("*.safetensors")
        }

    def assert_same(self, name, other):
        self.assertEqual(self.losses(name), self.losses(other), name)
        self.assertTrue(self.saved(name), name)
        self.assertEqual(self.saved(name), self.saved(other), name)
