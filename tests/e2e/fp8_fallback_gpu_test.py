"""precision.fallback on a GPU: the tests of fp8_fallback_test.py, on captured steps."""
import fp8_fallback_test
from gpu_checks import needs_capability, needs_gpus
from support import main


@needs_capability(8.9)
class FallbackOnGpu(fp8_fallback_test.Fallback):
    on_gpu = True

    @needs_gpus(2)
    def test_ranks_agree(self):
        recipe = self.saturating()
        self.train(recipe, "one", "run.duration=12 steps", "model.options.dropout=0.0",
                   "parallel.world_size=1")
        one = self.losses("one")
        for mode in ("ddp", "dp", "zero3"):
            self.train(recipe, mode, "run.duration=12 steps", "parallel.world_size=2",
                       "model.options.dropout=0.0", f"parallel.mode={mode}")
            self.assertEqual(self.fallbacks(mode), [(4, fp8_fallback_test.C_ATTN, 1)], mode)
            ranks = self.losses(mode)
            self.assertEqual(sorted(ranks), sorted(one), mode)
            self.assertLess(max(abs(ranks[s] / one[s] - 1) for s in one), 2e-2, mode)


if __name__ == "__main__":
    main()
