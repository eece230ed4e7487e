"""Models of transformers that scripts/trainx-export wrote, on a GPU: the losses of transformers on
a
CPU, the same bits captured and launched one by one, whatever is recomputed, copied away or resumed,
memory as planned, and the operator that a CUDA graph cannot hold by its name."""
import hashlib
import json
import shutil
import tempfile
import unittest

import reference
from exported_models import NEEDS_REFERENCE, TRAINED, ExportedModels
from gpu_checks import in_parts, needs_gpus, part_of
from support import main, sha256

ON_GPU = ("run.device=gpu", "parallel.world_size=1")
RECOMPUTED = "memory.activation_checkpoint=full"
CUTS = (("cut", "batch.micro_batch_size=2"),
        ("recomputed", "batch.micro_batch_size=4", RECOMPUTED))
# What families do that GPT-2 does not: rotary positions and groups of heads; one projection for all
# heads; masks of a window; padded rows; two texts; targets that wrap; numbers without dims.
CASES = ("gpt2", "llama", "falcon", "gpt_neo", "bert", "t5", "mbart", "apertus")


@needs_gpus(1)
@unittest.skipUnless(reference.PYTHON, NEEDS_REFERENCE)
class ExportedOnGpu(ExportedModels):
    on_gpu = True

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="trainx-cache-")
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def environment(self, **more):
        return super().environment(XDG_CACHE_HOME=self.cache, **more)

    def make(self, case, *words):
        for name in ("model", "out"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return super().make(case, *words)

    def on(self, recipe, name, *settings):
        return self.train(recipe, name, *ON_GPU, *settings)

    @in_parts(4)
    def test_the_losses_of_transformers(self):
        for case in part_of(CASES):
            with self.subTest(case=case):
                recipe = self.make(case, "fp32")
                trained = f"{case}-trained"
                want = self.reference("train", "model", self.task, self.data, trained)["losses"]
                self.check_losses(self.on(recipe, case), want)
                self.assertIn("run.execution=graph", self.said)
                self.check_folder(trained, f"outputs/{case}/latest", TRAINED)
                self.check_evaluation(case)
                for name, *how in CUTS:
                    self.check_losses(self.on(recipe, f"{case}-{name}", *how), want)

    def test_dropout_is_that_of_the_cpu(self):
        recipe = self.make("gpt2_dropout", "fp32")
        want = self.train(recipe, "cpu")
        plain = self.train(recipe, "plain", "run.seed=9")
        self.assertNotEqual(plain, want)
        for name, *how in (("whole",), *CUTS):
            with self.subTest(name):
                self.check_losses(self.on(recipe, name, *how), want)
                self.assertIn("run.execution=graph", self.said)

    def test_bf16_fp16_and_tf32(self):
        recipe = self.make("llama", "fp16")
        want = self.train(recipe, "fp32")
        # a scale that skips no step
        for precision, tolerance, *scale in (
                ("bf16", 4e-2), ("tf32", 1e-2),
                ("fp16", 4e-2, "precision.initial_loss_scale=128")):
            for name, *cut in (("whole",), *CUTS):
                with self.subTest(precision=precision, name=name):
                    got = self.on(recipe, f"{precision}-{name}", f"precision.compute={precision}",
                                  *scale, *cut)
                    self.check_losses(got, want, tolerance)
                    self.assertNotEqual(got, want)

    def test_evaluation_in_another_type(self):
        recipe = self.make("llama")
        losses = []
        for precision in ("fp32", "bf16"):
            self.on(recipe, precision, f"data.eval={self.held_out}", "eval.every=5 steps",
                    *(() if precision == "fp32" else ("eval.precision=bf16",)))
            lines = (self.folder / "outputs" / precision / "metrics.jsonl").read_text()
            losses += [m["eval_loss"] for m in map(json.loads, lines.splitlines())
                       if "eval_loss" in m][-1:]
        self.check_losses(losses[1:], losses[:1], 2e-2)
        self.assertNotEqual(*losses)

    @in_parts(3)
    def test_passes_and_captured_steps_change_no_bit(self):
        for case in part_of(("gpt2_dropout", "llama", "t5")):
            recipe = self.make(case)
            how = ("batch.micro_batch_size=4", "optimizer.max_grad_norm=0", "precision=bf16",
                   "run.deterministic=true")
            want = self.on(recipe, f"{case}-captured", *how)
            for name, *more in (
                    ("twice",),
                    ("eager", "run.execution=eager"),
                    ("recomputed", RECOMPUTED),
                    ("states", "memory.optimizer_offload=cpu"),
                    ("weights", "memory.parameter_offload=cpu"),
                    ("activations", RECOMPUTED, "memory.activation_offload=cpu")):
                with self.subTest(case=case, name=name):
                    got = self.on(recipe, f"{case}-{name}", *how, *more)
                    if name == "states":                        # whose updates a CPU makes
                        self.check_losses(got, want, 1e-2)
                        continue
                    self.assertEqual(got, want)
                    self.assertEqual(sha256(self.weights(f"{case}-{name}")),
                                     sha256(self.weights(f"{case}-captured")))
            free = (*how, "batch.micro_batch_size=8")
            late = self.on(recipe, f"{case}-late", *free)
            self.assertEqual(self.on(recipe, f"{case}-early", *free,
                                     "optimizer.update_in_backward=true"), late)

    def test_a_resumed_run_is_the_run(self):
        recipe = self.make("gpt2_dropout")
        how = ("run.deterministic=true", "precision=bf16", "batch.micro_batch_size=4")
        want = self.on(recipe, "whole", *how)
        self.on(recipe, "parts", *how, "run.duration=2 steps")
        shutil.move(self.folder / "out", self.folder / "elsewhere")     # the checkpoint is enough
        self.on(recipe, "parts", *how)
        self.assertEqual([m["loss"] for m in self.metrics("parts")], want)
        self.assertEqual(sha256(self.weights("parts")), sha256(self.weights("whole")))

    def test_memory_is_what_was_planned(self):
        for case in ("gpt2", "t5"):
            recipe = self.make(case)
            for name, *how in (("fp32",), ("bf16", "precision=bf16"), CUTS[1]):
                with self.subTest(case=case, name=name):
                    run = f"{case}-{name}"
                    plan = json.loads(self.run_trainx("plan", recipe, *ON_GPU, *how,
                                                      "--json").stdout)
                    self.on(recipe, run, *how)
                    last = self.metrics(run)[-1]
                    # beside both lie reports, batches and tables
                    taken = plan["arena_bytes"] + plan["library_bytes"] + (4 << 20)
                    self.assertLessEqual(last["peak_memory_bytes"], taken)
                    print(f"  {run}: {last['device_memory_bytes']} bytes, planned "
                          f"{plan['total_bytes']}")
                    self.assertLess(last["device_memory_bytes"], 1.25 * plan["total_bytes"])

    def test_an_operator_that_a_graph_cannot_hold_is_named(self):
        recipe = self.make("gpt2", "fp32")
        want = self.train(recipe, "cpu")
        self.add_count()
        self.check_losses(self.on(recipe, "gpu"), want)
        self.assertRegex(self.said, r"run\.execution.*'embeddings'.*aten::")
        refused = self.run_trainx("train", recipe, "run.name=refused", *ON_GPU,
                                  "run.execution=graph", expect=78).stderr
        self.assertRegex(" ".join(refused.split()), r"run\.execution.*'embeddings'.*aten::")

    def add_count(self):
        """To what the first module makes 0 times the sum of a tensor whose size depends on its
        numbers."""
        graph, config = self.folder / "out/graph.json", self.folder / "out/config.json"
        said = json.loads(graph.read_text())
        module = said["graphs"]["f32"]["modules"][0]
        at = module["nodes"][-1]["out"][-1] + 1
        module["nodes"] += [
            {"op": op, "overload": overload, "args": args, "out": [at + k]}
            for k, (op, overload, args) in enumerate((
                ("aten::reshape", "default", [{"value": 0}, [-1]]),
                ("aten::bincount", "default", [{"value": at}]),
                ("aten::sum", "default", [{"value": at + 1}]),
                ("aten::mul", "Tensor", [{"value": at + 2}, 0]),
                ("aten::add", "Tensor", [{"value": module["results"][0]}, {"value": at + 3}])))]
        module["results"] = [at + 4]
        for node in module["nodes"][-5:]:
            if node["overload"] == "default":
                del node["overload"]
        graph.write_text(json.dumps(said))
        said = json.loads(config.read_text())
        said["trainx_export"]["sha256"]["graph.json"] = hashlib.sha256(
            graph.read_bytes()).hexdigest()
        config.write_text(json.dumps(said))
        (self.folder / "out/export.json").unlink()

    @needs_gpus(2)
    def test_worlds_compute_the_same(self):
        for case in ("gpt2", "t5"):
            recipe = self.make(case, "fp32")
            cut = ("batch.micro_batch_size=4",)
            want = self.on(recipe, f"{case}-one", *cut)
            for mode, *more in (("ddp",), ("dp",), ("zero1",), ("zero2",), ("zero3",),
                                ("zero3", RECOMPUTED)):
                with self.subTest(case=case, mode=mode, more=more):
                    got = self.train(recipe, f"{case}-{mode}-{len(more)}", "run.device=gpu", *cut,
                                     *more, f"parallel.mode={mode}", "parallel.world_size=2")
                    self.check_losses(got, want)


if __name__ == "__main__":
    main()
