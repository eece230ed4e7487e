"""Commands that run nothing answer in less than a tenth of a second: what users of completion and editors rely on."""
import time

from support import ROOT, Trainx, main

ALONE = "measures how long answers take"


class Answers(Trainx):
    def fastest(self, *args, tries=7):
        times = []
        for _ in range(tries):
            began = time.monotonic()
            self.run_trainx(*args)
            times.append(time.monotonic() - began)
        return min(times)

    def test_answers_in_under_100_ms(self):
        recipe = ROOT / "configs" / "gpt2_124m.yaml"
        for args in (("plan", recipe, "--gpu", "h200"), ("plan", recipe, "--program"), ("validate", recipe), ("show", recipe),
                     ("schema",), ("--help",), ("list", "optimizers"), ("version",)):
            took = self.fastest(*args)
            print(f"  trainx {args[0]}: {took * 1e3:.0f} ms")
            self.assertLess(took, 0.1, args)


if __name__ == "__main__":
    main()
