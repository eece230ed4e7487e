"""Files that are cut while they are read: one sentence with their name, and the exit code of bad
data."""

import os
import subprocess
import time
from support import TRAINX, Trainx, main, tiny, write_tokens

WAITS = "for runs that are under way"


class CutFiles(Trainx):
    def test_a_token_file_is_cut_under_a_run(self):
        for world in (1, 2):
            with self.subTest(world=world):
                name = f"w{world}"
                tokens = self.folder / f"{name}.bin"
                write_tokens(tokens, [self.random.randrange(300) for _ in range(40000)])
                recipe = self.recipe(
                    tiny(steps=100000, every=100000)
                    .replace(
                        "data: {type: stories, sequence_length: 32, samples: 512, "
                        "eval_samples: 10}",
                        f"data: {{type: tokens, train: {tokens.name}, sequence_length: 32}}",
                    )
                    .replace("max_positions: 32", "max_positions: 32, vocab_size: 300")
                    .replace("eval: {every: 20 steps, batches: 5}\n", "")
                )
                errors = self.folder / "stderr"
                with open(errors, "wb") as said:
                    process = subprocess.Popen(
                        [
                            TRAINX,
                            "-q",
                            "train",
                            recipe,
                            f"run.name={name}",
                            f"parallel.world_size={world}",
                        ],
                        cwd=self.folder,
                        stdout=subprocess.DEVNULL,
                        stderr=said,
                        env=self.environment(OMP_NUM_THREADS="1"),
                    )
                self.addCleanup(process.kill)
                metrics = self.folder / "outputs" / name / "metrics.jsonl"
                deadline = time.monotonic() + 60
                while not (metrics.exists() and metrics.read_text().count("\n") > 3):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                os.truncate(tokens, 5000)
                self.assertEqual(process.wait(60), 65, errors.read_text())
                self.assertIn(tokens.name, errors.read_text())
                status = self.status(name)
                self.assertEqual(status["state"], "failed")
                self.assertEqual(status["exit_code"], 65)  # rank 0 may have it from another
                self.assertIn(tokens.name, status["reason"])


if __name__ == "__main__":
    main()
