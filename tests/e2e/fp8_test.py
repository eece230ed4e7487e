"""Products in fp8 on CPUs, as a user meets them: losses close to those without, one scale on all
ranks, what the plan says, and what cannot be. tests/equality/fp8.yaml has the rest."""
import itertools
import json
import re

from support import ROOT, Trainx, main, sampled, tiny

FP8 = "precision.products=fp8"
SMALL = "precision.small_products=fp8"     # models this small gain nothing on a GPU


def fp8(compute="fp32", **more):
    return "{compute: %s, products: fp8%s}" % (compute, "".join(f", {k}: {v}"
                                                                for k, v in more.items()))


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


class Fp8(Trainx):
    forks = True

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def train(self, recipe, name, *settings):
        self.run_trainx("train", recipe, f"run.name={name}", *settings)
        return self.losses(name)

    def steady(self, steps, **precision):
        text = tiny(steps, every=100, dropout=0, precision=fp8(**precision))
        return self.recipe(text.replace("cosine, warmup: 5 steps", "constant"))

    @sampled
    def test_losses_are_close_to_those_without_and_ranks_have_the_same_scales(self):
        recipe = self.steady(20, scaling="delayed")
        exact = self.train(recipe, "exact", "precision={products: compute, scaling: current}")
        one = self.train(recipe, "one")
        self.assertEqual(len(one), 20)
        self.assertLess(largest_difference(one, exact), 1e-2, (one, exact))
        self.assertGreater(largest_difference(one, exact), 1e-5)
        self.assertLess(one[-1], one[0])
        for mode in self.drawn(("ddp", "dp", "zero1", "zero3")):
            ranks = self.train(recipe, mode, "parallel.world_size=2", f"parallel.mode={mode}")
            self.assertLess(largest_difference(ranks, one), 1e-3, mode)
            # exponents of one rank, unless a value is next to a power of two: sums differ in order
            pairs = list(zip(self.ranges(mode), self.ranges("one"), strict=True))
            self.assertTrue(any(a > 0 for a, _ in pairs))
            self.assertLessEqual(max(abs(a - b) for a, b in pairs), 1, mode)
            self.assertLess(sum(a != b for a, b in pairs), len(pairs) / 50, mode)

    def ranges(self, run):
        return [int(exponent) for exponent in self.state(run)["fp8_ranges"].split()]

    def test_other_products_go_on_from_a_checkpoint_in_a_run_of_their_own(self):
        scaling = self.random.choice(("delayed", "blocks"))
        recipe = self.steady(10, scaling=scaling)
        self.train(recipe, "half", "run.duration=5 steps")
        self.assertEqual("fp8_ranges" in self.state("half"), scaling == "delayed")
        self.run_trainx("train", recipe, "run.name=half", "--fork", "other",
                        "precision={products: compute, scaling: current}")
        self.train(recipe, "half")
        # the same data from the same weights
        self.assertEqual(self.metrics("other")[-1]["step"], 10)
        other, half = self.losses("other")[-5:], self.losses("half")[-5:]
        self.assertNotEqual(other, half)
        self.assertLess(largest_difference(other, half), 1e-2)
        self.assertNotIn("fp8_ranges", self.state("other"))

    def test_scales_of_blocks_on_a_gpu_are_planned_for_hopper_alone(self):
        recipe = self.recipe(tiny(precision=fp8("bf16", scaling="blocks")))
        said = self.run_trainx("plan", recipe).stdout
        self.assertNotIn("e5m2", said)
        self.assertRegex(said, r"products +fp8 in 2 of 2 .*e4m3 .*128 x 128")
        planned = self.run_trainx("plan", recipe, SMALL, "--gpu", "h200").stdout
        self.assertRegex(planned, r"products +[0-9.]+ \w+, those of fp8 at 1\.6 times .*estimate")
        self.assertRegex(planned, r"matrix products +54, 48 of them in fp8\n +casts to fp8 +40\n")
        self.refused("plan", recipe, "--gpu", "a100", names=("precision.products", "8.9"))
        self.refused("plan", recipe, "--gpu", "l40s",
                     names=("precision.scaling", "9.0", "scaling: current"))

    def state(self, run):
        return json.loads(
            (self.folder / "outputs" / run / "latest" / "trainer_state.json").read_text())

    def test_elements_that_become_zero_or_are_cut_are_counted_and_reported(self):
        scaling = self.random.choice(("current", "delayed"))
        recipe = self.recipe(tiny(20, precision=fp8("bf16", scaling=scaling)))
        said = self.run_trainx("train", recipe, "run.name=run").stderr
        self.assertNotIn("in fp8 (fp8_", said)
        self.assertTrue(any(line["fp8_flushed_inputs"] > 0 for line in self.metrics("run")))
        self.run_trainx("report", "outputs/run")

    def test_the_plan_says_it_and_keeps_less(self):
        recipe = self.recipe(tiny(precision="bf16"))
        said = self.run_trainx("plan", recipe, FP8).stdout
        self.assertRegex(
            said,
            r"products +fp8 in 2 of 2 layers: e4m3 inputs and weights, e5m2 output gradients.*[0-9.]+ [KMG]iB of inputs kept"
        )
        self.assertEqual(self.run_trainx("plan", self.recipe(tiny()), "precision=fp8").stdout, said)
        self.assertIn(
            "fp8 in 2 of 4 layers",
            self.run_trainx("plan", recipe, FP8, "precision.first_last=compute",
                            "model.options.num_layers=4").stdout)
        self.assertNotRegex(self.run_trainx("plan", recipe).stdout, r"products +\w")
        low = self.recipe(tiny(precision="bf16"), "low.yaml")
        planned = self.run_trainx("plan", low, FP8, SMALL, "--gpu", "h100").stdout
        self.assertRegex(planned,
                         r"products +fp8 in 2 of 2 layers: e4m3.*[0-9.]+ [KMG]iB of inputs kept")
        self.assertRegex(planned, r"products +[0-9.]+ \w+, those of fp8 at 1\.8 times .*estimate")
        # three products of each of four linear layers; x and output gradient are cast in both
        # micro-steps, the weight once a step
        self.assertRegex(planned, r"matrix products +54, 48 of them in fp8\n +casts to fp8 +40\n")
        self.assertNotIn("fp8", self.run_trainx("plan", low, "--gpu", "h100").stdout)
        self.assertRegex(
            self.run_trainx("plan", self.recipe(tiny()), FP8, "--gpu", "h100").stdout,
            "run.device auto takes the CPU: precision.products is fp8.*precision.compute: bf16")

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

    @staticmethod
    def copies_in(planned):
        return sum(row["bytes"] for row in planned["memory"] if row["category"] == "weights in fp8")

    @sampled
    def test_a_plan_without_room_for_copies_of_weights_casts_in_each_micro_step(self):
        cases = itertools.product(("current", "delayed", "blocks"), (8, 4, 2))
        for scaling, micro in self.drawn(cases, 1, 6):
            recipe = self.recipe(tiny(10, dropout=0, precision=fp8("bf16", scaling=scaling)))
            with self.subTest(scaling=scaling, micro=micro):
                self.check_without_room(recipe, f"batch.micro_batch_size={micro}",
                                        "memory.activation_checkpoint=none")

    def test_ranks_without_room_for_shards_in_fp8_cast_what_they_gather(self):
        recipe = self.recipe(tiny(6, dropout=0, precision=fp8("bf16")))
        self.check_without_room(
            recipe, "model.options.num_layers=8", "model.options.hidden_size=128",
            "parallel.world_size=2", "parallel.mode=zero3")

    def check_without_room(self, recipe, *settings):
        """tests/equality/fp8.yaml trains both."""
        planned = self.plan(recipe, *settings)
        without = self.plan(recipe, *settings, f"memory.budget={planned['total_bytes'] - 1} B")
        self.assertLess(without["total_bytes"], planned["total_bytes"])
        self.assertLess(self.copies_in(without), max(self.copies_in(planned), 1))
        self.assertTrue(any("fp8" in choice for choice in without["choices"]), without["choices"])
        self.assertFalse(any("fp8" in choice for choice in planned.get("choices", [])))

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

    @sampled
    def test_frozen_weights_are_cast_once_a_run(self):
        adapter = "model.adapter={type: lora, rank: 4}"
        for scaling in self.drawn(("current", "delayed", "blocks"), 1):
            recipe = self.recipe(tiny(precision=fp8("bf16", scaling=scaling)))
            for device in ((), (SMALL, "--gpu", "h200")):
                said = self.run_trainx("plan", recipe, adapter, "--program", *device).stdout
                self.assertRegex(said, r"products .* once a run, ")
                casts = re.findall(r"(?m)^cast_weights .*>(.*)$", said)
                blocks = ("h0.attention", "h0.mlp", "h1.attention", "h1.mlp")
                self.assertEqual(len(casts), len(blocks), said)
                for made, block in zip(casts, blocks, strict=True):
                    self.assertIn(f" {block}.fp8_weight", made)
                self.assertEqual(self.casts_in_steps(said), [], said)
                self.assertRegex(said, r"m0 forward .* h1.mlp.fp8_weight ")
            ranks = ("parallel.world_size=2", "parallel.mode=ddp")
            said = self.run_trainx("plan", recipe, adapter, "--program", *ranks).stdout
            self.assertEqual(said.count("\ncast_weights "), 4)
            self.assertEqual(self.casts_in_steps(said), [])
            # what is trained is cast in each step, and what a step gets anew
            some = "optimizer.groups=[{match: 'h.0.*', freeze: true}]"
            said = self.run_trainx("plan", recipe, some, "--program").stdout
            self.assertRegex(said, r"products .* once a step, .* once a run, ")
            self.assertEqual(said.count("\ncast_weights "), 2)
            self.assertEqual(len(self.casts_in_steps(said)), 2)
            anew = self.random.choice((
                "memory.parameter_offload=cpu", "parallel={mode: zero3, world_size: 2}",
                "parallel={mode: zero1, world_size: 2}", "parallel={mode: dp, world_size: 2}"))
            said = self.run_trainx("plan", recipe, adapter, "--program", anew).stdout
            self.assertNotIn("cast_weights", said)

    @staticmethod
    def casts_in_steps(program):
        return [line for line in program.splitlines()
                if re.search(r">.*fp8_weight", line) and not line.startswith("cast_weights")]

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
        self.assertRegex(planned,
                         r"products +fp8 in 2 of 2 layers: .*; 4 matrices .* in bf16: .* 16\n")
        self.assertRegex(planned, r"matrix products +54, 24 of them in fp8\n")
        for more in (("model.options.hidden_size=40", ), ("data.sequence_length=30",
                                                          "batch.micro_batch_size=1")):
            self.refused("plan", recipe, FP8, "--gpu", "h100", *more,
                         names=("precision.products", "16", "batch.micro_batch_size"))
        self.refused("plan", recipe, FP8, "--gpu", "a100", names=("precision.products", "8.9"))
        self.run_trainx("plan", recipe, FP8, "--gpu", "l40s")

    def test_what_cannot_be_is_refused(self):
        recipe = self.recipe(tiny())
        self.refused("plan", recipe, FP8, "run.device=gpu",
                     names=("run.device", "precision.products", "precision.compute"))
        self.refused("plan", recipe, FP8, "precision.first_last=compute",
                     names=("precision.first_last", "precision.products"))
        self.refused("plan", recipe, FP8, "precision.first_last=compute",
                     "model.options.num_layers=1",
                     names=("precision.first_last", "precision.products"))
        self.refused("validate", recipe, FP8, "precision.compute=fp16", key="precision.products",
                     names=("compute: bf16", ))
        self.refused("validate", recipe, "precision.first_last=compute", key="precision.first_last")
        self.refused("validate", recipe, "precision.products=int8", key="precision.products")
        self.refused("validate", recipe, "precision.scaling=delayed", key="precision.scaling",
                     names=("products: fp8", ))


if __name__ == "__main__":
    main()
