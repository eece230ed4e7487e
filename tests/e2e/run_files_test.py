"""Files of a run beside its checkpoints: metrics.jsonl is on disk before a checkpoint is and
tells of holes; a damaged resolved.yaml is told of."""

import errno
import json
import os
import shutil
import signal
import subprocess
from processes import children_of
from support import TRAINX, Trainx, main, tiny

# Writes down what is flushed to disk and what is renamed, in order.
RECORDER = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void note(const char* what, const char* name) {
  char line[4200];
  int fd = open(getenv("RECORD"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int n = snprintf(line, sizeof line, "%s %s\\n", what, name);
  if (write(fd, line, n) != n) abort();
  close(fd);
}
static void note_file(int fd) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, name, sizeof name - 1);
  name[n < 0 ? 0 : n] = 0;
  note("sync", name);
}
int fdatasync(int fd) { note_file(fd); return syscall(SYS_fdatasync, fd); }
int fsync(int fd) { note_file(fd); return syscall(SYS_fsync, fd); }
int rename(const char* from, const char* to) {
  int (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  note("rename", to);
  return real(from, to);
}
"""


def remove(folder):
    """Of a run that goes on, and renames files meanwhile."""
    while folder.exists():
        try:
            shutil.rmtree(folder)
            return
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise


class RunFiles(Trainx):
    forks = True

    def test_a_run_says_why_its_values_were_chosen_as_plan_does(self):
        recipe = self.recipe(tiny(steps=10) +
                             "parallel: {mode: auto, tensor: auto, world_size: 2}\n")
        planned = json.loads(self.run_trainx("plan", recipe, "--json").stdout)["choices"]
        started = self.run_trainx("train", recipe).stderr
        run, = (self.folder / "outputs").iterdir()
        told = json.loads((run / "plan.json").read_text())["choices"]
        for key in ("parallel.mode ddp: ", "parallel.tensor 1: "):
            reason, = (text for text in planned if text.startswith(key))
            self.assertIn(reason, told)
        self.assertIn("parallel.mode ddp: ", started)

    def trained(self, steps=4, every=2, **how):
        recipe = self.recipe(
            tiny(steps=steps, every=every).replace("warmup: 5 steps", "warmup: 1 steps")
        )
        self.run_trainx("train", recipe, "-q", **how)
        return recipe

    def test_lines_are_on_disk_before_the_checkpoint_of_their_step(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if not compiler:
            self.skipTest("no C compiler")
        (self.folder / "recorder.c").write_text(RECORDER)
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", "recorder.so", "recorder.c", "-ldl"],
            cwd=self.folder,
            check=True,
        )
        self.trained(
            env=self.environment(
                LD_PRELOAD=str(self.folder / "recorder.so"), RECORD=str(self.folder / "record")
            )
        )
        events = (self.folder / "record").read_text().splitlines()
        synced = [
            i for i, e in enumerate(events) if e.startswith("sync") and e.endswith("/metrics.jsonl")
        ]
        saved = [
            i
            for i, e in enumerate(events)
            if e.startswith("rename") and e.rsplit("/", 1)[-1] in ("checkpoint-2", "checkpoint-4")
        ]
        self.assertEqual(len(saved), 2, events)
        self.assertTrue(any(i < saved[0] for i in synced), events)
        self.assertTrue(any(saved[0] < i < saved[1] for i in synced), events)

    def test_holes_are_told_of_by_the_run_that_goes_on(self):
        recipe = self.trained(steps=12, every=6)
        path = self.folder / "outputs" / "tiny" / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        for steps, changed in (
            (14, [*lines[:3], "\0" * 300 + "\n", *lines[4:]]),
            (16, lines[:2] + lines[-1:] + ["{\n"]),
            (18, []),
        ):
            path.write_text("".join(changed))
            done = self.run_trainx("train", recipe, f"run.duration={steps} steps")
            self.assertIn("metrics.jsonl has holes", done.stderr)
            steps_there = [m["step"] for m in self.metrics("tiny")]
            self.assertEqual(steps_there, sorted(steps_there))
            self.assertEqual(steps_there[-1], steps)
        self.assertNotIn("holes", self.run_trainx("train", recipe, "run.duration=20 steps").stderr)

    def test_a_fork_has_no_holes(self):
        recipe = self.trained()
        self.assertNotIn(
            "holes",
            self.run_trainx("train", recipe, "run.duration=6 steps", "--fork", "other").stderr,
        )

    def test_a_damaged_resolved_recipe_is_told_of_and_how_to_go_on(self):
        recipe = self.trained()
        path = self.folder / "outputs" / "tiny" / "resolved.yaml"
        text = path.read_text()
        for changed in (
            text.replace("lr: 0.003", "lr: 0.103"),
            text[:200] + "\0" + text[201:],
            text[: len(text) // 2] + "}{" + text[len(text) // 2 :],
            text.replace("seed:", "sead:"),
        ):
            self.assertNotEqual(changed, text)
            path.write_text(changed)
            for command in (
                ("train", recipe, "run.duration=6 steps"),
                ("generate", "outputs/tiny", "--prompt", "Once", "--max-tokens", "1"),
            ):
                said = self.run_trainx(*command, expect=65).stderr
                self.assertIn("resolved.yaml is damaged", said)
                self.assertIn("remove it", said)
        path.unlink()
        self.run_trainx("train", recipe, "run.duration=6 steps")
        self.run_trainx("train", recipe, "run.duration=8 steps")

    def begin(self, *settings):
        """A long run that has saved a checkpoint."""
        run = subprocess.Popen(
            [TRAINX, "train", self.recipe(tiny(steps=1000000, every=20)), "--json", *settings],
            cwd=self.folder, env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.addCleanup(run.kill)
        self.wait_for_a_checkpoint(run)
        return run

    def wait_for_a_checkpoint(self, run):
        for line in run.stdout:
            if json.loads(line)["event"] == "checkpoint":
                return
        self.fail("the run ended")

    def end(self, run):
        """The events since."""
        run.send_signal(signal.SIGTERM)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 143, out)
        return [json.loads(line) for line in out.splitlines()]

    def test_a_folder_that_is_removed_or_renamed_under_a_run_is_made_again(self):
        folder, aside = self.folder / "outputs" / "tiny", self.folder / "aside"
        for hurt in (remove, lambda path: path.rename(aside)):
            run = self.begin("metrics.tensorboard=true")
            hurt(folder)
            while not (folder / "latest").exists():
                self.wait_for_a_checkpoint(run)
            self.end(run)
            last = self.check_whole()
            self.assertTrue(list((folder / "tensorboard").iterdir()))
            more = self.run_trainx("train", "tiny.yaml", "metrics.tensorboard=true",
                                   f"run.duration={last + 5} steps")  # fmt: skip
            self.assertNotIn("holes", more.stderr)
            shutil.rmtree(folder)

    def check_whole(self):
        """The last step of a run that a signal ended."""
        steps = [m["step"] for m in self.metrics("tiny")]
        self.assertEqual(steps, list(range(1, steps[-1] + 1)))
        status = self.status("tiny")
        self.assertEqual((status["saved_step"], status["exit_code"]), (steps[-1], 143))
        self.run_trainx("ckpt", "verify", "outputs/tiny")
        return steps[-1]

    def test_a_run_leaves_alone_what_another_has_begun_under_its_name(self):
        run = self.begin()
        children = children_of(run.pid)
        for child in children:  # else it may make its folder again first
            os.kill(child, signal.SIGSTOP)
        (self.folder / "outputs" / "tiny").rename(self.folder / "aside")
        other = self.begin("run.seed=2")
        for child in children:
            os.kill(child, signal.SIGCONT)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 73)
        self.end(other)
        self.check_whole()

    def test_resolved_recipes_of_older_versions_are_read(self):
        recipe = self.trained()
        path = self.folder / "outputs" / "tiny" / "resolved.yaml"
        path.write_text(
            "".join(
                line
                for line in path.read_text().splitlines(keepends=True)
                if not line.startswith("# xxh3")
            )
        )
        self.run_trainx("train", recipe, "run.duration=6 steps")
        self.assertIn("# xxh3", path.read_text())


if __name__ == "__main__":
    main()
