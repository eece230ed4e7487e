"""GPT-2 on a GPU as a user runs it: the CPU's losses, the same bits twice, after kills, with and without recomputation; refusals with a remedy."""
import json
import re
import shutil
import time

from gpu_checks import in_parts, needs_gpus, part_of
from support import BUILD, ROOT, Trainx, main, sha256

QUICKSTART = ROOT / "configs" / "quickstart.yaml"
FAST = ("run.duration=60 steps", "metrics.every=1 steps", "eval.every=1000 steps", "checkpoint.every=5 steps")


def test_worker(name):
    """Of tests/gpu/attestation/worker, in a build folder or packed."""
    return next((p for p in (BUILD / "tests" / name, BUILD / name) if p.exists()), BUILD / "tests" / name)


@needs_gpus(1)
class Gpt2OnGpu(Trainx):
    on_gpu = True

    def train(self, name, *more, **how):
        return self.run_trainx("train", QUICKSTART, f"run.name={name}", *FAST, *more, **how)

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def weights(self, name):
        return sha256(self.folder / "outputs" / name / "latest" / "model.safetensors")

    @in_parts(4)
    def test_the_losses_of_the_cpu(self):
        for precision, tolerance in part_of((("fp32", 1e-5), ("tf32", 2e-3), ("bf16", 1e-2), ("fp16", 2e-3))):
            for cut in ((), ("batch.micro_batch_size=4",), ("memory.activation_checkpoint=full", "model.options.dropout=0.1")):
                with self.subTest(precision=precision, cut=cut):
                    cpu = "fp32" if precision == "tf32" else precision
                    self.train("cpu", "run.device=cpu", f"precision={cpu}", *cut)
                    self.train("gpu", "run.device=gpu", f"precision={precision}", *cut)
                    pairs = list(zip(self.losses("cpu"), self.losses("gpu")))
                    self.assertEqual(len(pairs), 60)
                    # The first ten steps: rounding grows with every update.
                    self.assertLess(max(abs(g / c - 1) for c, g in pairs[:10]), tolerance)
                    for name in ("cpu", "gpu"):
                        shutil.rmtree(self.folder / "outputs" / name)

    def test_the_same_bits_again_after_kills_and_with_recomputation(self):
        fixed = ("run.deterministic=true", "precision=bf16")
        self.train("once", *fixed)
        want = self.weights("once")
        for name, more in (("twice", ()), ("fp32-master", ("precision.master=fp32",)), ("recomputed", ("memory.activation_checkpoint=full",)), ("selective", ("memory.activation_checkpoint=selective",)),
                           ("eager", ("run.execution=eager",))):
            self.train(name, *fixed, *more)
            self.assertEqual(self.weights(name), want, name)
        for k in range(4):
            process = self.start_trainx("train", QUICKSTART, "run.name=killed", *FAST, *fixed)
            time.sleep(self.random.uniform(0.3, 1.2))
            self.kill(process)
        self.train("killed", *fixed)
        self.assertEqual(self.weights("killed"), want)

    def test_sgd(self):
        for precision, tolerance in (("fp32", 1e-5), ("bf16", 1e-2)):
            for options in ("{}", "{momentum: 0.9, nesterov: true, weight_decay: 0.01}"):
                with self.subTest(precision=precision, options=options):
                    for device in ("cpu", "gpu"):
                        recipe = self.recipe(re.sub(r"optimizer:\n(  .*\n)+", f"optimizer: {{type: sgd, lr: 0.05, options: {options}}}\n", QUICKSTART.read_text()))
                        self.run_trainx("train", recipe, f"run.name={device}", *FAST, f"run.device={device}", f"precision={precision}")
                    pairs = list(zip(self.losses("cpu"), self.losses("gpu")))
                    self.assertEqual(len(pairs), 60)
                    self.assertLess(max(abs(g / c - 1) for c, g in pairs), tolerance)
                    for name in ("cpu", "gpu"):
                        shutil.rmtree(self.folder / "outputs" / name)

    def test_what_a_gpu_reports(self):
        done = self.train("told", "--profile", "2", "precision=bf16")
        self.assertIn("profile of 2 steps", done.stderr)
        self.assertIn("attention", done.stderr)
        last = self.metrics("told")[-1]
        self.assertGreater(last["device_memory_bytes"], last["peak_memory_bytes"])
        plan = json.loads((self.folder / "outputs" / "told" / "plan.json").read_text())
        self.assertLess(abs(last["device_memory_bytes"] / plan["total_bytes"] - 1), 0.05)

    def test_a_worker_that_does_something_else_ends_with_79(self):
        found = "0 launches of fused attention in a step, 2 were planned"
        ended = self.run_trainx("--worker", test_worker("math-worker"), "train", QUICKSTART, "run.name=refused", *FAST, "precision=bf16", expect=79)
        self.assertIn(found, ended.stderr)
        self.assertIn("--allow-degraded", ended.stderr)
        self.assertEqual(self.status("refused")["exit_code"], 79)
        went_on = self.run_trainx("--worker", test_worker("math-worker"), "train", QUICKSTART, "run.name=allowed", *FAST, "precision=bf16", "--allow-degraded")
        self.assertIn(found, went_on.stderr)
        self.assertEqual(len(self.losses("allowed")), 60)
        self.assertLess(self.losses("allowed")[-1], self.losses("allowed")[0])

    def test_attention_by_each_kind(self):
        """Each kind, replayed and launched one by one, gives what auto gives; what they take is what was planned."""
        for precision, tolerance, kinds in (("bf16", 1e-2, ("cudnn", "flash", "efficient", "math")), ("fp16", 2e-3, ("cudnn", "flash", "efficient", "math")),
                                            ("fp32", 1e-5, ("efficient", "math")), ("tf32", 2e-3, ("efficient", "math"))):
            self.train(f"auto-{precision}", f"precision={precision}")
            for kind in kinds:
                with self.subTest(precision=precision, kind=kind):
                    name = f"{kind}-{precision}"
                    self.train(name, f"precision={precision}", f"model.attention={kind}", "memory.activation_checkpoint=" + ("full" if precision == "bf16" else "none"))
                    pairs = list(zip(self.losses(f"auto-{precision}"), self.losses(name)))
                    self.assertEqual(len(pairs), 60)
                    worst = max(abs(b / a - 1) for a, b in pairs[:10])
                    print(f"  {name}: largest relative difference of losses {worst:.1e}")
                    self.assertLess(worst, tolerance)
                    plan = json.loads((self.folder / "outputs" / name / "plan.json").read_text())
                    self.assertTrue(plan["attention"].startswith(kind))
                    last = self.metrics(name)[-1]
                    print(f"  {name}: {last['device_memory_bytes']} bytes, planned {plan['total_bytes']}")
                    self.assertLess(abs(last["device_memory_bytes"] / plan["total_bytes"] - 1), 0.04, name)

    def test_attention_by_each_kind_with_the_same_bits(self):
        for kind in ("cudnn", "flash", "efficient", "math"):
            fixed = ("precision=bf16", "run.deterministic=true", f"model.attention={kind}")
            self.train(f"{kind}-once", *fixed)
            for name, more in (("twice", ()), ("eager", ("run.execution=eager",)), ("recomputed", ("memory.activation_checkpoint=full",))):
                with self.subTest(kind=kind, name=name):
                    self.train(f"{kind}-{name}", *fixed, *more)
                    self.assertEqual(self.weights(f"{kind}-{name}"), self.weights(f"{kind}-once"))

    def test_attention_that_a_gpu_cannot_compute_is_refused(self):
        self.assertIn("model.attention: flash", self.train("flash", "precision=fp32", "model.attention=flash", expect=78).stderr)
        self.assertIn("model.attention: cudnn", self.train("heads", "precision=bf16", "model.attention=cudnn", "model.options.hidden_size=24", expect=78).stderr)

    def test_a_worker_whose_attention_is_another_than_asked_ends_with_79(self):
        ended = self.run_trainx("--worker", test_worker("math-worker"), "train", QUICKSTART, "run.name=refused-cudnn", *FAST, "precision=bf16", "model.attention=cudnn", expect=79)
        self.assertRegex(ended.stderr, r"\b0 launches\b.*\b2 were planned \(model.attention: cudnn\)")

    def test_a_kernel_that_fails(self):
        """The run is told how to find out which instruction it was, and that way does."""
        command = ("--worker", test_worker("failing-worker"), "train", QUICKSTART, *FAST, "precision=bf16", "--allow-degraded")
        told = self.run_trainx(*command, "run.name=replayed", expect=69).stderr
        self.assertRegex(told, r"\b(step 2|steps [12] to \d)\b")
        self.assertRegex(told, r"CUDA_LAUNCH_BLOCKING=1\b.*\brun.execution=eager")
        told = self.run_trainx(*command, "run.name=one-by-one", "run.execution=eager", env=self.environment(CUDA_LAUNCH_BLOCKING="1"), expect=69).stderr
        self.assertRegex(told, r"illegal.*\(in .*backward.*attention")

    def test_refusals(self):
        none = self.environment(CUDA_VISIBLE_DEVICES="")
        self.assertIn("run.device", self.train("none", "run.device=gpu", env=none, expect=69).stderr)
        self.train("cpu-instead", env=none)
        huge = self.run_trainx("train", QUICKSTART, "model.options.num_layers=12", "model.options.hidden_size=4096", "model.options.num_heads=32", "batch.global_batch_size=4096",
                               "batch.micro_batch_size=4096", "run.device=gpu", expect=71)
        self.assertIn("would fit", huge.stderr)


if __name__ == "__main__":
    main()
