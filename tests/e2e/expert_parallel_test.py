"""Ranks that share experts: losses are those of one rank, in all modes, however tokens choose;
checkpoints do not tell of the cut; what has no room is an error, or counted.
"""
import json
import math
import struct

import saved_tensors
from experts_test import RECIPE, SIZES, largest_difference
from support import Trainx, main, sampled

# Experts in one tensor, laid out as files have them; of their own; and stacked, transposed, biased.
FAMILIES = ("granitemoe", "mixtral", "olmoe", "gpt_oss")
CUTS = [(experts, experts * replicas) for experts in (1, 2, 4) for replicas in (1, 2)]
MODES = ("ddp", "zero1", "zero2", "zero3")
# The more steps, the more tokens find two experts alike, whose choice hangs on rounding.
STEPS = 6
EXPERTS, PER_TOKEN = 8, 2       # of mixtral


class ExpertParallel(Trainx):
    def write(self, family="mixtral"):
        recipe = RECIPE.format(seed=3, family=family, options=SIZES)
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

    @sampled
    def test_ranks_that_share_experts_have_the_losses_of_one(self):
        for family in self.drawn(FAMILIES):
            self.write(family)
            self.train(f"{family}-one")
            want = self.losses(f"{family}-one")
            for experts, world in CUTS[1:]:
                mode = self.random.choice(MODES)
                level = self.random.choice(("none", "selective", "full"))
                with self.subTest(family=family, experts=experts, world=world, mode=mode,
                                  level=level):
                    name = f"{family}-{experts}-{world}"
                    self.train(name, *self.cut(experts, world, f"parallel.mode={mode}",
                                               f"memory.activation_checkpoint={level}"))
                    got = self.losses(name)
                    self.assertEqual(len(got), STEPS)
                    self.assertLess(largest_difference(got, want), 1e-6)

    @sampled
    def test_checkpoints_hold_whole_experts_and_are_resumed_at_another_cut(self):
        for family in self.drawn(FAMILIES):
            self.write(family)
            # too little to change a weight: what is saved is what training began with
            still = ("optimizer.lr=1e-30", "optimizer.options.weight_decay=0", "run.duration=1 steps")
            self.train(f"{family}-still", *still)
            want = saved_tensors.in_folder(self.folder / f"outputs/{family}-still/latest")
            self.train(f"{family}-one")
            curve = self.losses(f"{family}-one")
            for experts, world in ((2, 2), (2, 4), (4, 4)):
                with self.subTest(family=family, experts=experts, world=world):
                    mode = f"parallel.mode={self.random.choice(MODES)}"
                    name = f"{family}-{experts}-{world}"
                    self.train(f"{name}-still", *still, *self.cut(experts, world, mode))
                    got = saved_tensors.in_folder(self.folder / f"outputs/{name}-still/latest")
                    # what begins as zero moves all the same
                    weights = [n for n in want
                               if not n.startswith("exp_avg") and not n.endswith(("bias", "sinks"))]
                    self.assertTrue(any("expert" in n or "moe" in n for n in weights), weights)
                    self.assertEqual({n: got[n] for n in weights}, {n: want[n] for n in weights})
                    self.assertEqual({n: t[1] for n, t in got.items()},
                                     {n: t[1] for n, t in want.items()})
                    self.train(name, "run.duration=3 steps", *self.cut(experts, world, mode))
                    others = [c for c in CUTS if c != (experts, world)]
                    self.train(name, *self.cut(*self.random.choice(others)))
                    self.assertLess(largest_difference(self.losses(name), curve), 1e-6)

    def test_an_export_has_all_experts(self):
        self.write()
        self.train("shared", *self.cut(4, 4), "run.duration=2 steps")
        self.run_trainx("export", "outputs/shared", "exported")
        exported = saved_tensors.in_folder(self.folder / "exported")
        saved = saved_tensors.in_folder(self.folder / "outputs/shared/latest")
        self.assertEqual(len([n for n in exported if ".experts." in n]), 2 * EXPERTS * 3)
        for name, tensor in exported.items():
            self.assertEqual(tensor, saved[name], name)

    def write_folder(self, name, one_mind=False, **config):
        """A folder with other values in its config. one_mind: routers know no difference, so that
        all tokens choose the first experts."""
        self.write()
        self.train(f"{name}-begun", "run.duration=1 steps")
        folder = self.folder / name
        self.run_trainx("export", f"outputs/{name}-begun", name)
        (folder / "manifest.json").unlink()
        of_model = json.loads((folder / "config.json").read_text())
        self.assertLessEqual(config.keys(), of_model.keys())
        (folder / "config.json").write_text(json.dumps(of_model | config))
        file = folder / "model.safetensors"
        data = bytearray(file.read_bytes())
        (length,) = struct.unpack("<Q", data[:8])
        routers = [e["data_offsets"] for n, e in json.loads(data[8:8 + length]).items()
                   if n.endswith("gate.weight")]
        self.assertEqual(len(routers), 2)
        for begin, end in routers if one_mind else []:
            data[8 + length + begin:8 + length + end] = bytes(end - begin)
        file.write_bytes(data)
        text = (self.folder / "r.yaml").read_text()
        begin = text.index("model:")
        self.recipe(text[:begin] + f"model: {{init_from: {name}}}" +
                    text[text.index("\n", begin):], "r.yaml")

    def test_experts_that_all_tokens_choose_and_that_none_does(self):
        self.write_folder("folder", one_mind=True)
        self.train("one")
        for number, (experts, world) in enumerate(((2, 2), (4, 4), (4, 8), (8, 8))):
            with self.subTest(experts=experts, world=world):
                self.train(f"cut{number}", *self.cut(experts, world))
                self.assertLess(largest_difference(self.losses(f"cut{number}"),
                                                   self.losses("one")), 1e-6)
                first = self.metrics(f"cut{number}")[0]
                self.assertAlmostEqual(first["expert_load_max"], EXPERTS / PER_TOKEN)
                self.assertAlmostEqual(first["expert_load_entropy"],
                                       math.log(PER_TOKEN) / math.log(EXPERTS))
                self.assertEqual(first["dropped_tokens"], 0)
        little = self.cut(4, 4, "parallel.experts_capacity=1.5")
        ended = self.train("none", *little, expect=71)
        self.assertIn("parallel.experts_capacity", ended.stderr)
        self.train("some", *little, "parallel.experts_overflow=drop")
        first = self.metrics("some")[0]
        # of 32 tokens 24 choices of the 64 that one rank's experts were chosen for, by 4 ranks twice
        self.assertEqual(first["dropped_tokens"], 2 * 4 * 2 * (64 - 24))

    def test_all_experts_for_each_token_and_a_token_alone(self):
        for per_token in (1, EXPERTS):
            self.write_folder(f"folder{per_token}", num_experts_per_tok=per_token)
            for tokens in (1, 32):
                with self.subTest(per_token=per_token, tokens=tokens):
                    name = f"{per_token}-{tokens}"
                    settings = (f"data.sequence_length={tokens}",)
                    self.train(f"{name}-one", *settings)
                    self.train(f"{name}-cut", *settings, *self.cut(4, 4))
                    self.assertLess(largest_difference(self.losses(f"{name}-cut"),
                                                       self.losses(f"{name}-one")), 1e-6)

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
        more = "batch.global_batch_size=48"
        for settings, names in (
                (self.cut(3, 6, more), ["parallel.experts", "8"]),
                (self.cut(2, 3, more), ["parallel.experts", "3"]),
                (self.cut(16, 16, more), ["parallel.experts", "8"]),
                (self.cut(2, 2, "optimizer={type: lamb}"), ["parallel.experts", "lamb"]),
                (self.cut(2, 2, "parallel.mode=dp"), ["parallel.experts", "parallel.mode"]),
                (self.cut(2, 2, "parallel.experts_overflow=drop"),
                 ["parallel.experts_overflow", "parallel.experts_capacity"]),
                (self.cut(1, 2, "parallel.experts_capacity=1"),
                 ["parallel.experts", "parallel.experts_capacity"]),
                (("parallel.experts=2", "parallel.world_size=1"), ["parallel.experts"])):
            with self.subTest(settings=settings):
                self.refused("plan", "r.yaml", *settings, names=names)
        self.write("llama")
        self.refused("plan", "r.yaml", *self.cut(2, 2), names=["parallel.experts"])


if __name__ == "__main__":
    main()
