"""Products in fp8 on a GPU, as a user meets them: the CPU's losses, the same bits however a run is
stopped or recomputed, and what stays in bf16."""
import json

from gpu_checks import needs_capability
from support import Trainx, main, sha256, tiny


# models this small gain nothing from fp8
IN_FP8 = "{compute: bf16, products: fp8, small_products: fp8%s}"
CURRENT = IN_FP8 % ""
FP8 = f"precision={CURRENT}"
DELAYED = f"precision={IN_FP8 % ', scaling: delayed'}"
BLOCKS = f"precision={IN_FP8 % ', scaling: blocks'}"


def largest_difference(a, b):
    return max(abs(x / y - 1) for x, y in zip(a, b, strict=True))


def mean_difference(a, b):
    return sum(x / y - 1 for x, y in zip(a, b, strict=True)) / len(a)


@needs_capability(8.9)
class Fp8OnGpu(Trainx):
    on_gpu = True

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def train(self, recipe, name, *settings, device="gpu"):
        self.run_trainx("train", recipe, f"run.name={name}", f"run.device={device}", *settings)
        return self.losses(name)

    def constant(self, precision, steps=10, **more):
        text = tiny(steps, every=100, precision=precision, **more)
        return self.recipe(text.replace("cosine, warmup: 5 steps", "constant"))

    def test_the_losses_of_the_cpu_and_close_to_those_of_bf16(self):
        recipe = self.recipe(tiny(20, dropout=0, precision="bf16"))
        cpu = self.train(recipe, "cpu", FP8, device="cpu")
        gpu = self.train(recipe, "gpu", FP8)
        bf16 = self.train(recipe, "bf16")
        self.assertEqual(len(gpu), 20)
        print(
            f"  fp8, GPU to CPU: first step {gpu[0] / cpu[0] - 1:.1e}, mean {mean_difference(gpu, cpu):.1e}, largest {largest_difference(gpu, cpu):.1e}; to bf16 {largest_difference(gpu, bf16):.1e}"
        )
        self.assertLess(abs(gpu[0] / cpu[0] - 1), 1e-3)
        self.assertLess(abs(mean_difference(gpu, cpu)), 1e-3)
        # a value that is rounded otherwise moves what follows, in bf16 alone as well
        self.assertLess(largest_difference(gpu, cpu), 5e-3)
        self.assertLess(largest_difference(gpu, bf16), 1e-2)
        self.assertGreater(largest_difference(gpu, bf16), 1e-5)
        self.assertLess(gpu[-1], gpu[0])

    def test_delayed_scales_give_the_losses_of_the_cpu(self):
        recipe = self.recipe(tiny(20, dropout=0, precision="bf16"))
        cpu = self.train(recipe, "cpu", DELAYED, device="cpu")
        gpu = self.train(recipe, "gpu", DELAYED)
        current = self.train(recipe, "current", FP8)
        self.assertEqual(gpu[0], current[0])
        self.assertNotEqual(gpu, current)
        self.assertLess(abs(gpu[0] / cpu[0] - 1), 1e-3)
        self.assertLess(abs(mean_difference(gpu, cpu)), 1e-3)
        self.assertLess(largest_difference(gpu, cpu), 5e-3)
        self.assertLess(largest_difference(gpu, current), 1e-2)
        # the same tensors, rounded now and then otherwise
        exponents = [
            list(map(int,
                     self.state(run)["fp8_ranges"].split())) for run in ("cpu", "gpu")
        ]
        self.assertLessEqual(max(abs(a - b) for a, b in zip(*exponents, strict=True)), 1)
        self.assertLess(sum(a != b for a, b in zip(*exponents)), len(exponents[0]) / 20)
        for scaling, run in (("delayed", "gpu"), ("current", "current")):
            for line in self.metrics(run):
                for of in ("inputs", "weights", "gradients"):
                    self.assertTrue(0 <= line[f"fp8_flushed_{of}"] < 0.05, line)
                    self.assertTrue(
                        0 <= line[f"fp8_saturated_{of}"] <= (0 if scaling == "current" else 1e-3),
                        line)
        first = [self.metrics(run)[0] for run in ("cpu", "gpu")]
        print("  flushed in the first step, CPU and GPU: " +
              "; ".join(f"{of} {first[0][key]:.2e} {first[1][key]:.2e}"
                        for of in ("inputs", "weights", "gradients")
                        for key in [f"fp8_flushed_{of}"]))
        self.assertEqual(first[0]["fp8_flushed_weights"], first[1]["fp8_flushed_weights"])

    @needs_capability(9.0, below=9.1)
    def test_scales_of_blocks_give_the_losses_of_the_cpu(self):
        recipe = self.recipe(
            tiny(20, dropout=0, precision="bf16").replace("hidden_size: 32", "hidden_size: 160"))
        cpu = self.train(recipe, "cpu", BLOCKS, device="cpu")
        gpu = self.train(recipe, "gpu", BLOCKS)
        bf16 = self.train(recipe, "bf16")
        print(
            f"  fp8 by blocks, GPU to CPU: first step {gpu[0] / cpu[0] - 1:.1e}, mean {mean_difference(gpu, cpu):.1e}, largest {largest_difference(gpu, cpu):.1e}; to bf16 {largest_difference(gpu, bf16):.1e}"
        )
        self.assertLess(abs(gpu[0] / cpu[0] - 1), 1e-3)
        self.assertLess(abs(mean_difference(gpu, cpu)), 1e-3)
        self.assertLess(largest_difference(gpu, cpu), 5e-3)
        self.assertLess(largest_difference(gpu, bf16), 1e-2)
        self.assertGreater(largest_difference(gpu, bf16), 1e-5)
        first = [self.metrics(run)[0] for run in ("cpu", "gpu")]
        self.assertEqual(first[0]["fp8_flushed_weights"], first[1]["fp8_flushed_weights"])
        for line in self.metrics("gpu"):
            for of in ("inputs", "weights", "gradients"):
                self.assertTrue(0 <= line[f"fp8_flushed_{of}"] < 0.05, line)
                self.assertEqual(line[f"fp8_saturated_{of}"], 0, line)
        self.same_bits(BLOCKS.partition("=")[2], "blocks")
        gated = self.recipe(
            tiny(20, dropout=0, precision="bf16").replace("type: gpt2", "type: qwen3").replace(
                ", dropout: 0}", "}").replace("deterministic: true", "deterministic: false"),
            "gated.yaml")
        got = self.train(gated, "gated", BLOCKS, "batch.micro_batch_size=2")
        self.assertLess(
            largest_difference(got, self.train(gated, "gated-bf16", "batch.micro_batch_size=2")),
            3e-2)

    def state(self, run):
        return json.loads(
            (self.folder / "outputs" / run / "latest" / "trainer_state.json").read_text())

    def test_resumed_and_recomputed_runs_have_the_same_bits(self):
        for way in (CURRENT, DELAYED.partition("=")[2]):
            with self.subTest(way=way):
                self.same_bits(way, "current" if way == CURRENT else "delayed")

    def same_bits(self, way, run):
        recipe = self.recipe(
            tiny(10, every=100, precision=way).replace("cosine, warmup: 5 steps", "constant"))
        self.train(recipe, f"{run}-ten")
        want = sha256(self.weights(f"{run}-ten"))
        self.train(recipe, f"{run}-five", "run.duration=5 steps")
        self.train(recipe, f"{run}-five")
        self.assertEqual(sha256(self.weights(f"{run}-five")), want)
        for name, more in (("again", ()), ("eager", ("run.execution=eager", )),
                           ("selective", ("memory.activation_checkpoint=selective", )),
                           ("full", ("memory.activation_checkpoint=full", )),
                           ("mlp", ("memory.activation_checkpoint=mlp", ))):
            with self.subTest(name=name):
                self.train(recipe, f"{run}-{name}", *more)
                self.assertEqual(sha256(self.weights(f"{run}-{name}")), want)

    def test_frozen_weights_that_are_cast_once_have_the_bits_of_those_cast_in_each_use(self):
        adapter = ("model.adapter={type: lora, rank: 4}", "memory.activation_checkpoint=none",
                   "eval.every=5 steps")
        for number, way in enumerate((CURRENT, DELAYED.partition("=")[2])):
            recipe = self.constant(way, dropout=0)
            planned = json.loads(self.run_trainx(
                "plan", recipe, "--json", "run.device=gpu", *adapter).stdout)
            self.assertIn("once a run", planned["products"])
            runs = {"once": (), "each": ("memory.parameter_offload=cpu",),
                    "eager": ("run.execution=eager",),
                    "full": ("memory.activation_checkpoint=full",)}  # fmt: skip
            told = {}
            for name, more in runs.items():
                run = f"{name}-{number}"
                self.train(recipe, run, *adapter, *more)
                told[name] = [self.outcomes(run), self.adapter_of(run)]
                self.assertEqual(told[name], told["once"], name)
            # an evaluation in fp16 reads the weights, which stay then
            self.train(recipe, f"stay-{number}", *adapter, "eval.precision=fp16")
            self.assertEqual(self.losses(f"stay-{number}"), self.losses(f"once-{number}"))
            self.assertEqual(self.adapter_of(f"stay-{number}"), told["once"][1])
            self.assertEqual(self.on_host(f"stay-{number}"), 0)
            self.assertGreater(self.on_host(f"once-{number}"), 0)
            self.train(recipe, f"cpu-{number}", *adapter, device="cpu")
            for gpu, cpu in zip(told["once"][0], self.outcomes(f"cpu-{number}"), strict=True):
                self.assertLess(abs(gpu / cpu - 1), 5e-3)

    def on_host(self, run):
        """Bytes of weights that rest there, by the plan."""
        planned = json.loads((self.folder / "outputs" / run / "plan.json").read_text())
        return sum(part["bytes"] for part in planned.get("on_host", ())
                   if part["category"].startswith("weights"))

    def outcomes(self, run):
        return [m[key] for m in self.metrics(run) for key in ("loss", "eval_loss") if key in m]

    def adapter_of(self, run):
        return sha256(self.folder / "outputs" / run / "latest" / "adapter_model.safetensors")

    def test_other_products_go_on_from_a_checkpoint_in_a_run_of_their_own(self):
        recipe = self.constant("bf16")
        self.train(recipe, "half", FP8, "run.duration=5 steps")
        self.refused("train", recipe, "run.name=half", "run.device=gpu",
                     names=("precision.products",))
        self.run_trainx("train", recipe, "run.name=half", "--fork", "other", "run.device=gpu")
        self.train(recipe, "half", FP8)
        self.assertNotEqual(self.losses("other")[-5:], self.losses("half")[-5:])
        self.assertLess(largest_difference(self.losses("other")[-5:],
                                           self.losses("half")[-5:]), 1e-2)

    def test_small_products_stay_in_bf16(self):
        recipe = self.constant("bf16")
        # what runs is held against what was planned: a step that casts ends with 79
        small = self.train(recipe, "small", "precision.products=fp8")
        self.assertEqual(small, self.train(recipe, "bf16"))

    def test_first_and_last_layers_and_sizes_that_stay_in_bf16(self):
        recipe = self.recipe(tiny(20, dropout=0, precision="bf16"))
        deep = ("model.options.num_layers=4",)
        whole = self.train(recipe, "whole", FP8, *deep)
        inner = self.train(recipe, "inner", FP8, "precision.first_last=compute", *deep)
        self.assertNotEqual(inner, whole)
        self.assertLess(largest_difference(inner, whole), 1e-2)
        # what runs is held against what was planned: a step that casts more or less ends with 79
        narrow = ("model.options.intermediate_size=40",)
        some = self.train(recipe, "some", FP8, *narrow)
        self.assertLess(largest_difference(some, self.train(recipe, "none", *narrow)), 1e-2)

    def test_gated_layers_and_tuned_products(self):
        """Grouped heads without biases, several micro-steps whose weight gradients are added up,
        algorithms that were measured."""
        text = tiny(20, dropout=0, precision="bf16").replace("type: gpt2", "type: qwen3").replace(
            ", dropout: 0}", "}").replace("deterministic: true", "deterministic: false")
        recipe = self.recipe(text)
        got = self.train(recipe, "fp8", FP8, "batch.micro_batch_size=2")
        self.assertLess(
            largest_difference(got, self.train(recipe, "bf16", "batch.micro_batch_size=2")), 3e-2)
        self.assertLess(got[-1], got[0])

    def test_what_cannot_be_is_refused(self):
        recipe = self.recipe(tiny(precision="fp32"))
        self.refused("train", recipe, "precision.products=fp8", "run.device=gpu",
                     names=("run.device", "precision.products", "precision.compute"))
        self.refused("train", recipe, FP8, "run.device=gpu", "model.options.hidden_size=40",
                     names=("precision.products", "16"))


if __name__ == "__main__":
    main()
