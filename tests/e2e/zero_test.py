"""Shards of weights, states and gradients over several ranks: the losses of one rank, the memory that the plan says, checkpoints that any other cut goes on from."""
import json
import os
import pathlib
import signal
import struct
import time
import unittest

from ports import free_ports
from support import Trainx, main, sampled

RECIPE = """\
run: {{name: r, seed: {seed}, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 30}}
batch: {{global_batch_size: 24, micro_batch_size: {micro}}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: constant}}
checkpoint: {{every: {every} steps, keep_last: 9}}
eval: {{every: 10 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""
MODES = ("zero1", "zero2", "zero3")


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


def read_safetensors(path):
    """Bytes with type and shape by name."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    return {name: (t["dtype"], tuple(t["shape"]), raw[8 + length + t["data_offsets"][0]:8 + length + t["data_offsets"][1]]) for name, t in header.items() if name != "__metadata__"}


def tensors(folder, stem="model"):
    """Of a checkpoint, in one file or in shards."""
    found = {}
    for path in sorted(folder.glob(f"{stem}*.safetensors")):
        found |= read_safetensors(path)
    return found


class Zero(Trainx):
    def train(self, name, mode, world, *settings, **how):
        cut = [f"parallel.world_size={world}"] + ([f"parallel.mode={mode}"] if world > 1 else [])
        one_thread = self.environment(OMP_NUM_THREADS="1")   # so that ranks and single runs do not wait for each other's threads on two cores
        return self.run_trainx("train", "r.yaml", f"run.name={name}", *cut, *settings, env=one_thread, **how)

    def losses(self, name):
        return [m["loss"] for m in self.metrics(name)]

    def evals(self, name):
        lines = map(json.loads, (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines())
        return [m["eval_loss"] for m in lines if "eval_loss" in m]

    def latest(self, name):
        return self.folder / "outputs" / name / "latest"

    def write(self, steps=20, every=10, micro=2):
        self.recipe(RECIPE.format(seed=self.random.randrange(1000), steps=steps, every=every, micro=micro), "r.yaml")

    def plan(self, *settings):
        return json.loads(self.run_trainx("plan", "r.yaml", "--json", *settings).stdout.splitlines()[-1])

    @sampled
    def test_any_number_of_ranks_in_any_stage_has_the_losses_of_one(self):
        self.write()
        self.train("one", "single", 1)
        for mode in MODES:
            for world in self.drawn((2, 3, 4)):
                name = f"{mode}-{world}"
                self.train(name, mode, world)
                self.assertLess(largest_difference(self.losses(name), self.losses("one")), 1e-6, name)
                self.assertLess(largest_difference(self.evals(name), self.evals("one")), 1e-6, name)
                self.assertIn(f"mode: {mode}", (self.folder / "outputs" / name / "resolved.yaml").read_text())
        self.train("zero3-1", "single", 1, "parallel.mode=auto")
        self.assertEqual(self.losses("zero3-1"), self.losses("one"), "shards of one rank are the whole")

    def test_where_sums_are_made_in_the_same_order_ddp_and_shards_are_equal_to_the_bit(self):
        for world, micro, modes in ((2, 12, MODES), (3, 2, ("zero1",))):   # one micro-step; several, whose gradients stage 1 adds up before it sums over ranks, as ddp does
            self.write(micro=micro)
            self.train(f"ddp{world}", "ddp", world, "optimizer.max_grad_norm=0")   # the norm is the one sum that shards cut
            for mode in modes:
                name = f"{mode}-{world}"
                self.train(name, mode, world, "optimizer.max_grad_norm=0")
                self.assertEqual(self.losses(name), self.losses(f"ddp{world}"), name)
                for stem in ("model", "optimizer"):
                    self.assertEqual(tensors(self.latest(name), stem), tensors(self.latest(f"ddp{world}"), stem), name)

    @sampled
    def test_optimizers_that_update_whole_tensors_have_the_losses_of_one_rank(self):
        self.write(steps=12)
        for kind, optimizer in (("lamb", "{type: lamb, lr: 1e-2, options: {weight_decay: 0.1}}"), ("adafactor", "{type: adafactor, lr: 3e-3, options: {relative_step: false, beta1: 0.9, weight_decay: 0.1}}")):
            settings = (f"optimizer={optimizer}", "eval.every=6 steps")
            self.train(kind, "single", 1, *settings)
            for mode, world in self.drawn((("zero1", 2), ("zero2", 4), ("zero3", 3))):
                name = f"{kind}-{mode}-{world}"
                self.train(name, mode, world, *settings)
                self.assertLess(largest_difference(self.losses(name), self.losses(kind)), 1e-6, name)
                self.assertLess(largest_difference(self.evals(name), self.evals(kind)), 1e-6, name)
            self.train(f"{kind}-on", "zero2", 2, *settings, "run.duration=6 steps")
            self.train(f"{kind}-on", "zero3", 3, *settings)
            self.assertLess(largest_difference(self.losses(f"{kind}-on"), self.losses(kind)), 1e-6, "goes on from another cut's states")
            self.assertIn("sums over tensors", self.run_trainx("plan", "r.yaml", "parallel.world_size=2", "parallel.mode=zero2", settings[0]).stdout)

    def test_shards_in_groups_have_the_losses_of_one_rank_and_go_on_in_any_other_cut(self):
        self.write()
        self.train("one", "single", 1)
        for mode in MODES:
            self.train(mode, mode, 4, "parallel.shard_ranks=2")
            self.assertLess(largest_difference(self.losses(mode), self.losses("one")), 1e-6, mode)
            self.assertLess(largest_difference(self.evals(mode), self.evals("one")), 1e-6, mode)
            self.assertIn("shard_ranks: 2", (self.folder / "outputs" / mode / "resolved.yaml").read_text())
        for settings in (["optimizer={type: lamb, lr: 1e-2}"], ["precision.reduce=bf16"]):
            self.train(f"one {settings[0][:9]}", "single", 1, *(s for s in settings if "reduce" not in s), "run.duration=6 steps")
            self.train(f"groups {settings[0][:9]}", "zero2", 4, "parallel.shard_ranks=2", *settings, "run.duration=6 steps")
            tolerance = 1e-3 if "reduce" in settings[0] else 1e-6
            self.assertLess(largest_difference(self.losses(f"groups {settings[0][:9]}"), self.losses(f"one {settings[0][:9]}")), tolerance, settings)
        for first, second in (((4, "zero3", "parallel.shard_ranks=2"), (2, "zero1", "parallel.shard_ranks=auto")), ((3, "zero2", "parallel.shard_ranks=auto"), (4, "zero1", "parallel.shard_ranks=2"))):
            name = f"{first[1]}-{second[1]}"
            self.train(name, first[1], first[0], first[2], "run.duration=10 steps")
            self.train(name, second[1], second[0], second[2])
            self.assertLess(largest_difference(self.losses(name), self.losses("one")), 1e-6, name)

    def test_of_two_nodes_each_holds_all_shards(self):
        self.write(steps=6)
        self.train("one", "single", 1)
        port, = free_ports(1)
        flags = ("--nproc", "2", "--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port, "parallel.mode=zero3", "run.name=nodes")
        other = self.start_trainx("train", "r.yaml", "--node-rank", "1", *flags)
        self.run_trainx("train", "r.yaml", "--node-rank", "0", *flags)
        self.assertEqual(other.wait(60), 0)
        self.assertIn("shard_ranks: 2", (self.folder / "outputs" / "nodes" / "resolved.yaml").read_text())
        self.assertLess(largest_difference(self.losses("nodes"), self.losses("one")), 1e-6)

    def test_the_plan_of_groups_lists_what_goes_within_them_and_between_them(self):
        self.write()
        settings = ("parallel.world_size=4", "parallel.mode=zero2")
        groups = {e["name"]: e["bytes"] for e in self.plan(*settings, "parallel.shard_ranks=2")["exchanges"]}
        whole = {e["name"]: e["bytes"] for e in self.plan(*settings)["exchanges"]}
        self.assertNotIn("gradients of shards summed", whole)
        micro_steps = 3
        self.assertLess(abs(2 * micro_steps * groups["gradients of shards summed"] / groups["gradients scattered"] - 1), 0.05, "a shard of two, once a step")
        done = self.run_trainx("plan", "r.yaml", *settings, "parallel.shard_ranks=2", "--program")
        for text in ("zero2", "scatter among shards", "reduce among replicas", "gather among shards"):
            self.assertIn(text, done.stdout)

    def test_methods_go_together_with_shards(self):
        self.write(steps=8)
        self.train("plain", "single", 1)
        for number, (mode, settings, like) in enumerate((("zero3", ["memory.activation_checkpoint=full"], "plain"), ("zero3", ["memory.activation_offload=cpu", "model.options.num_layers=6"], None),
                                                         ("zero3", ["precision=bf16"], None), ("zero2", ["precision=fp16"], None), ("zero3", ["eval.precision=bf16"], None),
                                                         ("zero2", ["optimizer.type=adamw_8bit", "optimizer.options={min_8bit_size: 1000}"], None), ("zero2", ["precision.reduce=bf16"], "plain"))):
            if like is None:
                like = f"one{number}"
                self.train(like, "single", 1, *settings)
            self.train(f"two{number}", mode, 2, *settings)
            reduced = settings == ["precision.reduce=bf16"]
            tolerance = 1e-3 if reduced or any(s.startswith("precision=") or "8bit" in s for s in settings) else 1e-6
            self.assertLess(largest_difference(self.losses(f"two{number}"), self.losses(like)), tolerance, (mode, settings))
            # Sums of two ranks round otherwise, so that some 70 of 38,000 weights fall to the other side when an evaluation rounds them to bf16: up to 2.6e-6 was seen, where fp32 has 2e-9.
            of_evals = 1e-4 if settings == ["eval.precision=bf16"] else tolerance
            self.assertLess(largest_difference(self.evals(f"two{number}"), self.evals(like)), of_evals, (mode, settings))
            if reduced:
                self.assertGreater(largest_difference(self.losses(f"two{number}"), self.losses(like)), 1e-8, "rounded gradients leave a trace")

    def test_a_run_goes_on_in_another_world_and_mode(self):
        self.write()
        self.train("whole", "single", 1)
        for first, second in (((2, "zero3"), (3, "zero1")), ((1, "single"), (2, "zero2")), ((4, "zero2"), (1, "single"))):
            name = f"{first[1]}-{second[1]}"
            self.train(name, first[1], first[0], "run.duration=10 steps")
            self.train(name, second[1], second[0], "parallel.mode=" + (second[1] if second[0] > 1 else "auto"))
            self.assertLess(largest_difference(self.losses(name), self.losses("whole")), 1e-6, name)

    def test_a_model_leaves_its_shards_by_export_and_eval(self):
        self.write(steps=4)
        self.train("shards", "zero3", 3)
        names = {p.name for p in self.latest("shards").iterdir()}
        self.assertIn("model-00002-of-00003.safetensors", names)
        self.assertIn("model.safetensors.index.json", names)
        self.run_trainx("ckpt", "verify", "outputs/shards")
        self.run_trainx("export", "outputs/shards", "exported")
        self.assertEqual(read_safetensors(self.folder / "exported" / "model.safetensors"), tensors(self.latest("shards")))
        said = json.loads(self.run_trainx("eval", "outputs/shards", "--json").stdout.splitlines()[-1])
        self.assertLess(abs(said["eval_loss"] / self.evals("shards")[-1] - 1), 1e-2, "other held-out samples, the same model")

    def test_each_rank_takes_the_memory_that_the_plan_says(self):
        self.write(steps=3)
        more = ("model.options.hidden_size=128", "model.options.num_layers=4", "batch={global_batch_size: 4, micro_batch_size: 1}", "data.sequence_length=16", "eval.batches=1")
        arena, kept = {}, {}
        for mode in ("ddp", *MODES):
            plan = self.plan(*more, "parallel.world_size=2", f"parallel.mode={mode}")
            arena[mode] = plan["arena_bytes"]
            kept[mode] = {c["category"]: c["bytes"] for c in plan["memory"]}
            self.train(mode, mode, 2, *more)
            peak = max(m["peak_memory_bytes"] for m in self.metrics(mode))
            beside = kept[mode]["library calls"]
            self.assertLessEqual(abs(peak - arena[mode]), 0.03 * arena[mode] + beside, mode)
        for mode in MODES:
            self.assertLess(abs(kept[mode]["optimizer state"] / kept["ddp"]["optimizer state"] - 0.5), 0.02, mode)
        # In units of 4 bytes a parameter ddp keeps 4, zero1 1.5 of weights, 1 of gradients, 1 of states; zero2 about half of the gradients; zero3 half of everything, and what is under way.
        self.assertLess(arena["zero1"], 0.92 * arena["ddp"])
        self.assertLess(arena["zero2"], 0.95 * arena["zero1"])
        self.assertLess(arena["zero3"], 0.9 * arena["zero2"])
        self.assertLess(kept["zero3"]["weights"], 0.9 * kept["zero2"]["weights"])

    def test_the_plan_lists_what_ranks_exchange(self):
        self.write()
        text = {mode: self.run_trainx("plan", "r.yaml", "parallel.world_size=2", f"parallel.mode={mode}").stdout for mode in MODES}
        for mode in MODES:
            for line in ("weights gathered", "gradients scattered", "losses summed"):
                self.assertIn(line, text[mode])
        moved = {mode: {e["name"]: e["bytes"] for e in self.plan("parallel.world_size=2", f"parallel.mode={mode}")["exchanges"]} for mode in ("ddp", *MODES)}
        micro_steps = 6
        self.assertEqual(moved["zero2"]["gradients scattered"], micro_steps * moved["zero1"]["gradients scattered"])
        self.assertEqual(moved["zero1"]["weights gathered"], moved["zero2"]["weights gathered"])
        self.assertGreater(moved["zero3"]["weights gathered"], micro_steps * moved["zero2"]["weights gathered"])
        self.assertLess(abs(moved["zero1"]["gradients scattered"] / moved["ddp"]["gradients summed"] - 1), 0.05, "but for what shards are filled up with")

    def test_auto_takes_the_first_that_fits_and_says_why(self):
        self.write()
        more = ("model.options.hidden_size=256", "model.options.num_layers=4", "batch={global_batch_size: 4, micro_batch_size: 2}", "data.sequence_length=16", "parallel.world_size=2")
        total = {mode: self.plan(*more, f"parallel.mode={mode}")["total_bytes"] for mode in ("ddp", *MODES)}
        self.assertGreater(total["ddp"], total["zero1"])
        for mode in ("ddp", "zero1", "zero3"):
            if mode == "zero3" and total["zero3"] >= total["zero2"]:
                continue
            done = self.run_trainx("plan", "r.yaml", *more, f"memory.budget={total[mode]} B")
            self.assertIn(f"parallel.mode {mode}", done.stdout)
            if mode != "ddp":
                (line,) = [line for line in done.stdout.splitlines() if f"parallel.mode {mode}: " in line]
                self.check_sentence(f"plan.choice/parallel.mode {mode}", line.strip(), "any")
        self.refused("plan", "r.yaml", *more, "parallel.mode=ddp", f"memory.budget={total['zero1']} B", code=71, names=("memory.budget", "parallel.mode zero1"))

    def test_what_cannot_be_is_refused_in_a_sentence(self):
        self.write()
        for settings, key in ((["parallel.world_size=2", "optimizer.update_in_backward=true", "optimizer.max_grad_norm=0"], "optimizer.update_in_backward"),
                              (["parallel.world_size=1"], "parallel.mode"), (["parallel.world_size=4", "parallel.shard_ranks=3"], "parallel.shard_ranks"),
                              (["parallel.world_size=4", "parallel.shard_ranks=2", "parallel.mode=ddp"], "parallel.shard_ranks")):
            refusal = self.refused("train", "r.yaml", "run.name=refused", "parallel.mode=zero2", *settings, key=key)
            self.check_sentence(f"recipe.zero/{settings[-1]}", refusal.message)
            self.assertFalse((self.folder / "outputs" / "refused").exists())

    def test_killed_at_any_moment_of_saving_the_newest_checkpoint_that_verifies_goes_on(self):
        self.kill_and_go_on(2)

    def test_killed_groups_go_on_from_the_newest_checkpoint_that_verifies(self):
        self.kill_and_go_on(4, "parallel.shard_ranks=2")

    def kill_and_go_on(self, world, *settings):
        self.write(steps=25, every=1)
        self.train("whole", "zero2", world, "eval.every=1000 steps", *settings)
        for _ in range(3):
            run = self.start_trainx("train", "r.yaml", "run.name=killed", f"parallel.world_size={world}", "parallel.mode=zero2", "eval.every=1000 steps", *settings)
            end = time.monotonic() + self.random.uniform(0.5, 4)
            while time.monotonic() < end and run.poll() is None:
                time.sleep(0.01)
            if run.poll() is None:
                os.kill(run.pid, signal.SIGKILL)
            run.wait()
            self.wait_until_free("killed")
        self.train("killed", "zero2", world, "eval.every=1000 steps", *settings)
        self.assertEqual(self.losses("killed")[-1], self.losses("whole")[-1])
        self.assertEqual(tensors(self.latest("killed"), "optimizer"), tensors(self.latest("whole"), "optimizer"))

    def wait_until_free(self, name):
        """Until the killed launcher's workers, which hold the run's folder, are gone."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if not any(f"run.name={name}".encode() in cmdline or b"trainx-worker" in cmdline for cmdline in self.cmdlines()):
                return
            time.sleep(0.05)

    def cmdlines(self):
        """Of processes that work in this test's folder."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd") == str(self.folder):
                    yield pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue


if __name__ == "__main__":
    main()
