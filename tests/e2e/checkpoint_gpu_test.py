"""checkpoint.asynchronous on a GPU: what is read beside the next step is what was there before it,
whatever the step writes."""
import json
import shutil

from gpu_checks import needs_gpus
from support import Trainx, main, sha256, write_tokens

# Some 0.8 GB of weights and states, of which reading takes longer than a step does.
RECIPE = """\
run: {{name: {name}, seed: 3, duration: 6 steps, deterministic: true, device: gpu}}
model: {{type: gpt2, options: {{num_layers: 4, num_heads: 12, hidden_size: 768, max_positions: 64}}}}
data: {{type: tokens, train: tokens.bin, sequence_length: 64}}
batch: {{global_batch_size: 2, micro_batch_size: 1}}
precision: {precision}
optimizer: {{type: adamw, lr: 1e-2}}
checkpoint: {{every: 3 steps, keep_last: 99}}
metrics: {{every: 1 steps}}
"""
BEHIND, WAITED = "checkpoint.asynchronous=true", "checkpoint.asynchronous=false"


@needs_gpus(1)
class CheckpointsBesideGpu(Trainx):
    on_gpu = True

    def setUp(self):
        super().setUp()
        write_tokens(self.folder / "tokens.bin",
                     [self.random.randrange(50257) for _ in range(4096)])

    def files(self, name, *settings, precision="bf16"):
        """Hashes of what each checkpoint holds. Steps are so short here that training waits for the
        write before all the same; what it costs bench/checkpoints measures."""
        path = self.recipe(RECIPE.format(name=name, precision=precision), f"{name}.yaml")
        lines = map(json.loads,
                    self.run_trainx("train", path, "--json", *settings).stdout.splitlines())
        saves = [line for line in lines if line.get("event") == "checkpoint"]
        print(f"  {name}: waited", [round(e["waited_s"], 3) for e in saves], "of",
              [round(e["seconds"], 3) for e in saves])
        self.assertEqual([e["step"] for e in saves], [3, 6])
        self.run_trainx("ckpt", "verify", f"outputs/{name}")
        found = {
            f"{c.name}/{f.name}": sha256(f)
            for c in sorted((self.folder / "outputs" / name).glob("checkpoint-*"))
            for f in c.glob("*.safetensors")
        }
        shutil.rmtree(self.folder / "outputs" / name)
        return found

    def test_checkpoints_are_those_that_training_waits_for(self):
        for precision in ("bf16", "fp32"):
            want = self.files(f"{precision}-waited", WAITED, precision=precision)
            self.assertEqual(len(set(want.values())), 4, "twice other weights and states")
            self.assertEqual(self.files(f"{precision}-behind", BEHIND, precision=precision), want)

    def test_so_they_are_without_a_graph_and_with_updates_in_backward(self):
        for name, settings in (("eager", ["run.execution=eager"]), ("in-backward", [
                "batch.micro_batch_size=2", "optimizer.max_grad_norm=0",
                "optimizer.update_in_backward=true"
        ]), ("on-host", ["memory.optimizer_offload=cpu"])):
            with self.subTest(name):
                want = self.files(f"{name}-waited", WAITED, *settings)
                self.assertEqual(self.files(f"{name}-behind", BEHIND, *settings), want)

    def test_that_is_what_auto_does_where_the_host_has_memory(self):
        path = self.recipe(RECIPE.format(name="auto", precision="bf16"), "auto.yaml")
        plan = json.loads(self.run_trainx("plan", path, "--json").stdout.splitlines()[-1])
        self.assertIn("checkpoint.asynchronous true: ", "".join(plan["choices"]))
        want = self.files("waited", WAITED)
        self.assertEqual(self.files("auto"), want)

    @needs_gpus(2)
    def test_so_they_are_of_several_gpus(self):
        for mode in ("ddp", "dp", "zero1"):
            with self.subTest(mode):
                settings = ["parallel.world_size=2", f"parallel.mode={mode}"]
                want = self.files(f"{mode}-waited", WAITED, *settings)
                self.assertEqual(self.files(f"{mode}-behind", BEHIND, *settings), want)


if __name__ == "__main__":
    main()
