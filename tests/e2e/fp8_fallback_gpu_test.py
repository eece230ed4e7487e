"""precision.fallback on a GPU: the tests of fp8_fallback_test.py, on captured steps."""
import fp8_fallback_test
from gpu_checks import needs_capability, needs_gpus
from support import main


@needs_capability(8.9)
class FallbackOnGpu(fp8_fallback_test.Fallback):
    on_gpu = True

    @needs_gpus(2)
    def test_ranks_agree(self):
        super().test_ranks_agree()


if __name__ == "__main__":
    main()
