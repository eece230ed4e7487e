"""Ranks that share experts: checkpoints and exports have all of them; what has no room is an error,
or counted; what a plan says. tests/equality/experts.yaml has losses in all cuts and modes.
"""
import json
import math

import expert_folders
import saved_tensors
from experts_test import RECIPE, SIZES, largest_difference
from support import Trainx, main, write_tokens

STEPS = 6
EXPERTS, PER_TOKEN = 8, 2       # of mixtral


class ExpertParallel(Trainx):
    forks = True

    def write(self):
        recipe = RECIPE.format(seed=3, family="mixtral", options=SIZES)
        recipe = recipe.replace("12 steps", f"{STEPS} steps").replace("every: 6 steps",
                                                                      "every: 3 steps")
        self.recipe(recipe, "r.yaml")

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def train(self, name, *settings, **how):
        one_thread = self.environment(OMP_NUM_THREADS="1")
        return self.run_trainx("train", "r.yaml", f"run.name={name}", *settings, env=one_thread,
                               **how)

    def cut(self, experts, world, *more):
        return (f"parallel.world_size={world}", f"parallel.experts={experts}",
                "batch.micro_batch_size=1", *more)

    def test_an_export_has_all_experts(self):
        self.write()
        self.train("one")
        self.train("shared", *self.cut(4, 4))
        self.assertLess(largest_difference(self.losses("shared"), self.losses("one")), 1e-6)
        self.run_trainx("export", "outputs/shared", "exported")
        exported = saved_tensors.in_folder(self.folder / "exported")
        self.assertEqual(len([n for n in exported if ".experts." in n]), 2 * EXPERTS * 3)
        self.assertEqual(exported,
                         saved_tensors.in_folder(self.folder / "outputs/shared/latest", "model"))

    def write_one_mind(self):
        """Routers know no difference, so that all tokens choose the first experts."""
        expert_folders.write_one_mind(self.folder / "one_mind", self.random)
        write_tokens(self.folder / "tokens.bin", expert_folders.tokens(self.random, STEPS * 8))
        self.write()
        recipe = (self.folder / "r.yaml").read_text()
        model = recipe[recipe.index("model:"):recipe.index("batch:")]
        self.recipe(recipe.replace(model, "model: {init_from: one_mind}\ndata: {type: tokens, "
                                   "train: tokens.bin, sequence_length: 32}\n"), "r.yaml")

    def test_experts_that_all_tokens_choose_and_that_none_does(self):
        self.write_one_mind()
        self.train("cut", *self.cut(4, 4))
        first = self.metrics("cut")[0]
        self.assertAlmostEqual(first["expert_load_max"], EXPERTS / PER_TOKEN)
        self.assertAlmostEqual(first["expert_load_entropy"],
                               math.log(PER_TOKEN) / math.log(EXPERTS))
        self.assertEqual(first["dropped_tokens"], 0)
        little = self.cut(4, 4, "parallel.experts_capacity=1.5")
        ended = self.train("none", *little, expect=71)
        self.assertIn("parallel.experts_capacity", ended.stderr)
        self.train("some", *little, "parallel.experts_overflow=drop")
        first = self.metrics("some")[0]
        # 24 choices of the 64 that 32 tokens make of one rank's experts, by 4 ranks twice
        self.assertEqual(first["dropped_tokens"], 2 * 4 * 2 * (64 - 24))

    def test_a_plan_says_which_experts_a_rank_has(self):
        self.write()
        plan = json.loads(self.run_trainx("plan", "r.yaml", "--json", *self.cut(4, 8))
                          .stdout.splitlines()[-1])
        self.assertEqual(plan["expert_ranks"], 4)
        exchange = [e for e in plan["exchanges"] if e["name"] == "rows to experts and back"]
        # 4 slots of 32 tokens of 32 numbers, forward and back, there and back, of two layers; the
        # weights of their choices, forward and back; and which experts they chose
        rows = 4 * 32
        self.assertEqual(exchange[0]["bytes"],
                         2 * (4 * rows * 32 * 4 + (2 + 1) * rows * PER_TOKEN * 4))
        self.assertEqual(exchange[0]["collectives"], 2 * 4)
        less = json.loads(self.run_trainx("plan", "r.yaml", "--json",
                                          *self.cut(4, 8, "parallel.experts_capacity=1"))
                          .stdout.splitlines()[-1])
        self.assertLess(less["arena_bytes"], plan["arena_bytes"])


if __name__ == "__main__":
    main()
