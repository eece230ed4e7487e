"""Modules of one's own on a GPU: the losses of a CPU, the same bits captured and launched one by
one, memory as planned, and sentences for what a CUDA graph or the plan cannot hold."""

from gpu_checks import in_parts, needs_gpus, part_of
from own_modules import MODELS, OwnModules
from support import main, sha256

# Of losses: rounding grows with every update, so that ten steps are compared.
COMPARED = 10
RECOMPUTED = "memory.activation_checkpoint=full"
# Enough blocks that activations stay long enough to be copied.
DEEPER = {"pairs": (), "mixer": ("model.options.depth=4",),
          "own_gpt2": ("model.options.num_layers=4",)}
CUTS = ((), ("batch.micro_batch_size=4",), ("batch.micro_batch_size=8", RECOMPUTED))


@needs_gpus(1)
class OwnModulesOnGpu(OwnModules):
    on_gpu = True

    def train_on(self, device, model, name, *settings):
        return self.train(model, name, f"run.device={device}", "parallel.world_size=1", *settings)

    def bits(self, name):
        return sha256(self.weights(name))

    @in_parts(3)
    def test_the_losses_of_the_cpu(self):
        for model in part_of(MODELS):
            how = ("model.options.dropout=0.2",) if model != "mixer" else ()
            for k, cut in enumerate(CUTS):
                with self.subTest(model=model, cut=cut):
                    cpu, gpu = f"{model}-cpu{k}", f"{model}-gpu{k}"
                    want = self.train_on("cpu", model, cpu, *how, *cut)
                    got = self.train_on("gpu", model, gpu, *how, *cut)
                    self.assertIn("run.execution=graph", self.said)
                    self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5, gpu)
                    a, b = self.evaluation(gpu), self.evaluation(cpu)
                    self.assert_close([a["eval_loss"]], [b["eval_loss"]], 1e-3, gpu)
                    self.assertEqual(a["eval_targets"], b["eval_targets"])
                    if model == "pairs":
                        self.assert_close([a["eval_signs"]], [b["eval_signs"]], 0.1, gpu)

    def test_bf16_fp16_and_tf32(self):
        for model in MODELS:
            want = self.train_on("cpu", model, f"{model}-fp32")
            # a scale that skips no step
            for precision, tolerance, *scale in (
                    ("bf16", 4e-2), ("tf32", 1e-2),
                    ("fp16", 4e-2, "precision.initial_loss_scale=128")):
                with self.subTest(model=model, precision=precision):
                    for name, cut in (("whole", ()), ("cut", CUTS[2])):
                        got = self.train_on("gpu", model, f"{model}-{precision}-{name}",
                                            f"precision.compute={precision}", *scale, *cut)
                        self.assert_close(got[:COMPARED], want[:COMPARED], tolerance, precision)
                        self.assertNotEqual(got, want)

    def test_evaluation_in_another_type(self):
        self.train_on("gpu", "own_gpt2", "exact")
        self.train_on("gpu", "own_gpt2", "low", "eval.precision=bf16")
        low, exact = (self.evaluation(name)["eval_loss"] for name in ("low", "exact"))
        self.assert_close([low], [exact], 2e-2)
        self.assertNotEqual(low, exact)

    @in_parts(3)
    def test_passes_and_captured_steps_change_no_bit(self):
        for model in part_of(MODELS):
            how = ("batch.micro_batch_size=4", "optimizer.max_grad_norm=0", "precision=bf16",
                   *DEEPER[model],
                   *(("model.options.dropout=0.2",) if model != "mixer" else ()))
            want = self.train_on("gpu", model, f"{model}-captured", *how)
            for name, *more in (
                    ("twice",),
                    ("eager", "run.execution=eager"),
                    ("recomputed", RECOMPUTED),
                    ("selective", "memory.activation_checkpoint=selective"),
                    ("states", "memory.optimizer_offload=cpu"),
                    ("weights", "memory.parameter_offload=cpu"),
                    ("activations", RECOMPUTED, "memory.activation_offload=cpu")):
                with self.subTest(model=model, name=name):
                    if name == "activations" and model == "pairs":
                        continue        # so few blocks leave nothing to copy
                    if name == "selective" and model != "pairs":
                        continue        # the others name no module cheap
                    got = self.train_on("gpu", model, f"{model}-{name}", *how, *more)
                    if name == "states":                        # whose updates a CPU makes
                        self.assert_close(got, want, 1e-2)
                        continue
                    self.assertEqual(got, want)
                    self.assertEqual(self.bits(f"{model}-{name}"), self.bits(f"{model}-captured"))

    def test_updates_in_backward(self):
        for model in MODELS:
            free = ("optimizer.max_grad_norm=0",)
            want = self.train_on("gpu", model, f"{model}-late", *free)
            got = self.train_on("gpu", model, f"{model}-early", *free,
                                "optimizer.update_in_backward=true")
            self.assertEqual(got, want)

    def test_a_resumed_run_is_the_run(self):
        how = ("model.options.batch_norm=true", "model.options.dropout=0.2",
               "batch.micro_batch_size=8")
        whole = self.train_on("gpu", "pairs", "whole", *how)
        self.ask("train", "pairs", "run.device=gpu", "run.name=parts", "run.duration=6 steps", *how)
        self.assertEqual(self.train_on("gpu", "pairs", "parts", *how), whole)
        self.assertEqual(self.bits("parts"), self.bits("whole"))
        buffers = [self.weights(n).parent / "buffers.safetensors" for n in ("parts", "whole")]
        self.assertEqual(*map(sha256, buffers))
        on_cpu = self.train_on("cpu", "pairs", "cpu", *how)
        self.assert_close(whole[:COMPARED], on_cpu[:COMPARED], 1e-5)

    def test_memory_is_what_was_planned(self):
        for model in MODELS:
            for name, *how in (("fp32",), ("bf16", "precision=bf16"), ("cut", *CUTS[2])):
                with self.subTest(model=model, name=name):
                    settings = ("run.device=gpu", *how)
                    plan = self.plan(model, *settings)
                    self.train(model, f"{model}-{name}", *settings)
                    last = self.metrics(f"{model}-{name}")[-1]
                    # beside both lie reports, batches and tables
                    taken = plan["arena_bytes"] + plan["library_bytes"] + (4 << 20)
                    self.assertLessEqual(last["peak_memory_bytes"], taken)
                    print(f"  {model}-{name}: {last['device_memory_bytes']} bytes, planned "
                          f"{plan['total_bytes']}")
                    self.assertLess(last["device_memory_bytes"], 1.25 * plan["total_bytes"])

    def test_steps_are_predicted_by_what_was_measured(self):
        for model in MODELS:
            for name, *how in (("captured",), ("eager", "run.execution=eager"), ("cut", *CUTS[2])):
                with self.subTest(model=model, name=name):
                    settings = ("run.device=gpu", "parallel.world_size=1", *how)
                    time = self.plan(model, *settings)["time"]
                    self.assertGreater(time["measured_ms"], 0)
                    self.assertGreaterEqual(time["step_ms"], time["measured_ms"])
                    self.train(model, f"{model}-{name}", *settings)
                    steps = sorted(m["step_time_ms"] for m in self.metrics(f"{model}-{name}"))
                    print(
                        f"  {model}-{name}: {steps[len(steps) // 2]:.2f} ms a step, predicted "
                        f"{time['step_ms']:.2f}, of which {time['measured_ms']:.2f} were measured")

    def test_what_a_graph_cannot_hold_is_launched_one_by_one(self):
        how = ("model.options.nonzero=true",)
        want = self.train_on("cpu", "pairs", "cpu", *how)
        got = self.train_on("gpu", "pairs", "gpu", *how)
        self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5)
        self.assertRegex(self.said, r"run\.execution.*'join'.*aten::nonzero")
        asked = ("run.device=gpu", "run.execution=graph", *how)
        refused = self.ask("train", "pairs", "run.name=refused", *asked, expect=78).stderr
        self.assertRegex(" ".join(refused.split()), r"run\.execution.*'join'.*aten::nonzero")

    def test_numbers_of_the_librarys_generator(self):
        how = ("model.options.torch_dropout=0.3", "batch.micro_batch_size=8")
        plain = self.train_on("gpu", "pairs", "plain", *how)
        self.assertRegex(self.said, r"run\.execution.*'join' draws from LibTorch")
        self.assertEqual(self.train_on("gpu", "pairs", "recomputed", *how, RECOMPUTED), plain)
        self.assertNotEqual(self.train_on("gpu", "pairs", "none", how[1]), plain)

    def test_a_module_that_grows_is_refused_by_name(self):
        said = self.ask("train", "pairs", "run.device=gpu", "parallel.world_size=1",
                        "run.execution=eager", "model.options.grows=4", expect=71).stderr
        self.assertIn("'join'", said)

    @needs_gpus(2)
    def test_worlds_compute_the_same(self):
        for model in MODELS:
            cut = ("batch.micro_batch_size=4",)
            want = self.train_on("gpu", model, f"{model}-one", *cut)
            for mode, *more in (("ddp",), ("dp",), ("zero1",), ("zero2",), ("zero3",),
                                ("zero3", RECOMPUTED)):
                with self.subTest(model=model, mode=mode, more=more):
                    got = self.train_on("gpu", model, f"{model}-{mode}-{len(more)}", *cut, *more,
                                        f"parallel.mode={mode}", "parallel.world_size=2")
                    self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5, mode)


if __name__ == "__main__":
    main()
