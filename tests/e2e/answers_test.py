"""Commands that run nothing need neither LibTorch nor a worker, whose start takes longer than
completion and editors wait for an answer (bench/answers measures the times)."""
import shutil
import subprocess

from support import ROOT, TRAINX, Trainx, main


class Answers(Trainx):
    def test_trainx_alone_answers(self):
        alone = self.folder / "trainx"      # with no worker beside it, and no `site` with LibTorch
        shutil.copy(TRAINX, alone)
        recipe = ROOT / "configs" / "gpt2_124m.yaml"
        for args in (
            ("plan", recipe, "--gpu", "h200"), ("plan", recipe, "--program"), ("validate", recipe),
            ("show", recipe), ("schema",), ("--help",), ("list", "optimizers"), ("version",),
        ):
            with self.subTest(args=args):
                command = [alone, *map(str, args)]
                done = subprocess.run(
                    command, cwd=self.folder, env=self.environment(LD_DEBUG="files"),
                    capture_output=True, text=True,
                )
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                self.assertTrue(done.stdout)
                self.assertIn("libstdc++", done.stderr, "the loader says what it loads")
                self.assertNotIn("libtorch", done.stderr)


if __name__ == "__main__":
    main()
