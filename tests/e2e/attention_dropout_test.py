"""Dropout of attention: what a folder asks is followed and written back. Label smoothing and
z-loss: what they add to a loss. tests/equality/dropout.yaml holds that no cut of the batch,
recomputation or resume changes a loss."""
import json

from support import Trainx, main, sampled

RECIPE = """\
run: {{name: r, seed: {seed}, duration: 6 steps, device: cpu}}
model: {{type: {type}, options: {{{options}}}}}
data: {data}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 3e-3}}
schedule: {{type: constant}}
eval: {{every: 6 steps, batches: all}}
metrics: {{every: 1 steps}}
"""
SIZES = "num_layers: 2, num_heads: 4, hidden_size: 32, max_positions: 32, vocab_size: 97"
STORIES = "{type: stories, sequence_length: 32, samples: 64, eval_samples: 8}"
LINES = "{type: jsonl, train: lines.jsonl, eval: held_out.jsonl, sequence_length: 32, shuffle: false}"
CASES = {
    "gpt2": ("gpt2", SIZES.replace(", vocab_size: 97", ""), STORIES),
    "qwen3": ("qwen3", SIZES.replace(", vocab_size: 97", "")
              + ", num_key_value_heads: 2, head_size: 8, intermediate_size: 64", STORIES),
    "bert": ("bert", f"task: masked_lm, mask_token: 96, special_tokens: [0, 96], {SIZES}", LINES),
    "bert_classes": ("bert", f"task: classification, num_labels: 3, {SIZES}", LINES),
}


