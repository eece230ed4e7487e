"""A worker with a model of the user's own, built against an install tree: it trains as a plain
LibTorch loop does, however the work is cut."""
import json
import os
import struct
import subprocess

import support
from install_tree import InstallTree
from support import main, sha256, write_tokens

STEPS, BATCH, LENGTH, VOCAB, SEED, LR = 20, 16, 32, 50, 7, "3e-3"
RECIPE = f"""\
run: {{name: base, duration: {STEPS} steps, seed: {SEED}}}
model: {{type: mixer, options: {{vocab_size: {VOCAB}}}}}
data: {{type: tokens, train: train.bin, eval: eval.bin, sequence_length: {LENGTH}, shuffle: false}}
batch: {{global_batch_size: {BATCH}, micro_batch_size: {BATCH}}}
optimizer: {{type: adamw, lr: {LR}, options: {{weight_decay: 0.1}}}}
metrics: {{every: 1 steps}}
"""


class CustomModule(InstallTree):
    EXAMPLES, WORKER = ("custom_module",), "my-worker"

    def setUp(self):
        super().setUp()
        for name, steps in (("train.bin", STEPS), ("eval.bin", 2)):
            ids = [0]
            for _ in range(steps * BATCH * LENGTH):
                ids.append((7 * ids[-1] + self.random.choice([1, 1, 1, 2])) % VOCAB)
            write_tokens(self.folder / name, ids)
        self.config = self.recipe(RECIPE, "base.yaml")

    def train(self, name, *settings):
        self.ask("train", self.config, f"run.name={name}", *settings)
        return [m["loss"] for m in self.metrics(name)]

    def test_losses_are_those_of_a_plain_loop_however_the_batch_is_cut(self):
        plain = subprocess.run([
            self.built("plain-loop"), "train.bin", *map(str,
                                                        (STEPS, BATCH, LENGTH, VOCAB, SEED, LR))
        ], cwd=self.folder, capture_output=True, text=True, check=True)
        want = [float(line) for line in plain.stdout.split()]
        self.assertEqual(len(want), STEPS)
        self.assertLess(want[-1], 0.7 * want[0])                           # it learns
        for accumulation in (1, 2, 4):
            losses = self.train(f"cut{accumulation}",
                                f"batch.micro_batch_size={BATCH // accumulation}")
            self.assert_close(losses, want, 1e-5)
        # The comparison sees other weights, of which one loss alone may be the same by chance.
        other = self.train("other", "run.seed=8")
        self.assertGreater(max(abs(o / w - 1) for o, w in zip(other, want, strict=True)), 1e-5)

    def test_activation_checkpointing_changes_no_bit_and_takes_less(self):
        how = ["batch.micro_batch_size=4", "model.options.dropout=0.3", "model.options.depth=4"]
        plans = {}
        for level in ("none", "full"):
            self.train(level, *how, f"memory.activation_checkpoint={level}")
            plans[level] = json.loads(
                self.ask("plan", self.config, *how, f"memory.activation_checkpoint={level}",
                         "--program", "--json").stdout)
            self.assertLessEqual(
                self.metrics(level)[-1]["peak_memory_bytes"],
                plans[level]["arena_bytes"] + plans[level]["library_bytes"])
        self.assertEqual([m["loss"] for m in self.metrics("none")],
                         [m["loss"] for m in self.metrics("full")])
        self.assertEqual(sha256(self.weights("none")), sha256(self.weights("full")))
        self.assertLess(plans["full"]["library_bytes"], plans["none"]["library_bytes"])
        self.assertLess(
            self.metrics("full")[-1]["peak_memory_bytes"],
            self.metrics("none")[-1]["peak_memory_bytes"])
        offload = [
            "memory={activation_checkpoint: full, activation_offload: cpu, optimizer_offload: cpu}",
            "optimizer.max_grad_norm=0", "optimizer.update_in_backward=true",
            "batch.micro_batch_size=16"
        ]
        want = self.train("whole", *how[1:], "batch.micro_batch_size=16",
                          "optimizer.max_grad_norm=0")
        self.assertEqual(self.train("offload", *how[1:], *offload), want)
        self.assertGreater(
            json.loads(self.ask("plan", self.config, *how[1:], *offload,
                                "--json").stdout)["offloaded_bytes"], 0)
        self.assertEqual(
            ("recompute" in plans["none"]["program"], "recompute" in plans["full"]["program"]),
            (False, True))

    def test_bf16_keeps_exact_weights_and_a_resumed_run_is_the_run(self):
        fp32 = self.train("fp32")
        for master in ("split", "fp32"):
            losses = self.train(f"bf16-{master}", "precision.compute=bf16",
                                f"precision.master={master}")
            self.assert_close(losses, fp32, 1e-2)
            self.assertNotEqual(losses, fp32)
        self.assertEqual(sha256(self.weights("bf16-split")), sha256(self.weights("bf16-fp32")))
        how = ["model.options.dropout=0.3", "batch.micro_batch_size=8"]
        whole = self.train("whole", *how)
        self.train("parts", *how, "run.duration=11 steps")
        self.assertEqual(self.train("parts", *how), whole)
        self.assertEqual(sha256(self.weights("parts")), sha256(self.weights("whole")))
        self.assertEqual(self.ask("train", self.config, "run.name=parts", *how).returncode,
                         0)  # already done
        changed = self.ask("train", self.config, "run.name=parts", *how, "model.options.width=16",
                           expect=78)
        self.assertIn("model.options.width: 32 -> 16", changed.stderr)

    def test_what_is_saved_is_evaluated_exported_and_trained_on(self):
        self.train("base")
        names = set(json.loads(self.header(self.weights("base"))))
        self.assertLessEqual({"embedding.weight", "block0.mix", "block1.up.bias", "head.weight"},
                             names)
        config = json.loads((self.weights("base").parent / "config.json").read_text())
        self.assertEqual((config["model_type"], config["vocab_size"], config["options"]["width"]),
                         ("mixer", VOCAB, 32))
        answer = json.loads(self.ask("--json", "eval", "outputs/base").stdout.splitlines()[-1])
        self.assertLess(answer["eval_loss"], self.metrics("base")[0]["loss"])
        self.ask("export", "outputs/base", "exported")
        again = self.train("again", "model.init_from=exported")
        self.assertLess(again[0], 0.7 * self.metrics("base")[0]["loss"])
        other = self.ask("train", self.config, "run.name=other", "model.init_from=exported",
                         "model.options.width=16", expect=65)
        self.assertIn("embedding.weight", other.stderr)
        self.check_sentence("generate.custom_model",
                            self.ask("generate", "outputs/base", "--prompt", "1", expect=2).stderr)

    @staticmethod
    def header(path):
        with open(path, "rb") as file:
            return file.read(struct.unpack("<Q", file.read(8))[0])

    def test_its_options_are_read_as_strictly_as_those_of_trainx(self):
        self.assertIn("mixer", self.ask("list", "models").stdout)
        wrong = self.recipe(
            RECIPE.replace("vocab_size: 50}",
                           "vocab_size: 50, widht: 8, depth: 0, activation: gleu}"), "wrong.yaml")
        problems = json.loads(self.ask("validate", wrong, "--json", expect=78).stdout)["problems"]
        self.assertEqual({(p["line"], p["key"])
                          for p in problems}, {(2, f"model.options.{key}")
                                               for key in ("widht", "depth", "activation")})
        for key, part in (("widht", "'width'"), ("depth", "100"), ("activation", "'gelu'")):
            self.assertIn(part, next(p["message"] for p in problems if p["key"].endswith(key)))
        shown = self.ask("show", self.config).stdout
        self.assertIn("activation: gelu", shown)
        again = self.recipe("\n".join(line.split("  # ")[0] for line in shown.splitlines()) + "\n",
                            "again.yaml")
        strip = lambda text: [line.split("  # ")[0].rstrip() for line in text.splitlines()]
        self.assertEqual(strip(self.ask("show", again).stdout), strip(shown))
        for setting, key in (("model.size=big", "model.size"), ("model.options.vocab_size=0",
                                                                "model.options.vocab_size"),
                             ("memory.activation_checkpoint=selective",
                              "memory.activation_checkpoint"), ("memory.activation_offload=cpu",
                                                                "memory.activation_offload")):
            said = self.ask("validate", self.config, setting, expect=78).stderr
            self.assertIn(key, said)
            self.check_sentence(f"custom_module.refused/{setting}", said)
        self.assertIn("--worker", self.run_trainx("validate", self.config, expect=78).stderr)
        self.assertIn(
            "batch.micro_batch_size",
            self.ask("validate", self.config, "memory.budget=162 MiB",
                     "batch.global_batch_size=256", "batch.micro_batch_size=256", expect=71).stderr)

    def test_what_a_worker_says_is_remembered(self):
        starts, counting = self.folder / "starts", self.folder / "counting-worker"
        counting.write_text(f'#!/bin/sh\necho start >>{starts}\nexec {self.worker} "$@"\n')
        counting.chmod(0o755)
        self.run_trainx("--worker", counting, "validate", self.config)
        asked = starts.read_text()
        self.assertIn("start", asked)
        self.run_trainx("--worker", counting, "validate", self.config)
        self.assertEqual(starts.read_text(), asked)
        named = self.run_trainx("validate", self.config,
                                env=self.environment(TRAINX_WORKER=self.worker))
        self.assertIn("valid", named.stdout)

    def test_a_worker_that_is_none(self):
        self.assertIn(
            "./nothing",
            self.run_trainx("--worker", "./nothing", "validate", self.config, expect=69).stderr)
        script = self.folder / "script"
        for body, *parts in (("echo it broke >&2; exit 3", " 3",
                              "it broke"), ("echo hello", ), ("kill -9 $$", "signal 9"),
                             ("echo '{\"trainx\": \"9.9\", \"models\": []}'", ),
                             ("echo '{\"trainx\": \"0.1.0\", \"models\": [{}]}'", )):
            script.write_text(f"#!/bin/sh\n{body}\n")
            script.chmod(0o755)
            said = self.run_trainx("--worker=./script", "list", "models", expect=69).stderr
            for part in ("./script", *parts):
                self.assertIn(part, said)
            self.check_sentence(f"custom_module.no_worker/{body}", said)
        self.assertIn("--worker",
                      self.run_trainx("validate", self.config, "--worker", expect=2).stderr)


if __name__ == "__main__":
    assert os.path.exists(support.TRAINX), f"{support.TRAINX} is not built"
    main()
