"""Levers on memory on a GPU: the same losses to the bit, less memory as the driver sees it, copies
beside the computation."""
import json

from gpu_checks import alone, needs_gpus
from support import Trainx, main

RECIPE = """\
run: {{name: {name}, seed: 3, duration: 6 steps, deterministic: true, device: gpu}}
model: {{type: gpt2, options: {{num_layers: 12, num_heads: 12, hidden_size: 768, max_positions: 1024, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 1024, samples: 512, eval_samples: 10}}
batch: {{global_batch_size: {batch}, micro_batch_size: {batch}}}
precision: bf16
optimizer: {{type: adamw, lr: 3e-4, max_grad_norm: 0}}
metrics: {{every: 1 steps}}
"""


@needs_gpus(1)
class MemoryOnGpu(Trainx):
    on_gpu = True

    def run_of(self, name, *settings, batch=8, more=()):
        path = self.recipe(RECIPE.format(name=name, batch=batch), f"{name}.yaml")
        plan = json.loads(
            self.run_trainx("plan", path, "--json", *settings).stdout.splitlines()[-1])
        done = self.run_trainx("train", path, *settings, *more)
        lines = self.metrics(name)
        return plan, [m["loss"] for m in lines], max(
            m["device_memory_bytes"] for m in lines), sum(m["step_time_ms"]
                                                          for m in lines[3:]) / len(lines[3:]), done

    def test_every_lever_changes_no_bit_and_the_driver_sees_what_it_frees(self):
        plan, want, plain_bytes, plain_ms, _ = self.run_of("plain", batch=16)
        print(f"  plain: {plain_bytes / 2**20:.0f} MiB, {plain_ms:.1f} ms")
        for name, settings in (("offload", ["memory.activation_offload=cpu"]), ("full-offload", [
                "memory={activation_checkpoint: full, activation_offload: cpu}"
        ]), ("eager-offload", ["memory.activation_offload=cpu", "run.execution=eager"]), ("full", [
                "memory.activation_checkpoint=full"
        ]), ("full-backward",
             ["memory.activation_checkpoint=full", "optimizer.update_in_backward=true"]), ("all", [
                 "memory={activation_checkpoint: full, activation_offload: cpu}",
                 "optimizer.update_in_backward=true"
             ])):
            with self.subTest(name=name):
                less, losses, measured, ms, _ = self.run_of(name, *settings, batch=16)
                self.assertEqual(losses, want)
                fell, planned = plain_bytes - measured, plan["total_bytes"] - less["total_bytes"]
                print(
                    f"  {name}: {measured / 2**20:.0f} MiB, {ms:.1f} ms; fell by {fell / 2**20:.0f} MiB, planned {planned / 2**20:.0f}"
                )
                self.assertLess(abs(fell - planned), 0.03 * plain_bytes)
                self.assertGreater(fell, 0)

    @alone("looks at when copies and blocks ran")
    def test_copies_run_beside_the_computation(self):
        name = "profiled"
        self.run_of(name, "memory={activation_checkpoint: full, activation_offload: cpu}", batch=16,
                    more=("--profile", "2"))
        trace = json.loads((self.folder / "outputs" / name / "profile.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        copies = [e for e in events if e.get("ph") == "X" and e["name"].startswith("copy")]
        compute = [
            e for e in events
            if e.get("ph") == "X" and e["name"].startswith(("backward", "forward", "recompute"))
        ]
        self.assertGreater(len(copies), 8)
        beside = sum(
            any(c["ts"] < e["ts"] + e["dur"] and e["ts"] < c["ts"] + c["dur"]
                for e in compute)
            for c in copies)
        print(f"  {beside} of {len(copies)} copies overlap with blocks")
        self.assertGreater(beside, 0.8 * len(copies))

    def test_a_gradient_that_is_not_finite_ends_the_run(self):
        path = self.recipe(RECIPE.format(name="bad", batch=4))
        done = self.run_trainx(
            "train", path,
            "optimizer={type: sgd, lr: 1e30, max_grad_norm: 0, update_in_backward: true}",
            "checkpoint.every=1 steps", expect=80)
        self.assertRegex(done.stderr, r"\bstep 2\b.*\bnot finite\b")
        self.assertEqual([p.name for p in (self.folder / "outputs" / "bad").glob("checkpoint-*")],
                         ["checkpoint-1"])


if __name__ == "__main__":
    main()
