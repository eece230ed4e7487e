"""torch's fused AdamW on CPUs over fp32 weights, timed as bench_host_update times ours.

    python bench/peers/torch_adamw_cpu.py [--elements N] [--threads N]
"""
import argparse
import statistics
import time

import torch

BYTES = 4 + 2 * (4 + 4 + 4)             # the gradient read, weight and two states read and written
REPETITIONS = 15


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=64 << 20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for how in ("fused", "foreach"):
        weights = torch.full((args.elements,), 1e-3, requires_grad=True)
        weights.grad = torch.full_like(weights, 1e-3)
        optimizer = torch.optim.AdamW([weights], lr=1e-4, **{how: True})
        optimizer.step()
        seconds = []
        for _ in range(REPETITIONS):
            begin = time.perf_counter()
            optimizer.step()
            seconds.append(time.perf_counter() - begin)
        median = statistics.median(seconds)
        print(f"torch AdamW {how:8} {median * 1e3:7.1f} ms  {BYTES:4} bytes each  {BYTES * args.elements / median / 1e9:6.1f} GB/s")


if __name__ == "__main__":
    main()
