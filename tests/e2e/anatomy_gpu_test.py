"""Where memory and time go on a GPU, and what the driver tells while training."""
import json

from gpu_checks import alone, needs_gpus
from support import ROOT, Trainx, main, tiny



@needs_gpus(1)
class AnatomyOnGpu(Trainx):
    on_gpu = True

    def table(self, name, *settings):
        return json.loads(
            self.run_trainx("bench", name, ROOT / "configs" / "quickstart.yaml", "precision=bf16",
                            *settings, "--json").stdout)

    def test_memory(self):
        for settings in ((), ("model.options.hidden_size=768", "model.options.num_heads=12",
                              "model.options.num_layers=12")):
            table = self.table("memory-anatomy", *settings)
            rows = {row["category"]: row for row in table["memory"]}
            self.assertEqual(sum(row["measured_bytes"] for row in rows.values()),
                             table["measured_bytes"])
            for name in ("weights", "master weights", "gradients", "optimizer state", "activations",
                         "activation gradients", "scratch", "batch and scalars",
                         "alignment and gaps"):
                self.assertEqual(rows[name]["measured_bytes"], rows[name]["predicted_bytes"], name)
            for name, row in rows.items():
                print(
                    f"  {name}: {row['predicted_bytes']} predicted, {row['measured_bytes']} measured"
                )
            self.assertLess(
                abs(rows["library workspace"]["measured_bytes"] -
                    rows["library workspace"]["predicted_bytes"]), 16 << 20)
            self.assertTrue(
                0.4 * 2**30 < rows["context and kernels"]["measured_bytes"] < 0.7 * 2**30,
                rows["context and kernels"])

    @alone("measures how long operations take")
    def test_operations(self):
        table = self.table("operations", "model.options.hidden_size=768",
                           "model.options.num_heads=12")
        rows = {(row["direction"], row["operations"]): row for row in table["rows"]}
        for key, row in rows.items():
            print(
                f"  {key}: {row['ms']:.3f} ms, {100 * row['time_share']:.1f} % of time, {100 * row['flops_share']:.1f} % of FLOPs, {100 * row['bytes_share']:.1f} % of bytes"
            )
        self.assertAlmostEqual(sum(row["time_share"] for row in rows.values()), 1)
        self.assertLessEqual(table["operations_ms"], 1.01 * table["step_ms"])
        for key in (("forward", "contractions"), ("backward", "contractions"),
                    ("forward", "attention"), ("forward", "statistical"), ("update", "optimizer")):
            self.assertGreater(rows[key]["ms"], 0, key)

    def test_what_the_driver_tells(self):
        self.run_trainx("train", self.recipe(tiny(steps=30, every=10)))
        last = self.metrics("tiny")[-1]
        print("  " + json.dumps({
            k: v
            for k, v in last.items()
            if k in ("watts", "gpu_utilization", "memory_utilization", "temperature_celsius",
                     "device_used_bytes", "device_total_bytes", "clock_mhz")
        }))
        for key in ("watts", "temperature_celsius", "device_used_bytes", "device_total_bytes",
                    "clock_mhz"):
            self.assertGreater(last[key], 0, key)
        for key in ("gpu_utilization", "memory_utilization"):
            self.assertTrue(0 <= last[key] <= 1, key)
        self.assertLess(last["device_used_bytes"], last["device_total_bytes"])


if __name__ == "__main__":
    main()
