"""What the tests of own modules share: workers that the build has, recipes and data."""
import json
import math
import shutil
import tempfile

from support import BUILD, Trainx, write_tokens

STEPS, BATCH, HELD_OUT, LENGTH, VOCABULARY, FEATURES = 12, 16, 21, 32, 50, 12
# The model's worker, its options and its data.
MODELS = {
    "pairs": ("own-modules-worker", "width: 32", "jsonl"),
    "own_gpt2": ("own-modules-worker", f"vocab_size: {VOCABULARY}, num_layers: 2, num_heads: 2, "
                                       "hidden_size: 32", "tokens"),
    "mixer": ("net-worker", f"vocab_size: {VOCABULARY}", "tokens"),
}
RECIPE = """\
run: {{name: base, duration: {steps} steps, seed: 7, deterministic: true}}
model: {{type: {model}, options: {{{options}}}}}
data: {{type: {data}, train: train.{suffix}, eval: eval.{suffix}, sequence_length: {length},
       shuffle: false}}
batch: {{global_batch_size: {batch}, micro_batch_size: {batch}}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
eval: {{every: 6 steps}}
metrics: {{every: 1 steps}}
checkpoint: {{every: 6 steps}}
"""


def worker(name):
    """Of the build folder's tests/, or packed beside trainx."""
    places = [BUILD / "tests" / name, BUILD / name]
    return str(next((p for p in places if p.exists()), places[0]))


class OwnModules(Trainx):
    """Recipes of MODELS, and how they are trained. Tests share what workers have measured."""
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="trainx-cache-")
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def setUp(self):
        super().setUp()
        for name, count in (("train", STEPS * BATCH), ("eval", HELD_OUT)):
            with open(self.folder / f"{name}.jsonl", "w", encoding="utf-8") as out:
                for _ in range(count):
                    out.write(json.dumps(self.pair()) + "\n")
            ids = [0]
            for _ in range(count * LENGTH):
                ids.append((7 * ids[-1] + self.random.choice((1, 1, 1, 2))) % VOCABULARY)
            write_tokens(self.folder / f"{name}.bin", ids)
        for model, (_, options, data) in MODELS.items():
            self.recipe(RECIPE.format(steps=STEPS, model=model, options=options, data=data,
                                      suffix="jsonl" if data == "jsonl" else "bin", batch=BATCH,
                                      length=1 if data == "jsonl" else LENGTH), f"{model}.yaml")

    def pair(self):
        left, right = ([round(self.random.gauss(0, 1), 4) for _ in range(FEATURES)]
                       for _ in range(2))
        return {"left": left, "right": right,
                "goal": round(sum(a * b for a, b in zip(left, right)) / math.sqrt(FEATURES), 4)}

    def environment(self, **more):
        return super().environment(XDG_CACHE_HOME=self.cache, **more)

    def ask(self, command, model, *settings, **how):
        return self.run_trainx("--worker", worker(MODELS[model][0]), command,
                               self.folder / f"{model}.yaml", *settings, **how)

    def train(self, model, name, *settings):
        """The losses of its steps, none of them nan. What was said, in one line, is self.said."""
        done = self.ask("train", model, f"run.name={name}", *settings)
        self.said = " ".join(done.stderr.split())
        losses = [m["loss"] for m in self.metrics(name)]
        self.assertEqual(len(losses), STEPS)
        self.assertTrue(all(map(math.isfinite, losses)), losses)
        return losses

    def plan(self, model, *settings):
        return json.loads(self.ask("plan", model, *settings, "--json").stdout)

    def evaluation(self, name):
        """The last one's line of metrics.jsonl."""
        lines = (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()
        return [m for m in map(json.loads, lines) if "eval_loss" in m][-1]

    def assert_close(self, got, want, tolerance, what=""):
        worst = max(abs(g / w - 1) for g, w in zip(got, want, strict=True))
        self.assertTrue(worst <= tolerance, f"{what}: {worst:.1e}\n{got}\n{want}")
