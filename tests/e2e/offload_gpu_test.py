"""The optimizer, and weights, on the host of a GPU: the losses of one on the GPU, memory as
planned, checkpoints that either goes on from."""
import json

from gpu_checks import alone, needs_gpus
from support import Trainx, main

RECIPE = """\
run: {{name: {name}, seed: 3, duration: {steps} steps, deterministic: true, device: gpu}}
model: {{type: gpt2, options: {{num_layers: 6, num_heads: 12, hidden_size: 768, max_positions: 256, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 256, samples: 512, eval_samples: 16}}
batch: {{global_batch_size: 8, micro_batch_size: 4}}
precision: {precision}
optimizer: {{type: adamw, lr: 3e-4}}
eval: {{every: 3 steps, batches: 2}}
metrics: {{every: 1 steps}}
"""
OFFLOAD = "memory.optimizer_offload=cpu"
ROUNDED = "memory.optimizer_offload={where: cpu, gradients: bf16}"
WEIGHTS = "memory.parameter_offload=cpu"
IN_BACKWARD = [
    "optimizer.max_grad_norm=0", "optimizer.update_in_backward=true", "batch.micro_batch_size=8"
]


@needs_gpus(1)
class OffloadOnGpu(Trainx):
    on_gpu = True

    def run_of(self, name, *settings, precision="bf16", steps=6):
        path = self.recipe(RECIPE.format(name=name, precision=precision, steps=steps),
                           f"{name}.yaml")
        plan = json.loads(
            self.run_trainx("plan", path, "--json", *settings).stdout.splitlines()[-1])
        self.run_trainx("train", path, *settings)
        lines = self.metrics(name)
        measured, ms = max(
            m["device_memory_bytes"]
            for m in lines), sum(m["step_time_ms"] for m in lines[3:]) / max(1, len(lines[3:]))
        print(
            f"  {name}: {measured / 2**20:.0f} MiB, {ms:.1f} ms, {plan['host_bytes'] / 2**20:.0f} MiB on the host"
        )
        return plan, [m["loss"] for m in lines], measured

    def assert_close(self, got, want, tolerance):
        self.assertEqual(len(got), len(want))
        self.assertLess(max(abs(g / w - 1) for g, w in zip(got, want)), tolerance)

    def test_losses_are_those_of_an_optimizer_on_the_gpu_and_memory_falls_as_planned(self):
        for precision, tolerance in (("fp32", 1e-6), ("bf16", 1e-5)):
            plain, want, plain_bytes = self.run_of(precision, precision=precision)
            plan, losses, measured = self.run_of(precision + "-o", OFFLOAD, precision=precision)
            self.assert_close(losses, want, tolerance)
            fell, planned = plain_bytes - measured, plain["total_bytes"] - plan["total_bytes"]
            print(f"  {precision}: fell by {fell / 2**20:.0f} MiB, planned {planned / 2**20:.0f}")
            self.assertGreater(fell, 0)
            self.assertLess(abs(fell - planned), 0.05 * plain_bytes)

    def test_updates_beside_backward_and_steps_that_are_not_replayed_have_the_same_losses(self):
        _, want, _ = self.run_of("plain", *IN_BACKWARD)
        _, losses, _ = self.run_of("backward", OFFLOAD, *IN_BACKWARD)
        self.assert_close(losses, want, 1e-5)
        _, eager, _ = self.run_of("eager", OFFLOAD, "run.execution=eager", *IN_BACKWARD)
        self.assertEqual(eager, losses)

    @alone("looks at when updates and blocks ran")
    def test_the_next_forward_begins_beside_the_updates(self):
        path = self.recipe(RECIPE.format(name="beside", precision="bf16", steps=12), "beside.yaml")
        self.run_trainx("train", path, OFFLOAD, "batch.micro_batch_size=8", "eval.every=100 steps",
                        "--profile", "1")
        spans = json.loads((self.folder / "outputs/beside/profile.json").read_text())["traceEvents"]
        updates = [
            s["ts"] + s["dur"]
            for s in spans
            if s["tid"] == "host" and s["name"].startswith("update")
        ]
        forwards = [
            s["ts"] + s["dur"]
            for s in spans
            if s["tid"] == "compute" and s["name"].startswith("forward") and s["cat"] != "waits"
        ]
        self.assertTrue(updates and forwards)
        beside = sum(f < max(updates) for f in forwards) / len(forwards)
        print(f"  {beside:.0%} of the forward's pieces end before the last update does")
        self.assertGreater(beside, 0.5)

    def test_a_run_goes_on_with_the_optimizer_elsewhere_and_is_saved_beside_training(self):
        _, want, _ = self.run_of("whole")
        for name, first, second in (("out", [], [OFFLOAD]), ("back", [
                OFFLOAD, "checkpoint.asynchronous=true", "checkpoint.every=1 steps"
        ], [])):
            self.run_of(name, *first, steps=3)
            _, losses, _ = self.run_of(name, *second)
            self.assert_close(losses, want, 1e-5)

    def on_disk(self, where="disk", **more):
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        return "memory.optimizer_offload={" + ", ".join(
            f"{key}: {value}"
            for key, value in ({"where": where, "folder": disk} | more).items()) + "}"

    def test_an_optimizer_on_the_disk_has_the_bits_of_one_on_the_host(self):
        plan, want, _ = self.run_of(
            "host", OFFLOAD,
            "checkpoint.asynchronous=false")  # whose copy no run with a disk has either
        for name, settings in (("disk", [self.on_disk()]), ("ahead", [self.on_disk(read_ahead=1)]),
                               ("eager", [self.on_disk(), "run.execution=eager"])):
            disk, losses, _ = self.run_of(name, *settings)
            self.assertEqual(losses, want, name)
            self.assertGreater(disk["disk_bytes"], 0)
            self.assertLess(disk["host_bytes"], plan["host_bytes"])
            self.assertEqual(
                {
                    p.name: p.read_bytes()
                    for p in (self.folder / "outputs/host/latest").glob("*.safetensors")
                }, {
                    p.name: p.read_bytes()
                    for p in (self.folder / f"outputs/{name}/latest").glob("*.safetensors")
                })
        budget = sum(p["host_bytes"] + p["beside_host_bytes"] for p in (plan, disk)) // 2
        split, losses, _ = self.run_of("split", self.on_disk("cpu+disk", host_budget=f"{budget} B"))
        self.assertEqual(losses, want)
        print("  split:", split["optimizer_groups"])
        self.assertTrue(0 < split["optimizer_groups"]["on_disk"] < split["optimizer_groups"]["all"])

    def test_gradients_that_leave_as_bf16_take_half_the_bytes_and_have_losses_near_those_of_exact_ones(
            self):
        for precision in ("fp32", "bf16"):
            exact, want, _ = self.run_of(precision, OFFLOAD, precision=precision)
            plan, losses, _ = self.run_of(precision + "-r", ROUNDED, precision=precision)
            self.assertEqual(exact["optimizer_copies"]["gradients_out"],
                             2 * plan["optimizer_copies"]["gradients_out"])
            self.assertEqual(exact["host_bytes"] - plan["host_bytes"],
                             plan["optimizer_copies"]["gradients_out"])
            self.assertEqual(losses[0], want[0])
            self.assertNotEqual(losses, want)
            # Each gradient is off by 2^-8 of itself at most: what the updates did to the loss by
            # twice that.
            self.assertLess(max(abs(g - w) for g, w in zip(losses, want)),
                            2 * 2**-8 * (max(want) - min(want)))
        for name, settings in (("eager", [ROUNDED, "run.execution=eager"]),
                               ("disk", [self.on_disk(gradients="bf16")])):
            _, same, _ = self.run_of(name, *settings)
            self.assertEqual(same, losses, name)
        self.run_of("stopped", ROUNDED, steps=3)
        _, same, _ = self.run_of("stopped", ROUNDED)
        self.assertEqual(same, losses)
        _, want, _ = self.run_of("end", ROUNDED, *IN_BACKWARD[:1], IN_BACKWARD[2])
        _, losses, _ = self.run_of("backward", ROUNDED, *IN_BACKWARD)
        self.assert_close(losses, want, 1e-5)

    @needs_gpus(2)
    def test_sums_over_ranks_that_bf16_holds_leave_as_they_are(self):
        for mode in ("ddp", "zero1"):
            cut = [f"parallel={{mode: {mode}, world_size: 2}}", "precision.reduce=bf16"]
            _, want, _ = self.run_of(mode, OFFLOAD, *cut)
            _, losses, _ = self.run_of(mode + "-r", ROUNDED, *cut)
            self.assertEqual(losses, want)

    def test_a_part_that_stays_on_the_gpu_changes_no_loss(self):
        _, want, _ = self.run_of("host", OFFLOAD)
        for name, share in (("half", 0.5), ("auto", "auto")):
            plan, losses, _ = self.run_of(
                name, f"memory.optimizer_offload={{where: cpu, share: {share}}}")
            print(f"  {name}:", plan.get("optimizer_groups"), plan["choices"])
            self.assert_close(losses, want, 1e-5)

    def test_a_run_goes_on_from_the_disk_and_updates_beside_backward_go_there_too(self):
        _, want, _ = self.run_of("whole")
        for name, first, second in (("out", [], [self.on_disk()]), ("back", [self.on_disk()], [])):
            self.run_of(name, *first, steps=3)
            _, losses, _ = self.run_of(name, *second)
            self.assert_close(losses, want, 1e-5)
        _, want, _ = self.run_of("plain", *IN_BACKWARD)
        _, losses, _ = self.run_of("backward", self.on_disk(), *IN_BACKWARD)
        self.assert_close(losses, want, 1e-5)

    def test_weights_on_the_host_have_the_same_losses_and_free_their_bytes(self):
        for precision, tolerance in (("fp32", 1e-6), ("bf16", 1e-5)):
            plain, want, plain_bytes = self.run_of(precision, precision=precision)
            for name, more in (("-w", []), ("-w-o", [OFFLOAD]),
                               ("-w-a", ["memory.activation_checkpoint=full"])):
                plan, losses, measured = self.run_of(precision + name, WEIGHTS, *more,
                                                     precision=precision)
                self.assert_close(losses, want, tolerance)
                fell, planned = plain_bytes - measured, plain["total_bytes"] - plan["total_bytes"]
                print(
                    f"  {precision}{name}: fell by {fell / 2**20:.0f} MiB, planned {planned / 2**20:.0f}"
                )
                self.assertGreater(fell, 0)
                self.assertLess(abs(fell - planned), 0.05 * plain_bytes)
        _, eager, _ = self.run_of("eager", WEIGHTS, "run.execution=eager")
        _, graph, _ = self.run_of("graph", WEIGHTS)
        self.assertEqual(eager, graph)

    def test_weights_on_the_disk_have_the_bits_of_those_on_the_host_wherever_the_optimizer_is(self):
        folder = self.folder / "disk"
        folder.mkdir()
        disk = [
            "memory.parameter_offload=disk", f"memory.optimizer_offload.folder={folder}",
            "checkpoint.asynchronous=false"
        ]
        for precision in ("fp32", "bf16"):
            for name, where in (("none", "none"), ("cpu", "cpu"), ("disk", "disk"),
                                ("half", "cpu, share: 0.5")):
                optimizer = [] if where == "none" else [
                    f"memory.optimizer_offload={{where: {where}}}"
                ]
                host, want, _ = self.run_of(f"{precision}-{name}-w", WEIGHTS, *optimizer,
                                            "checkpoint.asynchronous=false", precision=precision)
                plan, losses, _ = self.run_of(f"{precision}-{name}-d", *optimizer, *disk,
                                              precision=precision)
                self.assert_close(losses, want, 1e-6)
                self.assertLess(plan["host_bytes"], host["host_bytes"])
                self.assertGreater(plan["disk_bytes"], host.get("disk_bytes", 0))
        for name, settings in (("eager", ["run.execution=eager"]),
                               ("ahead", ["memory.optimizer_offload.read_ahead=8"])):
            _, losses, _ = self.run_of(name, *disk, *settings)
            _, want, _ = self.run_of(name + "-w", WEIGHTS)
            self.assert_close(losses, want, 1e-6)
        _, want, _ = self.run_of("backward-w", WEIGHTS, OFFLOAD, *IN_BACKWARD)
        _, losses, _ = self.run_of("backward-d", "memory.optimizer_offload.where=disk", *disk,
                                   *IN_BACKWARD)
        self.assert_close(losses, want, 1e-6)
        self.run_of("out", steps=3)
        _, want, _ = self.run_of("whole")
        _, losses, _ = self.run_of("out", "memory.optimizer_offload.where=disk", *disk)
        self.assert_close(losses, want, 1e-5)

    def test_weights_on_the_host_with_updates_in_backward_evaluations_in_bf16_and_resumed(self):
        _, want, _ = self.run_of("plain", *IN_BACKWARD)
        for name, more in (("w", []), ("w-o", [OFFLOAD])):
            _, losses, _ = self.run_of(name, WEIGHTS, *more, *IN_BACKWARD)
            self.assert_close(losses, want, 1e-5)
        _, want, _ = self.run_of("whole", "eval.precision=bf16", precision="fp32")
        self.run_of("out", "eval.precision=bf16", precision="fp32", steps=3)
        _, losses, _ = self.run_of("out", WEIGHTS, "eval.precision=bf16",
                                   "checkpoint.asynchronous=true", precision="fp32")
        self.assert_close(losses, want, 1e-6)

    @needs_gpus(2)
    def test_weights_of_two_ranks_on_their_hosts(self):
        for mode in ("ddp", "zero3"):
            cut = [f"parallel={{mode: {mode}, world_size: 2}}"]
            _, want, _ = self.run_of(mode, *cut)
            for name, more in (("-w", [WEIGHTS]), ("-w-o", [WEIGHTS, OFFLOAD]), ("-d", [
                    "memory.parameter_offload=disk", "memory.optimizer_offload=disk"
            ])):
                _, losses, _ = self.run_of(mode + name, *more, *cut)
                self.assert_close(losses, want, 1e-5)

    @needs_gpus(2)
    def test_each_of_two_ranks_has_its_share_on_the_host(self):
        for mode in ("ddp", "zero2"):
            cut = [f"parallel={{mode: {mode}, world_size: 2}}"]
            _, want, _ = self.run_of(mode, *cut)
            _, losses, _ = self.run_of(mode + "-o", OFFLOAD, *cut)
            self.assert_close(losses, want, 1e-5)


if __name__ == "__main__":
    main()