class AttentionDropout(Trainx):
    forks = True

    def write(self, case, name="r.yaml"):
        kind, options, data = CASES[case]
        lines = {"train": 48, "eval": 8}
        for part, count in lines.items():
            with open(self.folder / ("lines.jsonl" if part == "train" else "held_out.jsonl"),
                      "w", encoding="utf-8") as file:
                for _ in range(count):
                    length = self.random.randrange(2, 33)
                    line = {"input_ids": [self.random.randrange(1, 96) for _ in range(length)]}
                    if case == "bert_classes":
                        line["label"] = self.random.randrange(3)
                    file.write(json.dumps(line) + "\n")
        return self.recipe(RECIPE.format(seed=self.seed % 1000, type=kind, options=options,
                                         data=data), name)

    def losses_of(self, recipe, name, *more):
        self.run_trainx("train", recipe, f"run.name={name}", *more)
        return [m["loss"] for m in self.metrics(name)]

    def evaluated(self, name):
        lines = (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m][-1]

    def test_it_changes_losses_and_no_cut_does(self):
        recipe = self.write("gpt2")
        on = "model.options.attention_dropout=0.4"
        want = self.losses_of(recipe, "whole", on)
        self.assertNotEqual(want, self.losses_of(recipe, "none"))
        cut = self.losses_of(recipe, "cut", on, "batch.micro_batch_size=2",
                             "memory.activation_checkpoint=full")
        for g, w in zip(cut, want, strict=True):
            self.assertLess(abs(g - w), 2e-6 * abs(w))              # sums in another order

    def test_a_folders_is_followed_and_written_back(self):
        for case, key, otherwise in (("gpt2", "attn_pdrop", 0.1),
                                     ("bert", "attention_probs_dropout_prob", 0.1),
                                     ("qwen3", "attention_dropout", 0)):
            with self.subTest(case=case):
                recipe = self.write(case, f"{case}.yaml")
                self.run_trainx("train", recipe, f"run.name={case}", "run.duration=1 step",
                                "model.options.attention_dropout=0.25")
                config = self.folder / "outputs" / case / "latest" / "config.json"
                written = json.loads(config.read_text())
                self.assertEqual(written[key], 0.25)
                shown = json.loads(self.run_trainx(
                    "show", recipe, "--json", "model.options={}",
                    f"model.init_from=outputs/{case}/latest").stdout)
                self.assertEqual(shown["model.options.attention_dropout"]["value"], "0.25")
                del written[key]
                config.write_text(json.dumps(written))
                shown = json.loads(self.run_trainx(
                    "show", recipe, "--json", "model.options={}",
                    f"model.init_from=outputs/{case}/latest").stdout)
                self.assertEqual(float(shown["model.options.attention_dropout"]["value"]),
                                 otherwise)

    def test_a_run_of_an_older_version_goes_on_without(self):
        recipe = self.write("gpt2")
        self.run_trainx("train", recipe, "run.name=base", "run.duration=1 step",
                        "model.options.attention_dropout=0.3")
        how = ("model.options={}", "model.init_from=outputs/base/latest", "run.name=old")
        off = ("model.options.attention_dropout=0",)
        self.run_trainx("train", recipe, *how, *off, "run.duration=2 steps")
        resolved = self.folder / "outputs" / "old" / "resolved.yaml"
        text = resolved.read_text()
        # which wrote no hash of the lines above either
        kept = [line for line in text.splitlines(keepends=True)
                if "attention_dropout" not in line and not line.startswith("# xxh3")]
        self.assertLess(len("".join(kept)), len(text))
        resolved.write_text("".join(kept))
        self.run_trainx("train", recipe, *how, "run.duration=4 steps")      # auto: not the folder's
        whole = self.losses_of(recipe, "whole", *how[:2], *off, "run.duration=4 steps")
        self.assertEqual([m["loss"] for m in self.metrics("old")], whole)

    def test_it_is_refused_where_it_is_not_computed(self):
        recipe = self.write("gpt2")
        on = "model.options.attention_dropout=0.1"
        self.refused("validate", recipe, on, "model.attention=flash", key=None,
                     names=("model.options.attention_dropout",))

    def test_a_gpu_follows_it_by_kernels_of_trainx(self):
        recipe = self.write("gpt2")
        for more, kernels in (((), "cuDNN"), (("model.options.attention_dropout=0.1",), "trainx")):
            plan = json.loads(self.run_trainx("plan", recipe, "--gpu", "h200", "run.device=auto",
                                              "precision=bf16", "--json", *more).stdout)
            self.assertIn(kernels, plan["attention"])

    @sampled
    def test_smoothing_and_z_loss_are_of_training_alone(self):
        for case in self.drawn(("gpt2", "bert", "bert_classes")):
            with self.subTest(case=case):
                recipe = self.write(case)
                # Logits that are all alike would not show the smoothing. What it adds to a batch's
                # loss has either sign and may be nearly nothing: the steps' largest is looked at.
                still = ("optimizer.lr=1e-30", "model.options.initializer_range=0.5")
                found, evaluations = {}, set()
                for name, smoothing, z in (("none", 0, 0), ("smooth", 0.3, 0), ("z", 0, 0.2),
                                           ("more", 0, 0.4), ("both", 0.3, 0.2)):
                    found[name] = self.losses_of(recipe, f"{case}-{name}", *still,
                                                 f"model.options.label_smoothing={smoothing}",
                                                 f"model.options.z_loss={z}")
                    evaluations.add(self.evaluated(f"{case}-{name}"))
                self.assertEqual(len(evaluations), 1, evaluations)
                steps = list(zip(*found.values(), strict=True))
                self.assertEqual(len(steps), 6)
                self.assertGreater(max(abs(smooth - none) for none, smooth, *_ in steps), 1e-3,
                                   found)
                for none, smooth, z, more, both in steps:
                    self.assertGreater(z, none)
                    sum_of_both = (smooth - none) + (z - none)
                    self.assertLess(abs(both - none - sum_of_both), 1e-4 * abs(z), found)
                once, twice = (sum(found[name]) - sum(found["none"]) for name in ("z", "more"))
                self.assertLess(abs(twice / once - 2), 1e-4, found)


if __name__ == "__main__":
    main()
