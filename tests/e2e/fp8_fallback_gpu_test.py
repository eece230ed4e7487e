"""precision.fallback on a GPU: the tests of fp8_fallback_test.py, on captured steps."""
import unittest

import fp8_fallback_test
from fp8_gpu_test import capability
from gpu_checks import COUNT
from support import main


@unittest.skipUnless(capability() >= 8.9, "no GPU here that multiplies fp8")
class FallbackOnGpu(fp8_fallback_test.Fallback):
    on_gpu = True

    @unittest.skipIf(COUNT < 2, "takes two GPUs")
    def test_ranks_agree(self):
        super().test_ranks_agree()


if __name__ == "__main__":
    main()
