"""The optimizer on the host: no loss and no byte of a checkpoint changes, in any precision and mode; memory goes where the plan says."""
import json

from offloading import Offloading
from support import main, sampled

OFFLOAD = "memory.optimizer_offload=cpu"


class Offload(Offloading):
    @sampled
    def test_no_loss_and_no_byte_of_a_checkpoint_changes(self):
        cases = {"fp32": ["precision=fp32"], "bf16": ["precision=bf16"], "master": ["precision={compute: bf16, master: fp32}"], "alone": ["precision={compute: bf16, master: none, rounding: stochastic}"],
                 "fp16": ["precision=fp16"], "sgd": ["optimizer={type: sgd, lr: 0.1, options: {momentum: 0.9}}"], "lion": ["optimizer={type: lion, lr: 1e-3}"], "adafactor": ["optimizer={type: adafactor, lr: 1e-3, options: {relative_step: false}}"],
                 "lamb": ["optimizer.type=lamb"], "8bit": ["optimizer={type: adamw_8bit, lr: 3e-3, options: {min_8bit_size: 1024}}", "precision=bf16"], "split-sgd": ["optimizer={type: sgd, lr: 0.1}", "precision=bf16"]}
        for micro in (12, 4):
            self.write(micro=micro)
            for case, settings in self.drawn(cases.items(), 3):
                with self.subTest(case=case, micro=micro):
                    name = f"{case}{micro}"
                    self.train(name, *settings)
                    self.train(name + "-o", OFFLOAD, *settings)
                    self.assert_same(name + "-o", name)

    def test_it_goes_together_with_the_other_methods(self):
        self.write(micro=4)
        self.train("plain")
        for number, settings in enumerate((["memory.activation_checkpoint=full"], ["memory={activation_checkpoint: selective, activation_offload: cpu, optimizer_offload: cpu}"], ["checkpoint.asynchronous=true"])):
            self.train(f"with{number}", OFFLOAD, *settings)
            self.assert_same(f"with{number}", "plain")
        self.write(micro=12)
        in_backward = ["optimizer.max_grad_norm=0", "optimizer.update_in_backward=true"]
        self.train("backward", *in_backward)
        self.train("backward-o", OFFLOAD, *in_backward)
        self.assert_same("backward-o", "backward")

    @sampled
    def test_every_rank_has_its_share_on_its_host(self):
        self.write()
        one = self.plan(OFFLOAD)["host_bytes"]
        for world, micro, precision in self.drawn(((2, 3, "bf16"), (3, 4, "fp32"), (4, 3, "bf16"))):
            self.write(micro=micro)
            for mode in ("ddp", "zero1", "zero2", "zero3", "dp"):
                if world == 4 and mode in ("ddp", "dp"):
                    continue
                with self.subTest(mode=mode, world=world):
                    cut = [f"parallel={{mode: {mode}, world_size: {world}}}", f"precision={precision}"]
                    name = f"{mode}-{world}"
                    self.train(name, *cut)
                    self.train(name + "-o", OFFLOAD, *cut)
                    self.assert_same(name + "-o", name)
                    if mode.startswith("zero") and precision == "fp32":
                        self.assertLess(self.plan(OFFLOAD, *cut)["host_bytes"], one / world * 1.1)

    def test_a_run_goes_on_with_the_optimizer_elsewhere(self):
        self.write()
        self.train("whole")
        for name, first, second in (("out", [], [OFFLOAD]), ("back", [OFFLOAD], []), ("shards", [OFFLOAD, "parallel={mode: zero2, world_size: 2}", "batch.micro_batch_size=6"], [OFFLOAD])):
            self.train(name, *first, "run.duration=3 steps")
            self.train(name, *second)
            if name == "shards":
                for got, want in zip(self.losses(name), self.losses("whole"), strict=True):
                    self.assertLess(abs(got / want - 1), 1e-6, name)
            else:
                self.assert_same(name, "whole")

    def test_a_model_leaves_by_eval_and_export(self):
        self.write()
        self.train("plain", "precision=bf16")
        self.train("host", "precision=bf16", OFFLOAD)
        evals = [json.loads(self.run_trainx("eval", f"outputs/{name}", "--json").stdout)["eval_loss"] for name in ("plain", "host")]
        self.assertEqual(evals[0], evals[1])
        for name in ("plain", "host"):
            self.run_trainx("export", f"outputs/{name}", name)
        self.assertEqual((self.folder / "plain" / "model.safetensors").read_bytes(), (self.folder / "host" / "model.safetensors").read_bytes())

    def test_the_plan_says_what_leaves_the_device_and_what_the_host_has(self):
        self.write()
        wide = ["model.options.hidden_size=256", "precision=bf16", "data.sequence_length=8", "batch={global_batch_size: 1, micro_batch_size: 1}"]
        plain, host = (self.plan(*wide, *more, "--gpu", "h200") for more in ([], [OFFLOAD]))
        parameters = plain["parameters"]
        on_host = {c["category"]: c["bytes"] for c in host["on_host"]}
        self.assertLess(abs(on_host["optimizer state on the host"] / (8 * parameters) - 1), 0.05)
        self.assertLess(abs(on_host["master weights on the host"] / (2 * parameters) - 1), 0.05)
        self.assertLess(abs(on_host["gradients on the host"] / (4 * parameters) - 1), 0.05)
        self.assertGreater(plain["arena_bytes"] - host["arena_bytes"], 10 * parameters)
        self.assertEqual(sum(on_host.values()), host["host_bytes"])
        self.assertLess(abs(host["optimizer_copies"]["gradients_out"] / (4 * parameters) - 1), 0.05)
        self.assertEqual(host["optimizer_copies"]["weights_back"] * 2, host["optimizer_copies"]["gradients_out"])
        text = self.run_trainx("plan", "r.yaml", *wide, OFFLOAD, "--gpu", "h200").stdout
        for row in host["on_host"]:
            self.assertIn(row["category"], text)
        self.check_sentence("plan.optimizer_on_host", next(line for line in text.splitlines() if line.strip().startswith("optimizer on")).strip(), "any")
        self.refused("plan", "r.yaml", *wide, "--gpu", "h200", f"memory.budget={(plain['total_bytes'] + host['total_bytes']) // 2} B", code=71, names=("memory.budget", "memory.optimizer_offload cpu"))

    def test_measured_memory_is_what_the_plan_says(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        peaks = {}
        for name, settings in (("plain", wide), ("host", [*wide, OFFLOAD])):
            self.train(name, *settings)
            peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)), self.plan(*settings))
        moved = peaks["host"][0] - peaks["plain"][0]
        planned = sum(p * sign for sign, (_, plan) in ((1, peaks["host"]), (-1, peaks["plain"])) for p in (plan["arena_bytes"], plan["host_bytes"]))
        self.assertLess(abs(moved - planned), 0.02 * peaks["plain"][0])

    def test_what_can_have_no_effect_or_does_not_fit_is_refused_in_a_sentence(self):
        self.write()
        self.refused("validate", "r.yaml", OFFLOAD, "optimizer={type: sgd, lr: 0.1}", key="memory.optimizer_offload.where", names="sgd", sentence="recipe.offload_of_sgd")
        self.refused("validate", "r.yaml", "memory.optimizer_offload=gpu", key="memory.optimizer_offload.where")
        self.refused("validate", "r.yaml", "memory.offload_optimizer=cpu", key="memory.offload_optimizer", names="memory.optimizer_offload.where")
        self.refused("train", "r.yaml", OFFLOAD, "memory.budget=1 MiB", code=71, names="1.0 MiB")

    def test_a_gradient_that_is_not_finite_changes_nothing_on_the_host(self):
        self.write(steps=8)
        spoiled = ["precision={compute: fp16, initial_loss_scale: 1e30}", "checkpoint.every=1 steps"]
        self.train("plain", *spoiled, expect=80)          # no update at all
        self.train("host", *spoiled, OFFLOAD, expect=80)
        self.assert_same("host", "plain")
        self.assertEqual(self.saved("host", "checkpoint-1")["optimizer.safetensors"], self.saved("plain", "checkpoint-1")["optimizer.safetensors"])


if __name__ == "__main__":
    main()
