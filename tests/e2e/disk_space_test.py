"""`plan` says what checkpoints take, and `train` asks for the free space before it starts."""
import json
import os
import pathlib
import shutil
import subprocess

from support import Trainx, main, tiny

# Any file system has FREE bytes left.
FAKE = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
int statvfs(const char* path, struct statvfs* out) {
  (void)path;
  memset(out, 0, sizeof *out);
  out->f_frsize = out->f_bsize = 1;
  out->f_bavail = out->f_bfree = strtoull(getenv("FREE"), 0, 10);
  out->f_blocks = 1ull << 40;
  return 0;
}
int statvfs64(const char* path, struct statvfs64* out) { return statvfs(path, (struct statvfs*)out); }
"""


class DiskSpace(Trainx):
    forks = True

    def with_free(self, free):
        library = self.folder / "fake_statvfs.so"
        if not library.exists():
            compiler = shutil.which("cc") or shutil.which("gcc")
            if not compiler:
                self.skipTest("no C compiler")
            source = self.folder / "fake_statvfs.c"
            source.write_text(FAKE)
            subprocess.run([compiler, "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source],
                           check=True)
        return self.environment(LD_PRELOAD=str(library), FREE=str(free))

    def test_planned_sizes_are_those_on_the_disk(self):
        for optimizer in ("adamw", "sgd", "adafactor", "adamw_8bit"):
            with self.subTest(optimizer=optimizer):
                recipe = self.recipe(
                    tiny(steps=6, every=6).replace("hidden_size: 32", "hidden_size: 256").replace(
                        "type: adamw", f"type: {optimizer}").replace(
                            "options: {weight_decay: 0.1}", "options: {relative_step: false}"
                            if optimizer == "adafactor" else "options: {}").replace(
                                "name: tiny", f"name: {optimizer}"))
                planned = json.loads(self.run_trainx("plan", recipe,
                                                     "--json").stdout)["checkpoints"]
                self.run_trainx("train", recipe)
                folder = pathlib.Path(
                    os.path.realpath(self.folder / "outputs" / optimizer / "latest"))
                measured = sum(p.stat().st_size for p in folder.iterdir())
                print(f"  {optimizer}: planned {planned['each_bytes']}, on the disk {measured}")
                self.assertLess(abs(planned["each_bytes"] / measured - 1), 0.02)
                # the one of the last step, and one of the evaluation there
                self.assertEqual(planned["most"], 2)
                self.assertEqual(planned["most_bytes"], 2 * planned["each_bytes"])

    def test_train_refuses_or_warns_before_it_starts(self):
        recipe = self.recipe(tiny(steps=6, every=3))
        each = json.loads(self.run_trainx("plan", recipe,
                                          "--json").stdout)["checkpoints"]["each_bytes"]
        refused = self.run_trainx("train", recipe, env=self.with_free(each - 1), expect=74).stderr
        self.assertIn("run.output_dir", refused)
        self.assertFalse((self.folder / "outputs" / "tiny" / "metrics.jsonl").exists())
        warned = self.run_trainx("train", recipe, env=self.with_free(2 * each)).stderr
        self.assertIn("checkpoint.keep_last", warned)
        silent = self.run_trainx("train", recipe, "run.name=roomy",
                                 env=self.with_free(100 * each)).stderr
        self.assertNotIn("checkpoint.keep_last", silent)
        self.assertEqual(self.run_trainx("train", recipe, env=self.with_free(0)).returncode,
                         0)  # already done: nothing is saved


if __name__ == "__main__":
    main()
