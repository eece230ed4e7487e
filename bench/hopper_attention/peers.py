#!/usr/bin/env python3
"""Times PyTorch's scaled_dot_product_attention, cuDNN's and FlashAttention's, on the shapes of
bench/hopper_attention/main.cu: random bf16, medians of CUDA events after a warm-up.

TFLOP/s count 4 T^2 D a head forward and 2.5 times that backward, half of it if causal.
"""

import math
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# batch, tokens, heads, head size, causal
SHAPES = [
    (32, 1024, 12, 64, True),
    (16, 1024, 25, 64, True),
    (8, 4096, 12, 64, True),
    (32, 1024, 12, 64, False),
    (4, 4096, 16, 128, True),
    (2, 8192, 16, 128, True),
    (8, 2048, 16, 128, True),
    (4, 4096, 16, 128, False),
]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def median_ms(run):
    """Median milliseconds of run(), called several times in a row so that the GPU never waits."""

    def time(calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / calls

    time(1)
    once = time(3)
    time(max(1, int(50 / once)))
    calls = max(1, math.ceil(3 / once))
    return statistics.median(time(calls) for _ in range(15))


def main():
    print(torch.__version__, torch.cuda.get_device_name(), "cuDNN", torch.backends.cudnn.version())
    print(f"{'shape':30} {'backend':8} {'fwd':>8} {'bwd':>8} {'both':>8}  TFLOP/s")
    for batch, tokens, heads, head_size, causal in SHAPES:
        # packed, as trainx has them
        qkv = torch.randn(batch, tokens, 3, heads, head_size, device="cuda", dtype=torch.bfloat16)
        q, k, v = (
            qkv[:, :, part].transpose(1, 2).detach().requires_grad_() for part in range(3)
        )
        product = 4 * batch * heads * head_size * tokens**2 * (0.5 if causal else 1) * 1e-9
        for name, backend in BACKENDS.items():
            shape = f"B {batch} T {tokens} H {heads} D {head_size}{' causal' if causal else ''}"
            try:
                with sdpa_kernel(backend):
                    forward = median_ms(
                        lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)
                    )
                    out = scaled_dot_product_attention(q, k, v, is_causal=causal)
                    d_out = torch.randn_like(out)
                    backward = median_ms(
                        lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)
                    )
            except RuntimeError as error:
                print(f"{shape:30} {name:8} {str(error).splitlines()[0]}")
                continue
            print(
                f"{shape:30} {name:8} {product / forward:8.1f} {2.5 * product / backward:8.1f} "
                f"{3.5 * product / (forward + backward):8.1f}  ms {forward:.3f} {backward:.3f}"
            )


main()
