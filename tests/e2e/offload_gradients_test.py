"""Gradients that leave for the host as bf16: half the bytes, in the plan and as measured.
tests/equality/offload.yaml holds losses near those of exact ones, and the same bits wherever else
parts lie."""
from offloading import Offloading
from support import main

EXACT = "memory.optimizer_offload=cpu"
ROUNDED = "memory.optimizer_offload={where: cpu, gradients: bf16}"


class OffloadGradients(Offloading):
    def test_the_plan_counts_half_the_bytes_and_memory_is_as_planned(self):
        self.write(steps=3)
        wide = ["model.options.hidden_size=256"]
        gpu = [
            *wide, "precision=bf16", "data.sequence_length=8",
            "batch={global_batch_size: 1, micro_batch_size: 1}", "--gpu", "h200"
        ]
        exact, rounded = (self.plan(*gpu, offload) for offload in (EXACT, ROUNDED))
        on_host = [{c["category"]: c["bytes"]
                    for c in plan["on_host"]}["gradients on the host"]
                   for plan in (exact, rounded)]
        self.assertEqual(on_host[0], 2 * on_host[1])
        self.assertEqual(exact["host_bytes"] - rounded["host_bytes"], on_host[1])
        self.assertEqual(exact["optimizer_copies"]["gradients_out"],
                         2 * rounded["optimizer_copies"]["gradients_out"])
        text = self.run_trainx("plan", "r.yaml", *gpu, ROUNDED).stdout
        self.assertRegex(text, r"\bgradients in bf16\b")
        peaks = {}
        for name, offload in (("exact", EXACT), ("rounded", ROUNDED)):
            self.train(name, *wide, offload)
            peaks[name] = (max(m["peak_memory_bytes"] for m in self.metrics(name)),
                           self.plan(*wide, offload))
        self.assertEqual(self.losses("rounded")[0], self.losses("exact")[0])
        self.assertNotEqual(self.losses("rounded"), self.losses("exact"))
        moved = peaks["exact"][0] - peaks["rounded"][0]
        planned = sum(p * sign
                      for sign, (_, plan) in ((1, peaks["exact"]), (-1, peaks["rounded"]))
                      for p in (plan["arena_bytes"], plan["host_bytes"]))
        self.assertGreater(planned, 0)
        self.assertLess(abs(moved - planned), 0.02 * peaks["exact"][0])

    def test_what_can_have_no_effect_is_refused_in_a_sentence(self):
        self.write()
        done = self.run_trainx("validate", "r.yaml", "memory.optimizer_offload.gradients=bf16",
                               expect=78)
        self.assertIn("memory.optimizer_offload.gradients: ", done.stderr)
        done = self.run_trainx("validate", "r.yaml",
                               "memory.optimizer_offload={where: cpu, gradients: fp16}", expect=78)
        self.assertIn("memory.optimizer_offload.gradients", done.stderr)


if __name__ == "__main__":
    main()
