"""Wrong input: one clear sentence each, the right exit code, nothing half-written."""
import errno
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
    forks = True

    def refused(self, *args, **what):
        refusal = super().refused(*args, **what)
        self.assertEqual(list((self.folder / "outputs").glob("*/checkpoint*")), [],
                         "something was written")
        return refusal

    def test_five_mistakes_are_told_at_once_with_their_places(self):
        recipe = self.recipe(
            "run: {duration: 2000}\nmodel: {type: gpt3}\ndata: {type: stories, sequence_lenght: 8}\nbatch: {global_batch_size: 8, micro_batch_size: 0}\noptimizer: {type: adamw, lr: fast}\n"
        )
        refusal = self.refused("validate", recipe, names=("2000 steps", "gpt2", "sequence_length"))
        self.assertEqual({p["file"] for p in refusal.problems}, {recipe})
        self.assertEqual([(p["key"], p["line"], p["column"]) for p in refusal.problems],
                         [("run.duration", 1, 17), ("model.type", 2, 15),
                          ("data.sequence_lenght", 3, 23), ("batch.micro_batch_size", 4, 49),
                          ("optimizer.lr", 5, 30)])
        for problem in refusal.problems:         # people are told the same
            self.assertIn("{file}:{line}:{column}: {key}: {message}\n".format(**problem),
                          refusal.done.stderr)

    def test_token_files(self):
        path = self.folder / "train.bin"
        recipe = self.recipe(TOKENS.format(train=path))
        self.refused("train", recipe, code=66, names=str(path), sentence="data.missing")
        write_tokens(path, [i % 100 for i in range(1000)])
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        self.refused("train", recipe, code=65, names=str(path), sentence="data.tokens.truncated")
        write_tokens(path, [i % 100 for i in range(500)] + [100] + [1] * 500)
        self.refused("train", recipe, code=65, names=(str(path), 1024 + 2 * 500),
                     sentence="data.tokens.beyond_vocabulary")
        path.write_bytes(b"")
        self.refused("train", recipe, code=65, names=str(path), sentence="data.tokens.empty")
        path.write_bytes(whole)
        self.run_trainx("train", recipe)

    def test_a_model_that_cannot_fit_says_by_how_much_and_what_would(self):
        recipe = self.recipe(tiny().replace("batch: {global_batch_size: 8, micro_batch_size: 4}",
                                            "batch: {global_batch_size: 64, micro_batch_size: 64}"))
        self.refused("train", recipe, "memory.budget=165 MiB", code=71,
                     names=("memory.budget", "batch.micro_batch_size"), sentence="plan.too_large",
                     numbers="any")

    def test_near_misses_get_suggestions(self):
        self.refused("trian", code=2, names="'train'")
        self.refused("plan", self.recipe(tiny()), "--progam", code=2, names="'--program'")
        self.refused("validate", self.recipe(tiny()), "run.sed=3", key="run.sed", names="'seed'")

    def test_two_runs_in_one_folder(self):
        recipe = self.recipe(tiny(steps=100000).replace("cosine, warmup: 5 steps", "constant"))
        first = self.start_trainx("train", recipe)
        try:
            log = self.folder / "outputs" / "tiny" / "metrics.jsonl"
            for _ in range(600):
                if log.exists() and log.stat().st_size:
                    break
                subprocess.run(["sleep", "0.1"])
            super().refused("train", recipe, code=73, names="outputs/tiny",
                            sentence="run.folder_in_use")
        finally:
            first.terminate()
            first.wait()

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_a_full_disk_during_a_save_leaves_the_older_checkpoint_and_the_run_going(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                           str(disk)], capture_output=True).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        recipe = self.recipe(tiny(steps=20, every=5).replace("keep_last: 2", "keep_last: 9"))
        done = self.run_trainx("train", recipe, f"run.output_dir={disk}", expect=None)
        self.assertIn(os.strerror(errno.ENOSPC), done.stderr)
        self.assertEqual(done.returncode, 74,
                         done.stderr)  # the last checkpoint could not be saved either
        self.assertTrue((disk / "tiny" / "checkpoint-5").exists())
        self.assertEqual(self.run_trainx("ckpt", "verify", disk / "tiny").returncode, 0)
        self.assertEqual([p.name for p in (disk / "tiny").iterdir() if "partial" in p.name], [])
        self.assertIn("20", [
            line.split('"step":')[1].split(",")[0].strip()
            for line in (disk / "tiny" / "metrics.jsonl").read_text().splitlines()
            if '"loss"' in line
        ][-1:])


if __name__ == "__main__":
    assert os.path.exists(TRAINX), f"{TRAINX} is not built"
    main()
