"""Wrong input: one clear sentence each, the right exit code, nothing half-written."""
import os
import subprocess
import unittest

from support import TRAINX, Trainx, main, tiny, write_tokens

TOKENS = """\
run: {{name: tokens, duration: 3 steps}}
model: {{type: gpt2, options: {{num_layers: 1, num_heads: 2, hidden_size: 16, max_positions: 16, vocab_size: 100}}}}
data: {{type: tokens, train: {train}, sequence_length: 16, shuffle: false}}
batch: {{global_batch_size: 2, micro_batch_size: 2}}
optimizer: {{type: adamw}}
"""


class BadInput(Trainx):
    def refused(self, *args, code, says, run="tokens"):
        done = self.run_trainx(*args, expect=code)
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "outputs" / run).exists() and list((self.folder / "outputs" / run).glob("checkpoint*")), "something was written")
        return done

    def test_five_mistakes_are_told_at_once_with_their_places(self):
        recipe = self.recipe("run: {duration: 2000}\nmodel: {type: gpt3}\ndata: {type: stories, sequence_lenght: 8}\nbatch: {global_batch_size: 8, micro_batch_size: 0}\noptimizer: {type: adamw, lr: fast}\n")
        done = self.run_trainx("validate", recipe, expect=78)
        for place in (":1:", ":2:", ":3:", ":4:", ":5:"):
            self.assertIn("tiny.yaml" + place, done.stderr)
        self.assertIn("2000 steps", done.stderr)
        self.assertIn("gpt2", done.stderr)
        self.assertIn("sequence_length", done.stderr)

    def test_token_files(self):
        path = self.folder / "train.bin"
        recipe = self.recipe(TOKENS.format(train=path))
        self.refused("train", recipe, code=66, says=[str(path)])
        write_tokens(path, [i % 100 for i in range(1000)])
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        self.refused("train", recipe, code=65, says=[str(path)])
        write_tokens(path, [i % 100 for i in range(500)] + [100] + [1] * 500)
        self.refused("train", recipe, code=65, says=[str(path), str(1024 + 2 * 500)])
        path.write_bytes(b"")
        self.refused("train", recipe, code=65, says=[str(path)])
        path.write_bytes(whole)
        self.run_trainx("train", recipe)

    def test_a_model_that_cannot_fit_says_by_how_much_and_what_would(self):
        recipe = self.recipe(tiny().replace("batch: {global_batch_size: 8, micro_batch_size: 4}", "batch: {global_batch_size: 64, micro_batch_size: 64}"))
        done = self.refused("train", recipe, "memory.budget=165 MiB", code=71, says=["too little", "would fit"], run="tiny")
        self.assertIn("micro_batch_size", done.stderr)

    def test_near_misses_get_suggestions(self):
        self.assertIn("train", self.run_trainx("trian", expect=2).stderr)
        self.assertIn("--program", self.run_trainx("plan", self.recipe(tiny()), "--progam", expect=2).stderr)
        self.assertIn("'seed'", self.run_trainx("validate", self.recipe(tiny()), "run.sed=3", expect=78).stderr)

    def test_two_runs_in_one_folder(self):
        recipe = self.recipe(tiny(steps=100000).replace("cosine, warmup: 5 steps", "constant"))
        first = self.start_trainx("train", recipe)
        try:
            log = self.folder / "outputs" / "tiny" / "metrics.jsonl"
            for _ in range(600):
                if log.exists() and log.stat().st_size:
                    break
                subprocess.run(["sleep", "0.1"])
            self.assertIn("in use by process", self.run_trainx("train", recipe, expect=73).stderr)
        finally:
            first.terminate()
            first.wait()

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_a_full_disk_during_a_save_leaves_the_older_checkpoint_and_the_run_going(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        recipe = self.recipe(tiny(steps=20, every=5).replace("keep_last: 2", "keep_last: 9"))
        done = self.run_trainx("train", recipe, f"run.output_dir={disk}", expect=None)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(done.returncode, 74, done.stderr)                 # the last checkpoint could not be saved either
        self.assertTrue((disk / "tiny" / "checkpoint-5").exists())
        self.assertEqual(self.run_trainx("ckpt", "verify", disk / "tiny").returncode, 0)
        self.assertEqual([p.name for p in (disk / "tiny").iterdir() if "partial" in p.name], [])
        self.assertIn("20", [line.split('"step":')[1].split(",")[0].strip() for line in (disk / "tiny" / "metrics.jsonl").read_text().splitlines() if '"loss"' in line][-1:])


if __name__ == "__main__":
    assert os.path.exists(TRAINX), f"{TRAINX} is not built"
    main()
