"""Packed rows on a GPU as a user trains on them: the losses of documents one a row and of the CPU,
the same bits after a resume, more tokens a second."""
import json
import statistics

from gpu_checks import alone, needs_gpus
from packed_documents import LENGTH, PackedDocuments
from support import main, sha256

SMALL = """\
run: {{name: {name}, seed: 3, duration: 30 steps, device: gpu}}
model: {{type: gpt2, size: 124m}}
data: {{type: jsonl, train: {data}.jsonl, sequence_length: 1024{more}}}
batch: {{global_batch_size: 32, micro_batch_size: 32}}
precision: bf16
optimizer: {{type: adamw, lr: 3e-4}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""


@needs_gpus(1)
class PackingOnGpu(PackedDocuments):
    on_gpu = True

    def run_of(self, train, *settings, **how):
        """Losses, the held-out one last."""
        self.train(train, *settings, **how)
        return self.numbers(train + "".join(s for s in "".join(settings) if s.isalnum()))

    def test_the_losses_of_documents_one_a_row_and_of_the_cpu(self):
        packed = self.prepare()[""]["rows"]
        alone = self.run_of("alone", "run.device=gpu", batch=24, micro=4,
                            more=f", pad_to: [{LENGTH}]")
        self.close(self.run_of("packed", "run.device=cpu", batch=packed), alone, 1e-5)
        for precision, tolerance in (("fp32", 1e-5), ("tf32", 2e-3), ("bf16", 2e-2),
                                     ("{compute: fp16, loss_scale: 1024}", 2e-2)):
            with self.subTest(precision=precision):
                whole = self.run_of("packed", "run.device=gpu", f"precision={precision}",
                                    batch=packed)
                print(
                    f"  {precision}: largest relative difference of losses {max(abs(a / b - 1) for a, b in zip(whole, alone)):.1e}"
                )
                self.close(whole, alone, tolerance)
                # Whatever cuts the step another way changes no bit, or just the order of sums.
                self.assertEqual(
                    self.run_of("packed", "run.device=gpu", f"precision={precision}",
                                "memory.activation_checkpoint=full", batch=packed), whole)
                self.assertEqual(
                    self.run_of("packed", "run.device=gpu", f"precision={precision}",
                                "run.execution=eager", batch=packed), whole)
                self.close(
                    self.run_of("packed", "run.device=gpu", f"precision={precision}",
                                "model.attention=math", batch=packed), alone, tolerance)
        answer = json.loads(
            self.run_trainx("eval", "outputs/packedrundevicegpuprecisionfp32",
                            "--json").stdout.splitlines()[-1])
        self.assertLess(abs(answer["eval_loss"] / alone[-1] - 1), 1e-5)

    def test_the_same_bits_after_a_resume(self):
        packed = self.prepare(count=40)[""]["rows"]
        for precision in ("fp32", "bf16"):
            with self.subTest(precision=precision):
                how = (f"precision={precision}", "run.device=gpu")
                self.train("packed", *how, batch=packed,
                           dropout=0.1)  # writes r.yaml, which the others take
                for name, durations in (("whole", ("6 steps", )), ("again", ("6 steps", )),
                                        ("halves", ("3 steps", "6 steps"))):
                    for duration in durations:
                        self.run_trainx("train", "r.yaml", f"run.name={name}-{precision}",
                                        f"run.duration={duration}", *how)
                for name in ("again", "halves"):
                    self.assertEqual(sha256(self.weights(f"{name}-{precision}")),
                                     sha256(self.weights(f"whole-{precision}")), name)
                    self.assertEqual([m["loss"] for m in self.metrics(f"{name}-{precision}")],
                                     [m["loss"] for m in self.metrics(f"whole-{precision}")])

    def test_attention_that_keeps_no_documents_apart_is_refused(self):
        self.prepare()
        for kind in ("cudnn", "flash", "efficient"):
            refused = self.train("packed", f"model.attention={kind}", "precision=bf16", batch=2,
                                 expect=78).stderr
            self.assertRegex(refused, rf"model\.attention: {kind}\b.*\bdata\.packed\b")

    @alone("compares rates")
    def test_packed_rows_train_more_documents_a_second(self):
        """GPT-2 124M on documents of 50 to 1024 tokens, a quarter of a row on average. That its
        runs end well says that they were attested."""
        lengths = [min(1024, 50 + int(self.random.expovariate(1 / 220))) for _ in range(1200)]
        with open(self.folder / "alone.jsonl", "w") as out:
            for length in lengths:
                print(
                    json.dumps({"input_ids": [self.random.randrange(50257) for _ in range(length)]
                                }), file=out)
        about = self.pack("alone", "packed", 1024)
        self.assertLess(about["padding_share"], 0.1)
        rates = {}
        for name, more in (("alone", ""), ("packed", ", packed: true")):
            self.run_trainx(
                "train", self.recipe(SMALL.format(name=name, data=name, more=more), f"{name}.yaml"))
            rates[name] = statistics.median(m["tokens_per_second"] for m in self.metrics(name)[10:])
        plan = json.loads((self.folder / "outputs" / "packed" / "plan.json").read_text())
        self.assertTrue(plan["attention"].startswith("auto: trainx's "), plan["attention"])
        last = self.metrics("packed")[-1]
        print(
            f"  packed documents train {rates['packed'] / rates['alone']:.2f} times as many tokens a second: {rates}; {last['device_memory_bytes']} bytes, planned {plan['total_bytes']}"
        )
        self.assertLess(abs(last["device_memory_bytes"] / plan["total_bytes"] - 1), 0.05)
        self.assertGreater(rates["packed"] / rates["alone"], 1.5)


if __name__ == "__main__":
    main()
