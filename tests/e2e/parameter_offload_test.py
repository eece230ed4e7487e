"""Weights on the host, or on a disk: memory goes where the plan says, and models leave by eval,
export and generate. tests/equality/offload.yaml holds that no loss and no byte of a checkpoint
changes."""
import json
import re

from offloading import Offloading
from support import main

AWAY = "memory.parameter_offload=cpu"
DISK = "memory.parameter_offload=disk"
OPTIMIZER = "memory.optimizer_offload=cpu"
BOTH_ON_DISK = [DISK, "memory.optimizer_offload=disk"]


class ParameterOffload(Offloading):
    layers = 4

    def test_weights_go_with_an_optimizer_that_is_split(self):
        self.write(micro=4)
        wide = ["model.options.hidden_size=128"]  # so that memory between neighbouring splits tells
        away = f"memory.parameter_offload={self.random.choice(('cpu', 'disk'))}"
        low, high = (self.plan(away, *wide, f"memory.optimizer_offload={where}")["total_bytes"]
                     for where in ("disk", "cpu"))
        between = (low + high) // 2
        split = f"memory.optimizer_offload={{where: cpu+disk, host_budget: {between} B}}"
        groups = self.plan(away, split, *wide)["optimizer_groups"]
        self.assertTrue(0 < groups["on_disk"] < groups["all"], groups)
        self.train("plain", *wide)
        self.train("split", away, split, *wide)
        self.assert_same("split", "plain")

    def test_a_model_that_begins_with_another_s_weights_has_them_on_the_disk(self):
        self.write()
        self.train("first", "precision=bf16")
        for name, weights in (("begun", []), ("begun-d", BOTH_ON_DISK), ("begun-w", [DISK])):
            done = self.train(name, "precision=bf16", "model.init_from=outputs/first/latest",
                              *weights)
            self.assertEqual(len(re.findall(r"\bon the disk: ", done.stderr)),
                             len(weights) > 0, done.stderr)
        self.assert_same("begun-d", "begun")
        self.assert_same("begun-w", "begun")

    def test_a_model_leaves_by_eval_and_export(self):
        self.write()
        self.train("plain", "precision=bf16")
        self.train("host", "precision=bf16", AWAY)
        self.train("disk", "precision=bf16", *BOTH_ON_DISK)
        for leaves in (
                lambda name: json.loads(
                    self.run_trainx("eval", f"outputs/{name}", "--json").stdout)["eval_loss"],
                lambda name: self.run_trainx("export", f"outputs/{name}", name) and
            (self.folder / name / "model.safetensors").read_bytes(),
                lambda name: self.run_trainx("generate", f"outputs/{name}", "--prompt", "Once",
                                             "--max-tokens", "8", "--seed", "3").stdout):
            plain = leaves("plain")
            for name in ("host", "disk"):
                self.assertEqual(leaves(name), plain, name)

    def test_the_plan_says_what_leaves_the_device_and_what_a_step_copies(self):
        self.write()
        wide = [
            "model.options.hidden_size=256", "model.options.num_layers=12", "precision=bf16",
            "data.sequence_length=8", "batch={global_batch_size: 1, micro_batch_size: 1}"
        ]
        plain, host, both = (self.plan(*wide, *more, "--gpu", "h200")
                             for more in ([], [AWAY], [AWAY, OPTIMIZER]))
        parameters = plain["parameters"]
        on_host = {c["category"]: c["bytes"] for c in host["on_host"]}
        self.assertLess(abs(on_host["weights on the host"] / (2 * parameters) - 1), 0.05)
        self.assertEqual(sum(on_host.values()), host["host_bytes"])
        freed = plain["arena_bytes"] - host["arena_bytes"]
        self.assertGreater(freed, parameters)  # of 2 bytes a parameter all but a few blocks'
        self.assertLess(freed, 2 * parameters)
        copies = host["parameter_copies"]
        self.assertLess(abs(copies["out"] / (2 * parameters) - 1), 0.05)
        self.assertGreater(copies["in"], 2 * copies["out"])  # for forward, backward and the update
        self.assertEqual(both["parameter_copies"]["out"], 0)
        self.assertEqual(both["optimizer_copies"]["weights_back"], 0)
        self.assertLess(
            abs({c["category"]: c["bytes"]
                 for c in both["on_host"]}["weights on the host"] / (2 * parameters) - 1),
            0.05)  # the updates' own are all that there is
        text = self.run_trainx("plan", "r.yaml", *wide, AWAY, "--gpu", "h200").stdout
        for row in host["on_host"] + host["memory"]:
            if row["bytes"] > 0:
                self.assertIn(row["category"], text)
        self.check_sentence(
            "plan.parameters_on_host",
            next(line for line in text.splitlines() if "offloaded weights" in line).strip(), "any")
        disk = self.plan(*wide, DISK, "--gpu", "h200")
        self.assertEqual(disk["arena_bytes"], host["arena_bytes"])
        self.assertLess(abs(disk["disk_bytes"] / (2 * parameters) - 1), 0.05)
        self.assertLess(disk["host_bytes"], host["host_bytes"])
        self.assertEqual(disk["parameter_copies"],
                         copies | {"from_disk": copies["in"], "to_disk": copies["out"]})
        text = self.run_trainx("plan", "r.yaml", *wide, DISK,
                               "memory.optimizer_offload.folder=/tmp", "--gpu", "h200").stdout
        for row in disk["on_host"] + disk["memory"]:
            if row["bytes"] > 0:
                self.assertIn(row["category"], text)
        self.assertIn(" /tmp", text)
        self.check_sentence(
            "plan.parameters_on_disk",
            next(line for line in text.splitlines() if "offloaded weights" in line).strip(), "any")

    def test_measured_memory_is_what_the_plan_says(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        def peak_of(name, *more):
            self.train(name, *wide, *more)
            return max(m["peak_memory_bytes"] for m in self.metrics(name)), self.plan(*wide, *more)

        plain, plain_plan = peak_of("plain")
        for number, more in enumerate(([AWAY], [AWAY, OPTIMIZER], [DISK], BOTH_ON_DISK)):
            host, host_plan = peak_of(f"away{number}", *more)
            planned = sum(plan[key] * sign
                          for sign, plan in ((1, host_plan), (-1, plain_plan))
                          for key in ("arena_bytes", "host_bytes"))
            print(f"  {more}: moved {host - plain}, planned {planned}, of {plain}")
            self.assertLess(abs(host - plain - planned), 0.02 * plain)

    def test_modes_that_hold_all_weights_for_a_step_refuse_it_in_a_sentence(self):
        self.write()
        for mode in ("dp", "zero1", "zero2"):
            self.refused("validate", "r.yaml", AWAY, f"parallel={{mode: {mode}, world_size: 2}}",
                         key="memory.parameter_offload", names=("parallel.mode", mode),
                         sentence=f"recipe.parameter_offload/{mode}")
        for settings, key, names in (([
                "memory.parameter_offload=dsik"
        ], "memory.parameter_offload", "'disk'"), ([
                DISK, "checkpoint.asynchronous=true"
        ], "checkpoint.asynchronous", "memory.parameter_offload"), ([
                AWAY, "memory.optimizer_offload.folder=/tmp"
        ], "memory.optimizer_offload.folder", "memory.parameter_offload")):
            self.refused("validate", "r.yaml", *settings, key=key, names=names,
                         sentence=f"recipe.parameter_offload/{settings[-1]}")
        self.refused("validate", "r.yaml", "memory.offload_param=cpu", key="memory.offload_param",
                     names="memory.parameter_offload")


if __name__ == "__main__":
    main()
