"""trainx verify: numbers do not hang on how a run is cut, and it tells where they would."""
import json
import pathlib
import stat
import sys

from support import TRAINX, Trainx, main, sampled, tiny, write_tokens

# In the worker's place: trains, and then falsifies the log of one of the runs.
LIAR = """#!{python}
import json, os, pathlib, subprocess, sys
worker = {worker!r}
if sys.argv[1:]:
    os.execv(worker, [worker, *sys.argv[1:]])
job = json.loads(os.pread(3, 1 << 26, 0))
code = subprocess.run([worker], pass_fds=[3, *([job["membership"]["listener"]] if job["membership"]["listener"] >= 0 else [])]).returncode
log = pathlib.Path(job["run_folder"]) / "metrics.jsonl"
if job["membership"]["rank"] == 0 and job["membership"]["world_size"] == 2:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for m in lines:
        if m.get("step") == 5 and "loss" in m:
            m["loss"] *= 1.001
    log.write_text("".join(json.dumps(m) + "\\n" for m in lines))
sys.exit(code)
"""


# Heads of a size of their own: hidden_size is no multiple of their number.
WITHOUT_HELD_OUT = """\
run: {{name: bare, duration: 8 steps, device: cpu}}
model: {{type: qwen3, options: {{num_layers: 1, num_heads: 8, num_key_value_heads: 2, head_size: 6,
                               hidden_size: 20, intermediate_size: 24, max_positions: 16, vocab_size: 41}}}}
data: {{type: tokens, train: {tokens}, sequence_length: 16}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3}}
"""


class Verify(Trainx):
    forks = True

    def test_cuts_agree_and_nothing_is_left(self):
        recipe = self.recipe(
            tiny(steps=100, dropout=0.1).replace("global_batch_size: 8", "global_batch_size: 24"))
        done = json.loads(
            self.run_trainx("verify", recipe, "--worlds", "1,3", "--steps", "8", "--json").stdout)
        self.assertTrue(done["agree"])
        self.assertEqual(
            [c["cut"] for c in done["cuts"]],
            ["1 rank", "3 ranks", "1 rank, stopped and resumed", "3 ranks, resumed with 1 rank"])
        for cut in done["cuts"]:
            self.assertLess(cut["loss"], 1e-6)
            self.assertLess(cut["weights"], 1e-5)
        self.assertGreater(done["cuts"][1]["loss"] + done["cuts"][1]["grad_norm"], 0,
                           "another order of sums leaves a trace")
        self.assertEqual(done["cuts"][2]["weights"], 0, "resuming is exact")
        self.assertFalse(list((self.folder / "outputs").glob("*.verify")))

    def test_an_adapter(self):
        recipe = self.recipe(tiny(steps=100).replace(
            "model: {", "model: {adapter: {type: lora, rank: 2}, "))
        done = json.loads(
            self.run_trainx("verify", recipe, "--worlds", "1,2", "--steps", "6", "--json").stdout)
        self.assertTrue(done["agree"])
        self.assertEqual(len(done["cuts"]), 4)
        for cut in done["cuts"]:
            self.assertLess(cut["weights"], 1e-5)
        self.assertEqual(done["cuts"][2]["weights"], 0)

    def test_a_recipe_without_held_out_data(self):
        tokens = self.folder / "tokens.bin"
        write_tokens(tokens, [self.random.randrange(3, 40) for _ in range(8 * 16 * 8 + 1)])
        recipe = self.recipe(WITHOUT_HELD_OUT.format(tokens=tokens))
        done = self.run_trainx("verify", recipe, "--worlds", "1,2", "--steps", "4", "--json")
        self.assertTrue(json.loads(done.stdout)["agree"])

    def test_attention_computed_in_one_way_has_no_kinds_to_choose(self):
        tokens = self.folder / "tokens.bin"
        write_tokens(tokens, [5] * 200)
        recipe = self.recipe(WITHOUT_HELD_OUT.format(tokens=tokens))
        self.refused("plan", recipe, "model.attention=math", names=("model.attention", "qwen3"))
        self.assertNotIn("LibTorch", self.run_trainx("plan", recipe).stdout)

    @sampled
    def test_in_fp8_later_steps_may_differ_by_roundings_and_the_first_may_not(self):
        for scaling in self.drawn(("current", "delayed")):
            recipe = self.recipe(
                tiny(steps=100, dropout=0,
                     precision="{compute: fp32, products: fp8, scaling: %s}" % scaling))
            done = json.loads(
                self.run_trainx("verify", recipe, "--worlds", "1,4", "--steps", "12",
                                "--json").stdout)
            self.assertTrue(done["agree"])
            ranks, resumed = done["cuts"][1:3]
            self.assertGreater(ranks["loss"], 0, "another order of sums leaves a trace")
            self.assertLess(ranks["first_loss"], 1e-6,
                            "four ranks have micro-batches of 2, and so has one")
            self.assertLess(ranks["first_grad_norm"], 1e-5)
            self.assertEqual(resumed["weights"], 0, "resuming is exact")

    def test_a_loss_that_differs_ends_with_79(self):
        liar = self.folder / "liar"
        liar.write_text(
            LIAR.format(python=sys.executable,
                        worker=str(pathlib.Path(TRAINX).with_name("trainx-worker"))))
        liar.chmod(liar.stat().st_mode | stat.S_IXUSR)
        done = self.run_trainx("verify", self.recipe(tiny(steps=100)), "--worlds", "1,2", "--steps",
                               "6", expect=79, env=self.environment(TRAINX_WORKER=str(liar)))
        self.assertRegex(done.stdout, r"2 ranks +loss 1\.0e-03")
        self.check_sentence("verify.differs", done.stderr.splitlines()[-1])
        self.assertTrue(list((self.folder / "outputs").glob("*.verify")),
                        "the runs are there to look at")

    def test_what_cannot_be_cut_is_refused(self):
        self.refused("verify", self.recipe(tiny()), "--worlds", "1,3",
                     names=("batch.global_batch_size", 3, 6, 9))


if __name__ == "__main__":
    main()
