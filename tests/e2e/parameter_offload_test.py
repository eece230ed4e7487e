"""Weights on the host: no loss and no byte of a checkpoint changes, alone, in ddp and zero3 and with every other method; memory goes where the plan says."""
import json

from offloading import Offloading
from support import main

AWAY = "memory.parameter_offload=cpu"
OPTIMIZER = "memory.optimizer_offload=cpu"


class ParameterOffload(Offloading):
    layers = 4

    def test_no_loss_and_no_byte_of_a_checkpoint_changes(self):
        cases = {"fp32": ["precision=fp32"], "bf16": ["precision=bf16"], "master": ["precision={compute: bf16, master: fp32}"], "alone": ["precision={compute: bf16, master: none, rounding: stochastic}"],
                 "fp16": ["precision=fp16"], "sgd": ["optimizer={type: sgd, lr: 0.1}"], "lamb": ["optimizer.type=lamb"], "8bit": ["optimizer={type: adamw_8bit, lr: 3e-3, options: {min_8bit_size: 1024}}", "precision=bf16"]}
        for micro in (12, 4):
            self.write(micro=micro)
            for case, settings in cases.items():
                with self.subTest(case=case, micro=micro):
                    name = f"{case}{micro}"
                    self.train(name, *settings)
                    self.train(name + "-w", AWAY, *settings)
                    self.assert_same(name + "-w", name)

    def test_it_goes_together_with_the_other_methods(self):
        self.write(micro=4)
        self.train("plain")
        for number, settings in enumerate(([OPTIMIZER], ["memory.activation_checkpoint=full"], ["memory={activation_checkpoint: selective, activation_offload: cpu, optimizer_offload: cpu}"],
                                           ["checkpoint.asynchronous=true"], ["memory.activation_checkpoint=full", "memory.checkpoint_segment=2"])):
            self.train(f"with{number}", *settings, AWAY)
            self.assert_same(f"with{number}", "plain")
        self.write(micro=12)
        in_backward = ["optimizer.max_grad_norm=0", "optimizer.update_in_backward=true"]
        self.train("backward", *in_backward)
        for name, more in (("backward-w", []), ("backward-o", [OPTIMIZER])):
            self.train(name, AWAY, *more, *in_backward)
            self.assert_same(name, "backward")

    def test_every_rank_has_its_own_on_its_host(self):
        for world, micro, precision in ((2, 3, "bf16"), (3, 4, "fp32")):
            self.write(micro=micro)
            for mode in ("ddp", "zero3"):
                for more in ([], [OPTIMIZER]):
                    with self.subTest(mode=mode, world=world, more=more):
                        cut = [f"parallel={{mode: {mode}, world_size: {world}}}", f"precision={precision}", *more]
                        name = f"{mode}-{world}{'-o' if more else ''}"
                        self.train(name, *cut)
                        self.train(name + "-w", AWAY, *cut)
                        self.assert_same(name + "-w", name)

    def test_a_run_goes_on_with_weights_elsewhere_and_evaluates_in_another_precision(self):
        self.write()
        self.train("whole", "eval.precision=bf16")
        for name, first, second in (("out", [], [AWAY]), ("back", [AWAY], []), ("moved", [AWAY], [AWAY, OPTIMIZER])):
            self.train(name, "eval.precision=bf16", *first, "run.duration=3 steps")
            self.train(name, "eval.precision=bf16", *second)
            self.assert_same(name, "whole")

    def test_a_model_leaves_by_eval_and_export(self):
        self.write()
        self.train("plain", "precision=bf16")
        self.train("host", "precision=bf16", AWAY)
        evals = [json.loads(self.run_trainx("eval", f"outputs/{name}", "--json").stdout)["eval_loss"] for name in ("plain", "host")]
        self.assertEqual(evals[0], evals[1])
        for name in ("plain", "host"):
            self.run_trainx("export", f"outputs/{name}", name)
        self.assertEqual((self.folder / "plain" / "model.safetensors").read_bytes(), (self.folder / "host" / "model.safetensors").read_bytes())

    def test_the_plan_says_what_leaves_the_device_and_what_a_step_copies(self):
        self.write()
        wide = ["model.options.hidden_size=256", "model.options.num_layers=12", "precision=bf16", "data.sequence_length=8", "batch={global_batch_size: 1, micro_batch_size: 1}"]
        plain, host, both = (self.plan(*wide, *more, "--gpu", "h200") for more in ([], [AWAY], [AWAY, OPTIMIZER]))
        parameters = plain["parameters"]
        on_host = {c["category"]: c["bytes"] for c in host["on_host"]}
        self.assertLess(abs(on_host["weights on the host"] / (2 * parameters) - 1), 0.05)
        self.assertEqual(sum(on_host.values()), host["host_bytes"])
        freed = plain["arena_bytes"] - host["arena_bytes"]
        self.assertGreater(freed, parameters)                       # of 2 bytes a parameter all but a few blocks'
        self.assertLess(freed, 2 * parameters)
        copies = host["parameter_copies"]
        self.assertLess(abs(copies["out"] / (2 * parameters) - 1), 0.05)
        self.assertGreater(copies["in"], 2 * copies["out"])         # for forward, backward and the update
        self.assertEqual(both["parameter_copies"]["out"], 0)
        self.assertEqual(both["optimizer_copies"]["weights_back"], 0)
        self.assertLess(abs({c["category"]: c["bytes"] for c in both["on_host"]}["weights on the host"] / (2 * parameters) - 1), 0.05)   # the updates' own are all that there is
        text = self.run_trainx("plan", "r.yaml", *wide, AWAY, "--gpu", "h200").stdout
        for said in ("parameter offload", "offloaded weights", "a block ahead of its use", "weights from the host"):
            self.assertIn(said, text)

    def test_measured_memory_is_what_the_plan_says(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        for more in ([], [OPTIMIZER]):
            peaks = {}
            for name, settings in (("plain", wide), ("host", [*wide, AWAY, *more])):
                name += "-o" if more else ""
                self.train(name, *settings)
                peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)), self.plan(*settings))
            (plain, plain_plan), (host, host_plan) = peaks.values()
            planned = sum(plan[key] * sign for sign, plan in ((1, host_plan), (-1, plain_plan)) for key in ("arena_bytes", "host_bytes"))
            print(f"  {more}: moved {host - plain}, planned {planned}, of {plain}")
            self.assertLess(abs(host - plain - planned), 0.02 * plain)

    def test_modes_that_hold_all_weights_for_a_step_refuse_it_in_a_sentence(self):
        self.write()
        for mode in ("dp", "zero1", "zero2"):
            done = self.run_trainx("validate", "r.yaml", AWAY, f"parallel={{mode: {mode}, world_size: 2}}", expect=78)
            self.assertIn(f"memory.parameter_offload: frees nothing with parallel.mode: {mode}, which has all weights on the GPU for the whole step: write zero3 or ddp", done.stderr)
        done = self.run_trainx("validate", "r.yaml", "memory.parameter_offload=disk", expect=78)
        self.assertIn("memory.parameter_offload", done.stderr)
        done = self.run_trainx("validate", "r.yaml", "memory.offload_param=cpu", expect=78)
        self.assertIn("memory.parameter_offload", done.stderr)

    def test_a_gradient_that_is_not_finite_changes_nothing_on_the_host(self):
        self.write(steps=8)
        spoiled = ["precision={compute: fp16, initial_loss_scale: 1e30}", "checkpoint.every=1 steps"]
        self.train("plain", *spoiled)
        self.train("host", *spoiled, AWAY)
        self.assert_same("host", "plain")
        self.assertEqual(self.saved("host", "checkpoint-1"), self.saved("plain", "checkpoint-1"))


if __name__ == "__main__":
    main()
