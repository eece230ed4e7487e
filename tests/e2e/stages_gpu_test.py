"""Stages of layers on several GPUs: the losses of one GPU, the same bits again, and checkpoints that
other meshes resume. Skipped where there are fewer than two."""

from gpu_checks import needs_gpus
from support import Trainx, main, sha256

RECIPE = """\
run: {{name: r, seed: 3, duration: {steps} steps, hang_limit: 30 s}}
model: {{type: gpt2, options: {{num_layers: 8, num_heads: 4, hidden_size: 256, max_positions: 128, dropout: 0.1}}}}
data: {{type: stories, sequence_length: 128, samples: 4096, eval_samples: 64}}
batch: {{global_batch_size: 48, micro_batch_size: 4}}
precision: {{compute: fp32}}
optimizer: {{type: adamw, lr: 1e-3}}
schedule: {{type: cosine, warmup: 5 steps}}
checkpoint: {{every: {steps} steps}}
eval: {{every: 10 steps, batches: 1}}
metrics: {{every: 1 steps}}
"""
TWO = ["parallel.pipeline=2", "parallel.world_size=2"]
CHUNKS = ["parallel.pipeline_schedule=interleaved", "parallel.pipeline_chunks=2"]


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))


@needs_gpus(2)
class StagesOnGpus(Trainx):
    on_gpu = True

    def train(self, name, *settings, steps=20, expect=0):
        return self.run_trainx("train", self.recipe(RECIPE.format(steps=steps), "r.yaml"),
                               f"run.name={name}", *settings, expect=expect)

    def losses(self, name, key="loss"):
        return [m[key] for m in self.metrics(name) if key in m]

    def assert_near(self, name, base, bound):
        for key in ("loss", "eval_loss"):
            self.assertLess(largest_difference(self.losses(name, key), self.losses(base, key)),
                            bound, f"{name} {key}")

    def test_two_stages_have_the_losses_of_one_gpu(self):
        self.train("one", "parallel.world_size=1")
        self.train("1f1b", *TWO)
        self.train("interleaved", *TWO, *CHUNKS)
        for name in ("1f1b", "interleaved"):
            self.assert_near(name, "one", 2e-5)

    def test_methods_go_together_with_stages(self):
        for name, settings in (
                ("bf16", ["precision.compute=bf16"]),
                ("fp8", ["precision.compute=bf16", "precision.products=fp8",
                         "precision.small_products=fp8"]),
                ("full", ["precision.compute=bf16", "memory.activation_checkpoint=full"]),
                ("host", ["precision.compute=bf16", "memory.optimizer_offload.where=cpu"]),
                ("lora", ["precision.compute=bf16", "model.adapter={type: lora, rank: 8}"])):
            self.train(f"{name}-one", *settings, "parallel.world_size=1")
            self.train(name, *settings, *TWO)
            self.assert_near(name, f"{name}-one", 2e-2 if name == "fp8" else 5e-3)

    def test_deterministic_runs_repeat_to_the_bit_and_resume_on_one_gpu(self):
        for name in ("a", "b"):
            self.train(name, *TWO, *CHUNKS, "run.deterministic=true")
        self.assertEqual(*(sha256(self.folder / f"outputs/{name}/latest/model.safetensors")
                           for name in ("a", "b")))
        self.train("a", "parallel.world_size=1", steps=30)
        self.train("one", "parallel.world_size=1", steps=30)
        self.assert_near("a", "one", 1e-3)

    @needs_gpus(4)
    def test_four_gpus_have_the_losses_of_one(self):
        self.train("one", "parallel.world_size=1")
        for name, degrees in (("four", ["parallel.pipeline=4"]),
                              ("tensor", ["parallel.pipeline=2", "parallel.tensor=2"]),
                              ("context", ["parallel.pipeline=2", "parallel.context=2"]),
                              ("zero1", ["parallel.pipeline=2", "parallel.mode=zero1"])):
            self.train(name, *degrees, "parallel.world_size=4")
            self.assert_near(name, "one", 2e-5)


if __name__ == "__main__":
    main()
