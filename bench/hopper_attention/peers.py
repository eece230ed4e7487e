#!/usr/bin/env python3
"""Times attention of trainx for Hopper, of cuDNN and of FlashAttention, the latter two as PyTorch's
scaled_dot_product_attention calls them: random bf16, medians of CUDA events after a warm-up.

  bench/hopper_attention/peers.py build/bench/bench_hopper_attention

Shapes are those of the group `times` of main.cu without windows and documents. TFLOP/s count
4 T^2 D a head forward and 2.5 times that backward, half of it if causal.
"""

import math
import re
import statistics
import subprocess
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

NAME = re.compile(
    r"(B (\d+) T (\d+) H (\d+)(?: K (\d+))? D (\d+)( causal)?( dropped)?) +[\d.]+ .* ms (\S+) (\S+)"
)
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


def row(name, who, product, forward, backward):
    print(
        f"{name:34} {who:8} {product / forward:8.1f} {2.5 * product / backward:8.1f} "
        f"{3.5 * product / (forward + backward):8.1f}  ms {forward:.3f} {backward:.3f}",
        flush=True,
    )


def main():
    ours = subprocess.run([sys.argv[1], "times"], stdout=subprocess.PIPE, text=True, check=True)
    print(torch.__version__, torch.cuda.get_device_name(), "cuDNN", torch.backends.cudnn.version())
    print(f"{'shape':34} {'':8} {'fwd':>8} {'bwd':>8} {'both':>8}  TFLOP/s")
    for line in ours.stdout.splitlines():
        if not (found := NAME.match(line)):
            continue
        name, causal = found[1], found[7] is not None
        batch, tokens, heads, key_heads, head_size = (int(found[g] or 0) for g in range(2, 7))
        key_heads = key_heads or heads
        product = 4 * batch * heads * head_size * tokens**2 * (0.5 if causal else 1) * 1e-9
        row(name, "trainx", product, float(found[9]), float(found[10]))
        # packed, as trainx has them
        sizes = [heads, key_heads, key_heads]
        qkv = torch.randn(batch, tokens, sum(sizes), head_size, device="cuda", dtype=torch.bfloat16)
        q, k, v = (x.transpose(1, 2).detach().requires_grad_() for x in qkv.split(sizes, dim=2))
        how = {"is_causal": causal, "enable_gqa": key_heads != heads}
        if found[8]:
            how["dropout_p"] = 0.1
        for who, backend in BACKENDS.items():
            try:
                with sdpa_kernel(backend):
                    forward = median_ms(lambda: scaled_dot_product_attention(q, k, v, **how))
                    out = scaled_dot_product_attention(q, k, v, **how)
                    d_out = torch.randn_like(out)
                    backward = median_ms(
                        lambda: torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)
                    )
            except RuntimeError as error:
                print(f"{name:34} {who:8} {str(error).splitlines()[0]}")
                continue
            row(name, who, product, forward, backward)


main()
