"""fp16 as a user meets it: steps that overflow are skipped and the scale remembered, through kills
as well. tests/equality/precision.yaml holds its losses against those of fp32."""
import json
import struct
import time

from support import Trainx, main, sha256, tiny

LARGE = 2.0**40                             # overflows in any model's first steps


class LossScale(Trainx):
    forks = True

    def state(self, run):
        return json.loads(
            (self.folder / "outputs" / run / "latest" / "trainer_state.json").read_text())

    def weights(self, run):
        return sha256(self.folder / "outputs" / run / "latest" / "model.safetensors")

    def test_what_overflows_is_skipped_and_the_scale_follows(self):
        self.run_trainx(
            "train",
            self.recipe(
                tiny(
                    40,
                    precision=f"{{compute: fp16, initial_loss_scale: {LARGE}, loss_scale_window: 5}}"
                )), "run.name=run")
        metrics = self.metrics("run")
        skipped = 0
        for i, m in enumerate(metrics):
            finite = m["applied_steps"] > (metrics[i - 1]["applied_steps"] if i else 0)
            self.assertEqual(m["grad_norm"] is not None, finite, m)  # JSON has no infinity: null
            skipped += not finite
            self.assertEqual(m["applied_steps"], m["step"] - skipped)
            if i + 1 < len(metrics) and not finite:
                self.assertEqual(metrics[i + 1]["loss_scale"], m["loss_scale"] / 2)
        self.assertGreater(skipped, 3)
        self.assertGreater(len(metrics) - skipped, 10)
        scales = [m["loss_scale"] for m in metrics]
        self.assertEqual(scales[0], LARGE)
        self.assertTrue(any(b == 2 * a for a, b in zip(scales, scales[1:])),
                        scales)  # five finite steps in a row double it
        self.assertLess(metrics[-1]["loss"], metrics[0]["loss"])

    def test_killed_runs_end_with_the_weights_and_the_scale_of_the_uninterrupted_run(self):
        precision = f"{{compute: fp16, initial_loss_scale: {LARGE}, loss_scale_window: 3}}"
        recipe = self.recipe(tiny(60, every=4, precision=precision))
        self.run_trainx("train", recipe, "run.name=whole")
        for _ in range(4):
            process = self.start_trainx("train", recipe, "run.name=killed")
            time.sleep(self.random.uniform(0.2, 1.2))
            self.kill(process)
        self.run_trainx("train", recipe, "run.name=killed")
        self.assertEqual(self.weights("killed"), self.weights("whole"))
        self.assertEqual(self.state("killed")["loss_scale"], self.state("whole")["loss_scale"])

    def test_a_fixed_scale_that_always_overflows_ends_the_run_with_what_helps(self):
        told = self.run_trainx("train",
                               self.recipe(tiny(60, precision="{compute: fp16, loss_scale: 1e30}")),
                               "run.name=lost", expect=80).stderr
        self.assertIn("precision.loss_scale", told)
        self.assertEqual(self.metrics("lost")[-1]["applied_steps"], 0)

    def test_what_was_trained_in_bf16_goes_on_with_a_warning(self):
        self.run_trainx("train", self.recipe(tiny(6, precision="bf16")), "run.name=first")
        folder = self.folder / "outputs" / "first" / "latest"
        for precision, warned in (("fp16", True), ("bf16", False)):
            told = self.run_trainx("train", self.recipe(tiny(6, precision=precision)),
                                   f"run.name=from-{precision}", f"model.init_from={folder}").stderr
            self.assertEqual("was trained in bf16" in told, warned, told)

    def test_weights_beyond_fp16_are_named(self):
        self.run_trainx("train", self.recipe(tiny(6)), "run.name=first")
        saved, folder = self.folder / "outputs" / "first" / "latest", self.folder / "far"
        folder.mkdir()
        (folder / "config.json").write_bytes((saved / "config.json").read_bytes())
        data = bytearray((saved / "model.safetensors").read_bytes())
        length = struct.unpack("<Q", data[:8])[0]
        name, entry = next(
            (k, v) for k, v in json.loads(data[8:8 + length]).items() if k != "__metadata__")
        struct.pack_into("<f", data, 8 + length + entry["data_offsets"][0], -1e5)
        (folder / "model.safetensors").write_bytes(data)
        told = self.run_trainx("train", self.recipe(tiny(6, precision="fp16")), "run.name=half",
                               f"model.init_from={folder}", expect=65).stderr
        self.assertIn(name.removeprefix("transformer."), told)
        self.assertIn("precision.compute", told)
        self.assertIn("bf16", told)
        self.run_trainx("train", self.recipe(tiny(6, precision="bf16")), "run.name=wide",
                        f"model.init_from={folder}")


if __name__ == "__main__":
    main()
