"""Products in fp8 on CPUs, as a user meets them: losses close to those without, the same bits however a run is stopped or recomputed, and what cannot be."""
import itertools
import json
import re

import saved_tensors
from support import ROOT, Trainx, main, sampled, sha256, tiny

CLASSES = """\
run: {duration: 20 steps, deterministic: true}
model: {type: bert, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, vocab_size: 200, dropout: 0, task: classification, num_labels: 3}}
data: {type: jsonl, train: train.jsonl, sequence_length: 32}
batch: {global_batch_size: 8}
optimizer: {type: adamw, lr: 1e-3}
metrics: {every: 1 steps}
"""
FP8 = "precision.products=fp8"
SMALL = "precision.small_products=fp8"     # models this small gain nothing on a GPU


def fp8(compute="fp32", **more):
    return "{compute: %s, products: fp8%s}" % (compute, "".join(f", {k}: {v}" for k, v in more.items()))


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


class Fp8(Trainx):
    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def train(self, recipe, name, *settings):
        self.run_trainx("train", recipe, f"run.name={name}", *settings)
        return self.losses(name)

    def saved(self, run):
        """Weights and states, whichever rank has saved them."""
        return saved_tensors.in_folder(self.folder / "outputs" / run / "latest")

    def test_losses_are_close_to_those_without_and_are_others(self):
        for compute in ("fp32", "bf16"):
            with self.subTest(compute=compute):
                recipe = self.recipe(tiny(20, precision=compute))
                exact = self.train(recipe, f"exact-{compute}")
                got = self.train(recipe, f"fp8-{compute}", FP8)
                self.assertEqual(len(got), 20)
                self.assertLess(largest_difference(got, exact), 1e-2, (got, exact))
                self.assertGreater(largest_difference(got, exact), 1e-5)
                self.assertLess(got[-1], got[0])
                inner = self.train(recipe, f"inner-{compute}", FP8, "precision.first_last=compute", "model.options.num_layers=4")
                whole = self.train(recipe, f"whole-{compute}", FP8, "model.options.num_layers=4")
                self.assertNotEqual(inner, whole)
                self.assertLess(largest_difference(inner, whole), 1e-2)

    def test_other_families(self):
        with open(self.folder / "train.jsonl", "w") as out:
            for _ in range(64):
                print(json.dumps({"input_ids": [self.random.randrange(104, 200) for _ in range(self.random.randrange(6, 32))], "label": self.random.randrange(3)}), file=out)
        self.recipe(CLASSES, "bert.yaml")
        decoder = tiny(20, dropout=0).replace("type: gpt2", "type: FAMILY").replace(", dropout: 0}", "}")
        for family in ("qwen3", "gpt_neox"):        # gated with grouped heads; two branches of one residual
            self.recipe(decoder.replace("FAMILY", family), f"{family}.yaml")
        for family in ("bert", "qwen3", "gpt_neox"):
            with self.subTest(family=family):
                exact = self.train(f"{family}.yaml", f"{family}-exact")
                got = self.train(f"{family}.yaml", f"{family}-fp8", FP8)
                self.assertLess(largest_difference(got, exact), 3e-2, (got, exact))
                self.assertNotEqual(got, exact)

    def test_resumed_and_recomputed_runs_have_the_same_bits(self):
        recipe = self.recipe(tiny(10, every=100, precision=fp8("bf16")).replace("cosine, warmup: 5 steps", "constant"))
        self.train(recipe, "ten")
        want = sha256(self.weights("ten"))
        self.train(recipe, "five", "run.duration=5 steps")
        self.train(recipe, "five")
        self.assertEqual(sha256(self.weights("five")), want)
        for level in ("selective", "mlp", "full"):
            self.train(recipe, level, f"memory.activation_checkpoint={level}")
            self.assertEqual(sha256(self.weights(level)), want, level)
        self.train(recipe, "offload", "memory.activation_offload=cpu", "model.options.num_layers=4")
        self.train(recipe, "without", "model.options.num_layers=4")
        self.assertEqual(sha256(self.weights("offload")), sha256(self.weights("without")))

    def test_other_products_go_on_from_a_checkpoint_in_a_run_of_their_own(self):
        recipe = self.recipe(tiny(10, every=100, precision=fp8()).replace("cosine, warmup: 5 steps", "constant"))
        self.train(recipe, "half", "run.duration=5 steps")
        self.refused("train", recipe, "run.name=half", "precision.products=compute", names=("precision.products",))
        self.run_trainx("train", recipe, "run.name=half", "--fork", "other", "precision.products=compute")
        self.train(recipe, "half")
        # the same data from the same weights
        self.assertEqual(self.metrics("other")[-1]["step"], 10)
        self.assertNotEqual(self.losses("other")[-5:], self.losses("half")[-5:])
        self.assertLess(largest_difference(self.losses("other")[-5:], self.losses("half")[-5:]), 1e-2)

    def test_scales_follow_the_micro_batch_and_not_the_rank(self):
        recipe = self.recipe(tiny(20, dropout=0, precision=fp8()))
        one = self.train(recipe, "one")
        for mode in ("ddp", "dp", "zero3"):
            # the same micro-batches of 4, so the same scales: sums over them differ in their order
            # alone, which moves a rounded value now and then
            ranks = self.train(recipe, mode, "parallel.world_size=2", f"parallel.mode={mode}")
            self.assertLess(largest_difference(ranks, one), 1e-3, mode)
            self.assertLess(abs(ranks[0] / one[0] - 1), 1e-6, mode)
        cut = self.train(recipe, "cut", "batch.micro_batch_size=2")
        self.assertGreater(abs(cut[0] / one[0] - 1), 1e-6)      # other scales
        self.assertLess(largest_difference(cut, one), 1e-2)

    def test_delayed_scales_are_saved_and_the_same_on_all_ranks(self):
        for compute in ("fp32", "bf16"):
            recipe = self.recipe(tiny(20, dropout=0, every=100, precision=fp8(compute, scaling="delayed")).replace("cosine, warmup: 5 steps", "constant"))
            exact = self.train(recipe, f"exact-{compute}", "precision.products=compute", "precision.scaling=current")
            current = self.train(recipe, f"current-{compute}", "precision.scaling=current")
            got = self.train(recipe, f"delayed-{compute}")
            self.assertLess(largest_difference(got, exact), 1e-2)
            # the first step's scales are current ones
            self.assertEqual(got[0], current[0])
            self.assertNotEqual(got[1:], current[1:])
            want = sha256(self.weights(f"delayed-{compute}"))
            self.train(recipe, f"seven-{compute}", "run.duration=7 steps")
            self.train(recipe, f"seven-{compute}", "run.duration=20 steps")
            self.assertEqual(sha256(self.weights(f"seven-{compute}")), want)
            for level in ("selective", "full"):
                self.train(recipe, f"{level}-{compute}", f"memory.activation_checkpoint={level}")
                self.assertEqual(sha256(self.weights(f"{level}-{compute}")), want, level)
        recipe = self.recipe(tiny(20, dropout=0, every=100, precision=fp8(scaling="delayed")).replace("cosine, warmup: 5 steps", "constant"))
        one = self.train(recipe, "one")
        for mode in ("ddp", "dp", "zero1", "zero3"):
            ranks = self.train(recipe, mode, "parallel.world_size=2", f"parallel.mode={mode}")
            self.assertLess(largest_difference(ranks, one), 1e-3, mode)
            # exponents of one rank, but for values next to a power of two: sums differ in their order
            pairs = list(zip(*(map(int, self.state(run)["fp8_ranges"].split()) for run in (mode, "one")), strict=True))
            self.assertTrue(any(a > 0 for a, _ in pairs))
            self.assertLessEqual(max(abs(a - b) for a, b in pairs), 1, mode)
            self.assertLess(sum(a != b for a, b in pairs), len(pairs) / 50, mode)
        # scales do not depend on how a batch is cut, beyond the first step
        cut = self.train(recipe, "cut", "batch.micro_batch_size=2")
        self.assertLess(largest_difference(cut, one), 1e-2)
        for duration in (10, 20):
            self.train(recipe, "half", f"run.duration={duration} steps", "parallel.world_size=2", "parallel.mode=ddp")
        self.assertEqual(sha256(self.weights("half")), sha256(self.weights("ddp")))
        self.assertEqual(self.state("half")["fp8_ranges"], self.state("ddp")["fp8_ranges"])
        self.refused("train", recipe, "run.name=half", "run.duration=22 steps", "precision.scaling=current", names=("precision.scaling",))
        self.run_trainx("train", recipe, "run.name=half", "--fork", "other", "precision.products=compute", "precision.scaling=current", "run.duration=22 steps")
        self.assertNotIn("fp8_ranges", self.state("other"))

    @sampled
    def test_weights_gathered_in_fp8_are_those_that_are_cast_where_they_are_used(self):
        families = {"gpt2": tiny(20, dropout=0)}
        families["qwen3"] = families["gpt2"].replace("type: gpt2", "type: qwen3").replace(", dropout: 0}", "}")
        scalings, cuts = ("current", "delayed"), ((2, 2), (3, 3), (4, 2))      # ranks, and those that share shards
        for family, scaling, (world, shards) in self.drawn(itertools.product(families, scalings, cuts), 2, 6):
            with self.subTest(family=family, scaling=scaling, world=world, shards=shards):
                name = f"{family}-{scaling}-{world}"
                recipe = families[family].replace("precision: fp32", "precision: " + fp8("bf16", scaling=scaling)).replace("cosine, warmup: 5 steps", "constant")
                path = self.recipe(recipe, f"{name}.yaml")
                # no clipping: the norm sums groups, which are others
                settings = (f"parallel.world_size={world}", f"parallel.shard_ranks={shards}", "batch.global_batch_size=12", "batch.micro_batch_size=1", "optimizer.max_grad_norm=0")
                runs = [f"{name}-{mode}" for mode in ("zero2", "zero3")]
                for run in runs:
                    self.train(path, run, *settings, f"parallel.mode={run[-5:]}")
                self.assertEqual(*map(self.saved, runs))
                for key in ("loss", "eval_loss"):
                    self.assertEqual(*([m[key] for m in self.metrics(run) if key in m] for run in runs), key)
                self.assertAlmostEqual(*(self.metrics(run)[-1]["fp8_flushed_weights"] for run in runs), places=9)
                for duration in (8, 20):
                    self.train(path, f"{name}-half", *settings, "parallel.mode=zero3", f"run.duration={duration} steps")
                self.assertEqual(*map(self.saved, (f"{name}-half", runs[1])))
                said = self.plan(path, *settings, "parallel.mode=zero3")["products"]
                self.assertIn("gathers them so", said)

    def test_scales_of_blocks(self):
        # several blocks along each dimension, the last of them partial; wide enough to differ from current scales
        recipe = self.recipe(tiny(10, dropout=0, every=100, precision=fp8(scaling="blocks")).replace("hidden_size: 32", "hidden_size: 160").replace("cosine, warmup: 5 steps", "constant"))
        for compute in ("fp32", "bf16"):
            exact, current, got = (self.train(recipe, f"{name}-{compute}", f"precision.compute={compute}", *more)
                                   for name, more in (("exact", ("precision.products=compute", "precision.scaling=current")), ("current", ("precision.scaling=current",)), ("blocks", ())))
            self.assertLess(largest_difference(got, exact), 1e-2, (got, exact))
            self.assertGreater(largest_difference(got, exact), 1e-5)
            self.assertNotEqual(got, current)
            self.assertLess(got[-1], got[0])
            want = sha256(self.weights(f"blocks-{compute}"))
            self.train(recipe, f"half-{compute}", f"precision.compute={compute}", "run.duration=4 steps")
            self.train(recipe, f"half-{compute}", f"precision.compute={compute}")
            self.assertEqual(sha256(self.weights(f"half-{compute}")), want)
            for level in ("selective", "mlp", "full"):
                self.train(recipe, f"{level}-{compute}", f"precision.compute={compute}", f"memory.activation_checkpoint={level}")
                self.assertEqual(sha256(self.weights(f"{level}-{compute}")), want, level)
            for line in self.metrics(f"blocks-{compute}"):
                for of in ("inputs", "weights", "gradients"):
                    self.assertTrue(0 <= line[f"fp8_flushed_{of}"] < 0.05, line)
                    self.assertEqual(line[f"fp8_saturated_{of}"], 0, line)

    def test_scales_of_blocks_do_not_follow_the_micro_batch_or_the_rank(self):
        """Where micro-batches have whole blocks of 128 tokens: values are the same, and sums alone have another order."""
        recipe = self.recipe(tiny(10, dropout=0, precision=fp8(scaling="blocks")))
        one = self.train(recipe, "one")
        cut = self.train(recipe, "cut", "batch.micro_batch_size=8")
        self.assertLess(abs(cut[0] / one[0] - 1), 1e-6)
        self.assertLess(largest_difference(cut, one), 1e-3)
        part = self.train(recipe, "part", "batch.micro_batch_size=2")       # forward follows it in nothing
        self.assertLess(abs(part[0] / one[0] - 1), 1e-6)
        self.assertLess(largest_difference(part, one), 1e-2)
        for mode in ("ddp", "dp", "zero1", "zero3"):
            ranks = self.train(recipe, mode, "parallel.world_size=2", f"parallel.mode={mode}")
            self.assertLess(largest_difference(ranks, one), 1e-3, mode)
            self.assertLess(abs(ranks[0] / one[0] - 1), 1e-6, mode)
        for duration in (5, 10):
            self.train(recipe, "half", f"run.duration={duration} steps", "parallel.world_size=2", "parallel.mode=ddp", "schedule={type: constant}")
        self.train(recipe, "whole", "parallel.world_size=2", "parallel.mode=ddp", "schedule={type: constant}")
        self.assertEqual(sha256(self.weights("half")), sha256(self.weights("whole")))

    def test_scales_of_blocks_belong_to_their_checkpoints(self):
        recipe = self.recipe(tiny(10, every=100, precision=fp8(scaling="blocks")).replace("cosine, warmup: 5 steps", "constant"))
        self.train(recipe, "half", "run.duration=5 steps")
        for scaling in ("current", "delayed"):
            self.refused("train", recipe, "run.name=half", f"precision.scaling={scaling}", names=("precision.scaling",))
        self.run_trainx("train", recipe, "run.name=half", "--fork", "other", "precision.scaling=current")
        self.assertEqual(self.metrics("other")[-1]["step"], 10)
        said = self.run_trainx("plan", recipe).stdout
        self.assertNotIn("e5m2", said)
        self.assertRegex(said, r"products +fp8 in 2 of 2 .*e4m3 .*128 x 128")

    def test_scales_of_blocks_on_a_gpu_are_planned_for_hopper_alone(self):
        recipe = self.recipe(tiny(precision=fp8("bf16", scaling="blocks")))
        planned = self.run_trainx("plan", recipe, SMALL, "--gpu", "h200").stdout
        self.assertRegex(planned, r"products +[0-9.]+ ms, those of fp8 at 1\.6 times .*estimate")
        self.assertRegex(planned, r"matrix products +54, 48 of them in fp8\n +casts to fp8 +40\n")
        self.refused("plan", recipe, "--gpu", "a100", names=("precision.products", "8.9"))
        self.refused("plan", recipe, "--gpu", "l40s", names=("precision.scaling", "9.0", "scaling: current"))

    def state(self, run):
        return json.loads((self.folder / "outputs" / run / "latest" / "trainer_state.json").read_text())

    def test_elements_that_become_zero_or_are_cut_are_counted(self):
        for scaling in ("current", "delayed"):
            recipe = self.recipe(tiny(20, precision=fp8("bf16", scaling=scaling)))
            said = self.run_trainx("train", recipe, f"run.name={scaling}").stderr
            self.assertNotIn("in fp8 (fp8_", said)
            for line in self.metrics(scaling):
                for of in ("inputs", "weights", "gradients"):
                    self.assertTrue(0 <= line[f"fp8_flushed_{of}"] < 0.05, line)
                    self.assertTrue(0 <= line[f"fp8_saturated_{of}"] <= (0 if scaling == "current" else 1e-3), line)
            self.assertTrue(any(line["fp8_flushed_inputs"] > 0 for line in self.metrics(scaling)))
            self.run_trainx("report", f"outputs/{scaling}")
        self.train(self.recipe(tiny(20)), "plain")
        self.assertNotIn("fp8_flushed_inputs", self.metrics("plain")[0])

    def test_the_plan_says_it_and_keeps_less(self):
        recipe = self.recipe(tiny(precision="bf16"))
        said = self.run_trainx("plan", recipe, FP8).stdout
        self.assertRegex(said, r"products +fp8 in 2 of 2 layers: e4m3 inputs and weights, e5m2 output gradients.*[0-9.]+ [KMG]iB of inputs kept")
        self.assertEqual(self.run_trainx("plan", self.recipe(tiny()), "precision=fp8").stdout, said)
        self.assertIn("fp8 in 2 of 4 layers", self.run_trainx("plan", recipe, FP8, "precision.first_last=compute", "model.options.num_layers=4").stdout)
        self.assertNotRegex(self.run_trainx("plan", recipe).stdout, r"products +\w")
        low = self.recipe(tiny(precision="bf16"), "low.yaml")
        planned = self.run_trainx("plan", low, FP8, SMALL, "--gpu", "h100").stdout
        self.assertRegex(planned, r"products +fp8 in 2 of 2 layers: e4m3.*[0-9.]+ [KMG]iB of inputs kept")
        self.assertRegex(planned, r"products +[0-9.]+ ms, those of fp8 at 1\.8 times .*estimate")
        # three products of each of four linear layers; x and output gradient are cast in both
        # micro-steps, the weight once a step
        self.assertRegex(planned, r"matrix products +54, 48 of them in fp8\n +casts to fp8 +40\n")
        self.assertNotIn("fp8", self.run_trainx("plan", low, "--gpu", "h100").stdout)
        self.assertRegex(self.run_trainx("plan", self.recipe(tiny()), FP8, "--gpu", "h100").stdout, "run.device auto takes the CPU: precision.products is fp8.*precision.compute: bf16")

    def test_inputs_kept_are_those_of_one_micro_step(self):
        recipe = self.recipe(tiny(precision="bf16"))
        for device in ("cpu", "h100"):
            where = [SMALL, "--gpu", device] if device != "cpu" else []
            kept = set()
            for batch in (2, 4, 8):
                settings = (f"batch.global_batch_size={batch}", "batch.micro_batch_size=2")
                said = self.plan(recipe, FP8, *settings, *where)["products"]
                kept.add(re.search(r"([0-9.]+ [KMG]iB) of inputs kept", said).group(1))
            self.assertEqual(len(kept), 1, (device, kept))

    def plan(self, recipe, *settings):
        return json.loads(self.run_trainx("plan", recipe, "--json", *settings).stdout)

    def told(self, run):
        text = (self.folder / "outputs" / run / "metrics.jsonl").read_text()
        return [
            {k: v for k, v in line.items() if k == "eval_loss" or k.startswith("fp8_")}
            for line in map(json.loads, text.splitlines())
        ]

    @staticmethod
    def copies_in(planned):
        return sum(row["bytes"] for row in planned["memory"] if row["category"] == "weights in fp8")

    @sampled
    def test_weights_are_cast_once_a_step(self):
        """The bits of runs without room for the copies, which cast in each micro-step.

        Losses, shares, ranges, evaluations and weights are compared.
        """
        cases = itertools.product(("current", "delayed", "blocks"), (8, 4, 2))
        for scaling, micro in self.drawn(cases, 3, 6):
            text = tiny(10, every=100, dropout=0, precision=fp8("bf16", scaling=scaling))
            text = text.replace("cosine, warmup: 5 steps", "constant")
            text = text.replace("every: 20 steps, batches", "every: 4 steps, batches")
            recipe = self.recipe(text)
            with self.subTest(scaling=scaling, micro=micro):
                settings = (
                    f"batch.micro_batch_size={micro}",
                    "memory.activation_checkpoint=none",
                )
                names = ("once", "each", "half")
                once, each, half = (f"{name}-{scaling}-{micro}" for name in names)
                planned = self.plan(recipe, *settings)
                self.assertGreater(self.copies_in(planned), 0)
                less = f"memory.budget={planned['total_bytes'] - 1} B"
                without = self.plan(recipe, *settings, less)
                self.assertEqual(self.copies_in(without), 0)
                self.assertLess(without["total_bytes"], planned["total_bytes"])
                choices = without["choices"]
                self.assertTrue(any("fp8" in choice for choice in choices), choices)
                self.assertFalse(any("fp8" in choice for choice in planned.get("choices", [])))
                want = self.train(recipe, once, *settings)
                self.assertEqual(self.train(recipe, each, *settings, less), want)
                self.assertEqual(sha256(self.weights(each)), sha256(self.weights(once)))
                told = self.told(once)
                self.assertEqual(self.told(each), told)
                for key in ("eval_loss", "fp8_flushed_weights"):
                    self.assertTrue(any(key in line for line in told), key)
                if scaling == "delayed":
                    ranges = [self.state(run)["fp8_ranges"] for run in (once, each)]
                    self.assertEqual(*ranges)
                self.train(recipe, half, *settings, "run.duration=5 steps")
                self.train(recipe, half, *settings, less)
                self.assertEqual(sha256(self.weights(half)), sha256(self.weights(once)))

    def test_ranks_without_room_for_shards_in_fp8_cast_what_they_gather(self):
        recipe = self.recipe(tiny(6, every=100, dropout=0, precision=fp8("bf16")))
        settings = (
            "model.options.num_layers=8",
            "model.options.hidden_size=128",
            "parallel.world_size=2",
            "parallel.mode=zero3",
            # no clipping: the norm sums groups, which are others
            "optimizer.max_grad_norm=0",
        )
        planned = self.plan(recipe, *settings)
        less = f"memory.budget={planned['total_bytes'] - 1} B"
        without = self.plan(recipe, *settings, less)
        self.assertLess(without["total_bytes"], planned["total_bytes"])
        self.assertTrue(any("fp8" in choice for choice in without["choices"]), without["choices"])
        want = self.train(recipe, "gathered", *settings)
        self.assertEqual(self.train(recipe, "arrived", *settings, less), want)
        self.assertEqual(self.saved("gathered"), self.saved("arrived"))

    def test_copies_of_weights_are_planned_where_weights_stay(self):
        recipe = self.recipe(tiny(precision="bf16"))
        on_gpu = (FP8, SMALL, "--gpu", "h100", "model.options.hidden_size=512")
        two, one = (
            self.copies_in(self.plan(recipe, *on_gpu, f"batch.micro_batch_size={micro}"))
            for micro in (4, 8)
        )
        # 12 d^2 elements a layer, values and transposed copy; of one micro-step the latter alone
        elements = 2 * 12 * 512 * 512
        self.assertLess(abs(two / (2 * elements) - 1), 0.01)
        self.assertTrue(0 < one < 1.01 * elements, one)     # where memory is fullest some are dead
        self.assertRegex(self.run_trainx("plan", recipe, *on_gpu).stdout, r"step, into [0-9.]+ MiB")
        for mode in ("ddp", "zero1", "zero2", "zero3"):
            ranks = ("parallel.world_size=2", f"parallel.mode={mode}")
            products = self.plan(recipe, *on_gpu, *ranks)["products"]
            self.assertIn("once", products, mode)
            self.assertEqual("gathers them" in products, mode == "zero3", products)
        offloaded = self.plan(recipe, *on_gpu, "memory.parameter_offload=cpu")
        self.assertEqual(self.copies_in(offloaded), 0)
        self.assertNotIn("once", offloaded["products"])

    def test_products_that_gain_nothing_stay_in_compute(self):
        """As rows on an H200 say: bench/results/h200/small_products.md."""
        sizes = ("model.size=124m", "data.sequence_length=1024", "--gpu", "h200")

        def products(micro_batch, scaling, *more, batch=None):
            done = self.run_trainx(
                "plan", ROOT / "configs/bench/gpt2.yaml", FP8, f"precision.scaling={scaling}",
                f"batch.micro_batch_size={micro_batch}",
                f"batch.global_batch_size={batch or micro_batch}", *sizes, *more)
            in_fp8 = re.search(r"(\d+) of them in fp8", done.stdout)
            return int(in_fp8.group(1)) if in_fp8 else 0, done.stdout

        in_fp8, said = products(1, "delayed")
        self.assertEqual(in_fp8, 0)
        self.assertIn("none of 48 products", said)
        self.assertNotIn("those of fp8 at", said)
        self.assertEqual(products(1, "delayed", SMALL)[0], 3 * 48)
        in_fp8, said = products(4, "delayed")
        self.assertEqual(in_fp8, 3 * 36)
        self.assertRegex(
            said, r"; 12 of 48 products stay in bf16, .*: h\.\*\.attn\.c_proj\.weight\n")
        self.assertEqual(products(4, "current")[0], 3 * 24)
        for scaling in ("current", "delayed"):
            self.assertEqual(products(64, scaling)[0], 3 * 48)
        # many micro-steps share the casts of weights
        self.assertEqual(products(2, "delayed")[0], 0)
        self.assertGreater(products(2, "delayed", batch=64)[0], 0)
        # its blocks read what ranks gather, all of it in fp8
        zero3 = ("parallel.mode=zero3", "parallel.world_size=2")
        self.assertEqual(products(1, "delayed", *zero3, batch=2)[0], 3 * 48)

    def test_sizes_that_a_gpu_does_not_multiply_stay_in_compute(self):
        recipe = self.recipe(tiny(precision="bf16"))
        planned = self.run_trainx("plan", recipe, FP8, SMALL, "--gpu", "h100",
                                  "model.options.intermediate_size=40").stdout
        self.assertRegex(planned, r"products +fp8 in 2 of 2 layers: .*; 4 matrices .* in bf16: .* 16\n")
        self.assertRegex(planned, r"matrix products +54, 24 of them in fp8\n")
        for more in (("model.options.hidden_size=40",), ("data.sequence_length=30", "batch.micro_batch_size=1")):
            self.refused("plan", recipe, FP8, "--gpu", "h100", *more, names=("precision.products", "16", "batch.micro_batch_size"))
        self.refused("plan", recipe, FP8, "--gpu", "a100", names=("precision.products", "8.9"))
        self.run_trainx("plan", recipe, FP8, "--gpu", "l40s")

    def test_what_cannot_be_is_refused(self):
        recipe = self.recipe(tiny())
        self.refused("plan", recipe, FP8, "run.device=gpu", names=("run.device", "precision.products", "precision.compute"))
        self.refused("plan", recipe, FP8, "precision.first_last=compute", names=("precision.first_last", "precision.products"))
        self.refused("plan", recipe, FP8, "precision.first_last=compute", "model.options.num_layers=1", names=("precision.first_last", "precision.products"))
        self.refused("validate", recipe, FP8, "precision.compute=fp16", key="precision.products", names=("compute: bf16",))
        self.refused("validate", recipe, "precision.first_last=compute", key="precision.first_last")
        self.refused("validate", recipe, "precision.products=int8", key="precision.products")
        self.refused("validate", recipe, "precision.scaling=delayed", key="precision.scaling", names=("products: fp8",))


if __name__ == "__main__":
    main()
