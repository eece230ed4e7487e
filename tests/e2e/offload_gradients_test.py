"""Gradients that leave for the host as bf16: half the bytes, losses near those of exact ones, the same bits wherever else parts lie and however often a run stops."""
from offloading import Offloading
from support import main

EXACT = "memory.optimizer_offload=cpu"
ROUNDED = "memory.optimizer_offload={where: cpu, gradients: bf16}"


class OffloadGradients(Offloading):
    def assert_near(self, name, other):
        """bf16 has 8 bits of significand: each gradient is off by 2^-8 of itself at most, and an update that is linear or less in it by as much. What the updates did to the loss differs by twice that
        at the most, as their errors meet those of the steps before."""
        got, want = self.losses(name), self.losses(other)
        self.assertEqual(len(got), len(want))
        self.assertEqual(got[0], want[0], name)          # nothing was updated before it
        self.assertNotEqual(got, want, name)
        done = max(want) - min(want)
        self.assertGreater(done, 0)
        self.assertLess(max(abs(g - w) for g, w in zip(got, want)), 2 * 2**-8 * done, (name, got, want))

    def test_losses_are_near_those_of_exact_gradients(self):
        cases = {"fp32": ["precision=fp32"], "bf16": ["precision=bf16"], "fp16": ["precision=fp16"], "sgd": ["optimizer={type: sgd, lr: 0.1, options: {momentum: 0.9}}"],
                 "adafactor": ["optimizer={type: adafactor, lr: 1e-3, options: {relative_step: false}}"], "lamb": ["optimizer.type=lamb"],
                 "8bit": ["optimizer={type: adamw_8bit, lr: 3e-3, options: {min_8bit_size: 1024}}"], "any": ["optimizer={type: adamw_anyprecision, lr: 3e-3}", "precision=bf16"]}
        self.write(micro=4)
        for case, settings in cases.items():
            with self.subTest(case=case):
                self.train(case, EXACT, *settings)
                self.train(case + "-r", ROUNDED, *settings)
                self.assert_near(case + "-r", case)

    def test_gradients_that_bf16_holds_give_the_bits_of_those_that_leave_as_they_are(self):
        """Sums over ranks that are rounded to bf16 are such."""
        for mode, micro in (("ddp", 3), ("zero1", 6), ("zero2", 6), ("zero3", 6), ("dp", 3)):
            self.write(micro=micro)
            with self.subTest(mode=mode):
                cut = [f"parallel={{mode: {mode}, world_size: 2}}", "precision={compute: bf16, reduce: bf16}"]
                self.train(mode, EXACT, *cut)
                self.train(mode + "-r", ROUNDED, *cut)
                self.assert_same(mode + "-r", mode)

    def test_ranks_that_sum_exactly_round_what_they_send_to_their_hosts(self):
        for mode, micro in (("ddp", 3), ("zero2", 3), ("zero3", 6)):
            self.write(micro=micro)
            with self.subTest(mode=mode):
                cut = [f"parallel={{mode: {mode}, world_size: 2}}"]
                self.train(mode, EXACT, *cut)
                self.train(mode + "-r", ROUNDED, *cut)
                self.assert_near(mode + "-r", mode)

    def test_the_same_bits_with_the_other_methods(self):
        self.write(micro=4)
        self.train("rounded", ROUNDED)
        disk = "memory.optimizer_offload={where: disk, gradients: bf16, read_ahead: 1}"
        for number, settings in enumerate(([disk], [ROUNDED, "memory.activation_checkpoint=full", "memory.activation_offload=cpu"], [ROUNDED, "memory.parameter_offload=cpu", "checkpoint.asynchronous=true"])):
            with self.subTest(settings=settings):
                self.train(f"with{number}", *settings)
                self.assert_same(f"with{number}", "rounded")
        self.write(micro=12)
        without_clipping = [ROUNDED, "optimizer.max_grad_norm=0"]
        self.train("end", *without_clipping)
        self.train("backward", *without_clipping, "optimizer.update_in_backward=true")
        self.assert_same("backward", "end")

    def test_a_run_that_stopped_goes_on_to_the_bit(self):
        self.write(micro=4)
        for precision in ("fp32", "bf16"):
            whole, parts = f"whole-{precision}", f"parts-{precision}"
            self.train(whole, ROUNDED, f"precision={precision}")
            self.train(parts, ROUNDED, f"precision={precision}", "run.duration=3 steps")
            self.train(parts, ROUNDED, f"precision={precision}")
            self.assert_same(parts, whole)

    def test_a_gradient_that_is_not_finite_changes_nothing_on_the_host(self):
        self.write(steps=8)
        spoiled = ["precision={compute: fp16, initial_loss_scale: 1e30}", "checkpoint.every=1 steps"]
        self.train("exact", *spoiled, EXACT, expect=80)      # no update at all
        self.train("rounded", *spoiled, ROUNDED, expect=80)
        self.assertEqual(self.saved("rounded", "checkpoint-1"), self.saved("exact", "checkpoint-1"))

    def test_the_plan_counts_half_the_bytes_and_memory_is_as_planned(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        gpu = [*wide, "precision=bf16", "data.sequence_length=8", "batch={global_batch_size: 1, micro_batch_size: 1}", "--gpu", "h200"]
        exact, rounded = (self.plan(*gpu, offload) for offload in (EXACT, ROUNDED))
        on_host = [{c["category"]: c["bytes"] for c in plan["on_host"]}["gradients on the host"] for plan in (exact, rounded)]
        self.assertEqual(on_host[0], 2 * on_host[1])
        self.assertEqual(exact["host_bytes"] - rounded["host_bytes"], on_host[1])
        self.assertEqual(exact["optimizer_copies"]["gradients_out"], 2 * rounded["optimizer_copies"]["gradients_out"])
        text = self.run_trainx("plan", "r.yaml", *gpu, ROUNDED).stdout
        self.assertRegex(text, r"\bgradients in bf16\b")
        peaks = {}
        for name, offload in (("exact", EXACT), ("rounded", ROUNDED)):
            self.train(name, *wide, offload)
            peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)), self.plan(*wide, offload))
        moved = peaks["exact"][0] - peaks["rounded"][0]
        planned = sum(p * sign for sign, (_, plan) in ((1, peaks["exact"]), (-1, peaks["rounded"])) for p in (plan["arena_bytes"], plan["host_bytes"]))
        self.assertGreater(planned, 0)
        self.assertLess(abs(moved - planned), 0.02 * peaks["exact"][0])

    def test_what_can_have_no_effect_is_refused_in_a_sentence(self):
        self.write()
        done = self.run_trainx("validate", "r.yaml", "memory.optimizer_offload.gradients=bf16", expect=78)
        self.assertIn("memory.optimizer_offload.gradients: ", done.stderr)
        done = self.run_trainx("validate", "r.yaml", "memory.optimizer_offload={where: cpu, gradients: fp16}", expect=78)
        self.assertIn("memory.optimizer_offload.gradients", done.stderr)


if __name__ == "__main__":
    main()
