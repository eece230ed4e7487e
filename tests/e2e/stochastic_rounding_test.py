"""bf16 weights alone, rounded stochastically: killed runs go on to the bit, and small learning
rates train. tests/equality/precision.yaml holds what else changes no bit."""
import array
import json
import re
import struct
import time

from support import Trainx, main, sha256, tiny

STOCHASTIC = "{compute: bf16, master: none, rounding: stochastic}"
NEAREST = "{compute: bf16, master: none}"


class StochasticRounding(Trainx):
    forks = True

    def train(self, name, precision, *more, steps=60, every=4):
        recipe = self.recipe(tiny(steps, every=every, precision=precision))
        self.run_trainx("train", recipe, f"run.name={name}", *more)
        return sha256(self.weights(name))

    def test_killed_runs_go_on_to_the_bit(self):
        whole = self.train("whole", STOCHASTIC)
        recipe = self.recipe(tiny(60, every=4, precision=STOCHASTIC))
        for _ in range(4):
            process = self.start_trainx("train", recipe, "run.name=killed")
            time.sleep(self.random.uniform(0.2, 1.2))
            self.kill(process)
        self.run_trainx("train", recipe, "run.name=killed")
        self.assertEqual(sha256(self.weights("killed")), whole)

    def matrices(self, run):
        """All elements of the matrices between the layers' hidden states."""
        data = self.weights(run).read_bytes()
        (size,) = struct.unpack_from("<Q", data)
        header, values = json.loads(data[8:8 + size]), array.array("f")
        for name in sorted(n for n in header if re.search(r"c_\w+\.weight$", n)):
            begin, end = header[name]["data_offsets"]
            self.assertEqual(header[name]["dtype"], "F32")
            values.frombytes(data[8 + size + begin:8 + size + end])
        return values

    def test_a_learning_rate_that_rounding_to_nearest_loses(self):
        moves, still = {}, {}
        for name, precision in (("nearest", NEAREST), ("stochastic", STOCHASTIC), ("exact", "bf16")):
            how = ("optimizer={type: sgd}", "schedule.type=constant", "model.options.dropout=0")
            start = "exact" if name == "exact" else "bf16"          # initial weights: rounded or not
            if start not in still:
                self.train(f"{name}-still", precision, *how, "optimizer.lr=0",
                           "schedule.warmup=0 steps", steps=1, every=1)
                still[start] = self.matrices(f"{name}-still")
            self.train(name, precision, *how, "optimizer.lr=1e-4", steps=60, every=60)
            moves[name] = [b - a for a, b in zip(still[start], self.matrices(name))]
        exact = moves["exact"]
        along = {name: sum(a * b for a, b in zip(move, exact)) / sum(b * b for b in exact) for name, move in moves.items()}   # how far the exact run's way
        self.assertLess(along["nearest"], 0.5, along)
        self.assertAlmostEqual(along["stochastic"], 1, delta=0.15, msg=str(along))

    def test_the_plan_says_it(self):
        self.assertRegex(self.run_trainx("plan", self.recipe(tiny(precision=STOCHASTIC))).stdout, r"\bstochastically \(seed 1\)")


if __name__ == "__main__":
    main()
