"""Dropout of attention, label smoothing and z-loss on a GPU: the losses of the CPU, whose random
numbers are the same."""

from attention_dropout_test import CASES, AttentionDropout as Shared
from gpu_checks import in_parts, needs_gpus, part_of
from support import main

TOLERANCE = {"fp32": 2e-5, "tf32": 5e-3, "bf16": 3e-2}


@needs_gpus(1)
class AttentionDropoutOnGpu(Shared):
    on_gpu = True

    @in_parts(2)
    def test_losses_are_those_of_the_cpu(self):
        for case in part_of(CASES):
            self.check(case, case, "model.options.attention_dropout=0.4")

    def test_terms_of_the_loss_are_those_of_the_cpu(self):
        for case in ("gpt2", "bert_classes"):
            self.check(case, f"{case}-terms", "model.options.label_smoothing=0.2",
                       "model.options.z_loss=0.05", "model.options.initializer_range=0.2")

    def check(self, case, name, *on):
        recipe = self.write(case)
        want = self.losses_of(recipe, f"{name}-cpu", *on)
        for precision, tolerance in TOLERANCE.items():
            for i, cut in enumerate(((), ("batch.micro_batch_size=2",
                                          "memory.activation_checkpoint=full"))):
                with self.subTest(case=case, on=on, precision=precision, cut=cut):
                    got = self.losses_of(recipe, f"{name}-{precision}-{i}", *on, *cut,
                                         "run.device=gpu", f"precision={precision}")
                    worst = max(abs(g / w - 1) for g, w in zip(got, want))
                    print(f"  {name}, {precision}: largest relative difference {worst:.1e}")
                    self.assertEqual(len(got), len(want))
                    self.assertLess(worst, tolerance)


def load_tests(loader, tests, pattern):             # not those of the CPU once more
    return loader.loadTestsFromNames(
        ("test_losses_are_those_of_the_cpu", "test_terms_of_the_loss_are_those_of_the_cpu"),
        AttentionDropoutOnGpu)


if __name__ == "__main__":
    main()
