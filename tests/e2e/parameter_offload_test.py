"""Weights on the host, or on a disk: no loss and no byte of a checkpoint changes, alone, in ddp and zero3 and with every other method; memory goes where the plan says."""
import json
import re

from offloading import Offloading
from support import main, sampled

AWAY = "memory.parameter_offload=cpu"
DISK = "memory.parameter_offload=disk"
OPTIMIZER = "memory.optimizer_offload=cpu"
BOTH_ON_DISK = [DISK, "memory.optimizer_offload=disk"]


class ParameterOffload(Offloading):
    layers = 4

    @sampled
    def test_no_loss_and_no_byte_of_a_checkpoint_changes(self):
        cases = {"fp32": ["precision=fp32"], "bf16": ["precision=bf16"], "master": ["precision={compute: bf16, master: fp32}"], "alone": ["precision={compute: bf16, master: none, rounding: stochastic}"],
                 "fp16": ["precision=fp16"], "sgd": ["optimizer={type: sgd, lr: 0.1}"], "lamb": ["optimizer.type=lamb"], "8bit": ["optimizer={type: adamw_8bit, lr: 3e-3, options: {min_8bit_size: 1024}}", "precision=bf16"]}
        for micro in (12, 4):
            self.write(micro=micro)
            for case, settings in self.drawn(cases.items(), 2):
                with self.subTest(case=case, micro=micro):
                    name = f"{case}{micro}"
                    self.train(name, *settings)
                    self.train(name + "-w", AWAY, *settings)
                    self.assert_same(name + "-w", name)
                    self.train(name + "-d", DISK, f"memory.optimizer_offload.read_ahead={self.random.choice([1, 2, 64])}", *settings)
                    self.assert_same(name + "-d", name)

    def test_it_goes_together_with_the_other_methods(self):
        self.write(micro=4)
        self.train("plain")
        for number, settings in enumerate(([OPTIMIZER], ["memory.activation_checkpoint=full"], ["memory={activation_checkpoint: selective, activation_offload: cpu, optimizer_offload: cpu}"],
                                           ["checkpoint.asynchronous=true"], ["memory.activation_checkpoint=full", "memory.recompute_segment=2"])):
            for name, weights in ((f"with{number}", AWAY), (f"disk{number}", DISK)):
                if weights == DISK and "checkpoint.asynchronous=true" in settings:
                    continue
                self.train(name, *settings, weights)
                self.assert_same(name, "plain")
        self.write(micro=12)
        in_backward = ["optimizer.max_grad_norm=0", "optimizer.update_in_backward=true"]
        self.train("backward", *in_backward)
        for name, settings in (("backward-w", [AWAY]), ("backward-o", [AWAY, OPTIMIZER]), ("backward-d", [DISK]), ("backward-b", BOTH_ON_DISK)):
            self.train(name, *settings, *in_backward)
            self.assert_same(name, "backward")

    @sampled
    def test_it_goes_together_with_an_optimizer_wherever_that_is(self):
        self.write(micro=4)
        wide = ["model.options.hidden_size=128"]         # so that memory between neighbouring splits tells
        for precision in ("fp32", "bf16"):
            self.train(f"plain-{precision}", *wide, f"precision={precision}")
            for weights in ("cpu", "disk"):
                away = f"memory.parameter_offload={weights}"
                low, high = (self.plan(away, *wide, f"precision={precision}", f"memory.optimizer_offload={where}")["total_bytes"] for where in ("disk", "cpu"))
                split = f"{{where: cpu+disk, host_budget: {(low + high) // 2} B}}"
                for number, optimizer in self.drawn(enumerate(("cpu", "disk", split, "{where: cpu, share: 0.5}", "{where: disk, share: 0.5, read_ahead: 1}"))):
                    with self.subTest(precision=precision, weights=weights, optimizer=optimizer):
                        settings = [away, f"memory.optimizer_offload={optimizer}", *wide, f"precision={precision}"]
                        if optimizer == split:
                            groups = self.plan(*settings)["optimizer_groups"]
                            self.assertTrue(0 < groups["on_disk"] < groups["all"], groups)
                        name = f"{precision}-{weights}-{number}"
                        self.train(name, *settings)
                        self.assert_same(name, f"plain-{precision}")

    @sampled
    def test_every_rank_has_its_own_on_its_host(self):
        for world, micro, precision in self.drawn(((2, 3, "bf16"), (3, 4, "fp32"), (4, 3, "bf16"))):
            self.write(micro=micro)
            for mode in ("ddp", "zero3"):
                for number, more in enumerate(([], [OPTIMIZER])):
                    with self.subTest(mode=mode, world=world, more=more):
                        groups = ", shard_ranks: 2" if mode == "zero3" and world == 4 else ""
                        cut = [f"parallel={{mode: {mode}, world_size: {world}{groups}}}", f"precision={precision}", *more]
                        name = f"{mode}-{world}-{number}"
                        self.train(name, *cut)
                        for where, weights in (("w", [AWAY]), ("d", [DISK]), ("b", BOTH_ON_DISK), ("s", [AWAY, "memory.optimizer_offload={where: disk, share: 0.4}"]))[: 2 if number == 0 else 4]:
                            self.train(f"{name}-{where}", *cut, *weights)
                            self.assert_same(f"{name}-{where}", name)

    @sampled
    def test_a_run_goes_on_with_weights_elsewhere_and_evaluates_in_another_precision(self):
        self.write()
        self.train("whole", "eval.precision=bf16")
        for name, first, second in self.drawn((("out", [], [AWAY]), ("back", [AWAY], []), ("moved", [AWAY], [AWAY, OPTIMIZER]), ("to-disk", [AWAY], [DISK]), ("from-disk", BOTH_ON_DISK, []), ("within", [DISK], BOTH_ON_DISK)), 3):
            self.train(name, "eval.precision=bf16", *first, "run.duration=3 steps")
            self.train(name, "eval.precision=bf16", *second)
            self.assert_same(name, "whole")

    def test_a_run_goes_on_in_another_world_with_weights_on_the_disk(self):
        self.write(micro=3)
        cut = ["precision=bf16", "run.deterministic=false"]
        ends = {}
        for away, weights in (("plain", []), ("disk", BOTH_ON_DISK)):
            name = f"grows-{away}"
            self.train(name, *cut, *weights, "run.duration=2 steps")
            self.train(name, *cut, *weights, "parallel={mode: zero3, world_size: 2}", "run.duration=4 steps")
            self.train(name, *cut, *weights, "parallel={mode: ddp, world_size: 2}")
            ends[away] = self.saved(name)
        self.assertEqual(ends["plain"], ends["disk"])

    def test_a_model_that_begins_with_another_s_weights_has_them_on_the_disk(self):
        self.write()
        self.train("first", "precision=bf16")
        for name, weights in (("begun", []), ("begun-d", BOTH_ON_DISK), ("begun-w", [DISK])):
            done = self.train(name, "precision=bf16", "model.init_from=outputs/first/latest", *weights)
            self.assertEqual(len(re.findall(r"\bon the disk: ", done.stderr)), len(weights) > 0, done.stderr)
        self.assert_same("begun-d", "begun")

    def test_a_model_leaves_by_eval_and_export(self):
        self.write()
        self.train("plain", "precision=bf16")
        self.train("host", "precision=bf16", AWAY)
        self.train("disk", "precision=bf16", *BOTH_ON_DISK)
        for leaves in (lambda name: json.loads(self.run_trainx("eval", f"outputs/{name}", "--json").stdout)["eval_loss"],
                       lambda name: self.run_trainx("export", f"outputs/{name}", name) and (self.folder / name / "model.safetensors").read_bytes(),
                       lambda name: self.run_trainx("generate", f"outputs/{name}", "--prompt", "Once", "--max-tokens", "8", "--seed", "3").stdout):
            plain = leaves("plain")
            for name in ("host", "disk"):
                self.assertEqual(leaves(name), plain, name)

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
        for row in host["on_host"] + host["memory"]:
            if row["bytes"] > 0:
                self.assertIn(row["category"], text)
        self.check_sentence("plan.parameters_on_host", next(line for line in text.splitlines() if "offloaded weights" in line).strip(), "any")
        disk = self.plan(*wide, DISK, "--gpu", "h200")
        self.assertEqual(disk["arena_bytes"], host["arena_bytes"])
        self.assertLess(abs(disk["disk_bytes"] / (2 * parameters) - 1), 0.05)
        self.assertLess(disk["host_bytes"], host["host_bytes"])
        self.assertEqual(disk["parameter_copies"], copies | {"from_disk": copies["in"], "to_disk": copies["out"]})
        text = self.run_trainx("plan", "r.yaml", *wide, DISK, "memory.optimizer_offload.folder=/tmp", "--gpu", "h200").stdout
        for row in disk["on_host"] + disk["memory"]:
            if row["bytes"] > 0:
                self.assertIn(row["category"], text)
        self.assertIn(" /tmp", text)
        self.check_sentence("plan.parameters_on_disk", next(line for line in text.splitlines() if "offloaded weights" in line).strip(), "any")

    def test_measured_memory_is_what_the_plan_says(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        for more in ([AWAY], [AWAY, OPTIMIZER], [DISK], BOTH_ON_DISK):
            peaks = {}
            for name, settings in (("plain", wide), (f"{'-'.join(more)}".replace("memory.", ""), [*wide, *more])):
                self.train(name, *settings)
                peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)), self.plan(*settings))
            (plain, plain_plan), (host, host_plan) = peaks.values()
            planned = sum(plan[key] * sign for sign, plan in ((1, host_plan), (-1, plain_plan)) for key in ("arena_bytes", "host_bytes"))
            print(f"  {more}: moved {host - plain}, planned {planned}, of {plain}")
            self.assertLess(abs(host - plain - planned), 0.02 * plain)

    def test_modes_that_hold_all_weights_for_a_step_refuse_it_in_a_sentence(self):
        self.write()
        for mode in ("dp", "zero1", "zero2"):
            self.refused("validate", "r.yaml", AWAY, f"parallel={{mode: {mode}, world_size: 2}}", key="memory.parameter_offload", names=("parallel.mode", mode), sentence=f"recipe.parameter_offload/{mode}")
        for settings, key, names in ((["memory.parameter_offload=dsik"], "memory.parameter_offload", "'disk'"), ([DISK, "checkpoint.asynchronous=true"], "checkpoint.asynchronous", "memory.parameter_offload"),
                                     ([AWAY, "memory.optimizer_offload.folder=/tmp"], "memory.optimizer_offload.folder", "memory.parameter_offload")):
            self.refused("validate", "r.yaml", *settings, key=key, names=names, sentence=f"recipe.parameter_offload/{settings[-1]}")
        self.refused("validate", "r.yaml", "memory.offload_param=cpu", key="memory.offload_param", names="memory.parameter_offload")

    def test_a_gradient_that_is_not_finite_changes_nothing_on_the_host(self):
        self.write(steps=8)
        spoiled = ["precision={compute: fp16, initial_loss_scale: 1e30}", "checkpoint.every=1 steps"]
        self.train("plain", *spoiled, expect=80)          # no update at all
        for name, weights in (("host", [AWAY]), ("disk", BOTH_ON_DISK)):
            self.train(name, *spoiled, *weights, expect=80)
            self.assert_same(name, "plain")
            self.assertEqual(self.saved(name, "checkpoint-1"), self.saved("plain", "checkpoint-1"))


if __name__ == "__main__":
    main()
