"""The optimizer on the host: memory goes where the plan says, and models leave by eval and export.
tests/equality/offload.yaml holds that no loss and no byte of a checkpoint changes."""
import json

from offloading import Offloading
from support import main

OFFLOAD = "memory.optimizer_offload=cpu"


class Offload(Offloading):
    def test_every_rank_has_its_share_on_its_host(self):
        self.write(micro=4)
        one = self.plan(OFFLOAD)["host_bytes"]
        for mode in ("zero1", "zero2", "zero3"):
            cut = f"parallel={{mode: {mode}, world_size: 3}}"
            self.assertLess(self.plan(OFFLOAD, cut)["host_bytes"], one / 3 * 1.1, mode)

    def test_a_model_leaves_by_eval_and_export(self):
        self.write()
        self.train("plain", "precision=bf16")
        self.train("host", "precision=bf16", OFFLOAD)
        self.assert_same("host", "plain")
        evals = [
            json.loads(self.run_trainx("eval", f"outputs/{name}", "--json").stdout)["eval_loss"]
            for name in ("plain", "host")
        ]
        self.assertEqual(evals[0], evals[1])
        for name in ("plain", "host"):
            self.run_trainx("export", f"outputs/{name}", name)
        self.assertEqual((self.folder / "plain" / "model.safetensors").read_bytes(),
                         (self.folder / "host" / "model.safetensors").read_bytes())

    def test_the_plan_says_what_leaves_the_device_and_what_the_host_has(self):
        self.write()
        wide = [
            "model.options.hidden_size=256", "precision=bf16", "data.sequence_length=8",
            "batch={global_batch_size: 1, micro_batch_size: 1}"
        ]
        plain, host = (self.plan(*wide, *more, "--gpu", "h200") for more in ([], [OFFLOAD]))
        parameters = plain["parameters"]
        on_host = {c["category"]: c["bytes"] for c in host["on_host"]}
        self.assertLess(abs(on_host["optimizer state on the host"] / (8 * parameters) - 1), 0.05)
        self.assertLess(abs(on_host["master weights on the host"] / (2 * parameters) - 1), 0.05)
        self.assertLess(abs(on_host["gradients on the host"] / (4 * parameters) - 1), 0.05)
        self.assertGreater(plain["arena_bytes"] - host["arena_bytes"], 10 * parameters)
        self.assertEqual(sum(on_host.values()), host["host_bytes"])
        self.assertLess(abs(host["optimizer_copies"]["gradients_out"] / (4 * parameters) - 1), 0.05)
        self.assertEqual(host["optimizer_copies"]["weights_back"] * 2,
                         host["optimizer_copies"]["gradients_out"])
        text = self.run_trainx("plan", "r.yaml", *wide, OFFLOAD, "--gpu", "h200").stdout
        for row in host["on_host"]:
            self.assertIn(row["category"], text)
        self.check_sentence(
            "plan.optimizer_on_host",
            next(line for line in text.splitlines()
                 if line.strip().startswith("optimizer on")).strip(), "any")
        self.refused("plan", "r.yaml", *wide, "--gpu", "h200",
                     f"memory.budget={(plain['total_bytes'] + host['total_bytes']) // 2} B",
                     code=71, names=("memory.budget", "memory.optimizer_offload cpu"))

    def test_measured_memory_is_what_the_plan_says(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        peaks = {}
        for name, settings in (("plain", wide), ("host", [*wide, OFFLOAD])):
            self.train(name, *settings)
            peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)),
                           self.plan(*settings))
        moved = peaks["host"][0] - peaks["plain"][0]
        planned = sum(p * sign
                      for sign, (_, plan) in ((1, peaks["host"]), (-1, peaks["plain"]))
                      for p in (plan["arena_bytes"], plan["host_bytes"]))
        self.assertLess(abs(moved - planned), 0.02 * peaks["plain"][0])

    def test_what_can_have_no_effect_or_does_not_fit_is_refused_in_a_sentence(self):
        self.write()
        self.refused("validate", "r.yaml", OFFLOAD, "optimizer={type: sgd, lr: 0.1}",
                     key="memory.optimizer_offload.where", names="sgd",
                     sentence="recipe.offload_of_sgd")
        self.refused("validate", "r.yaml", "memory.optimizer_offload=gpu",
                     key="memory.optimizer_offload.where")
        self.refused("validate", "r.yaml", "memory.offload_optimizer=cpu",
                     key="memory.offload_optimizer", names="memory.optimizer_offload.where")
        self.refused("train", "r.yaml", OFFLOAD, "memory.budget=1 MiB", code=71, names="1.0 MiB")


if __name__ == "__main__":
    main()
