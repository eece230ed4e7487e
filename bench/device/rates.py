"""Sustained rates of one GPU, for the time estimate of `trainx plan --gpu`: matrix products, attention, memory traffic, launches.

    python3 bench/device/rates.py [OUT.json]      needs torch and a GPU; under two minutes
    python3 bench/device/rates.py OUT.json --tf32   adds matrix products in tf32 to a file that lacks them
    python3 bench/device/rates.py OUT.json --host   adds copies to and from pinned host memory

GPT-2 124M's shapes with 64 x 1024 tokens, random data, each measured for seconds on end, so that the power limit acts as in training.
Attention counts multiply-adds under the causal mask only, forward 2 and backward 5 products, as lib/operations/attention does.
"""
import json
import platform
import sys
import time

import torch

ROWS, C, T, H, D = 65536, 768, 1024, 12, 64


def sustained(step, work, seconds=4.0):
    """work per second of calling step over and over; the first second warms up."""
    for limit in (1.0, seconds):
        torch.cuda.synchronize()
        began, calls = time.perf_counter(), 0
        while time.perf_counter() - began < limit:
            for _ in range(8):
                step()
            calls += 8
            torch.cuda.synchronize()
        took = time.perf_counter() - began
    return work * calls / took


def gemms(dtype):
    products, flops = [], 0
    for n, k in ((3 * C, C), (C, C), (4 * C, C), (C, 4 * C)):
        x, w, y = (torch.randn(s, device="cuda", dtype=dtype) for s in ((ROWS, k), (n, k), (ROWS, n)))
        products += [(x, w.t()), (y, w), (y.t(), x)]         # forward, input gradient, weight gradient
        flops += 3 * 2 * ROWS * n * k
    outs = [torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=dtype) for a, b in products]
    return lambda: [torch.mm(a, b, out=o) for (a, b), o in zip(products, outs)], flops


def attention(dtype):
    b = ROWS // T
    q, k, v = (torch.randn(b, H, T, D, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
    g = torch.randn(b, H, T, D, device="cuda", dtype=dtype)

    def step():
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)
        q.grad = k.grad = v.grad = None
    return step, 7 * 2.0 * b * H * D * T * (T + 1) / 2


def traffic():
    a, b, c = (torch.randn(2**29, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    return lambda: torch.add(a, b, out=c), 3 * a.numel() * 2


def launch_seconds():
    x = torch.zeros(32, device="cuda")
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.add_(1)
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(1000):
                x.add_(1)
    return 1 / sustained(graph.replay, 1000, 1.0)


def products_alone(allow_tf32):
    torch.backends.cuda.matmul.allow_tf32 = allow_tf32
    rate = sustained(*gemms(torch.float32))
    torch.backends.cuda.matmul.allow_tf32 = False
    return rate


def host_link():
    """As offloaded activations go: 64 MiB pieces, one direction at a time; the slower one counts."""
    host, device = torch.empty(2**30, dtype=torch.uint8, pin_memory=True), torch.empty(2**30, dtype=torch.uint8, device="cuda")
    pieces = list(zip(host.split(2**26), device.split(2**26)))
    out = sustained(lambda: [h.copy_(d, non_blocking=True) for h, d in pieces], 2**30, 2.0)
    back = sustained(lambda: [d.copy_(h, non_blocking=True) for h, d in pieces], 2**30, 2.0)
    return {"to_host_bytes_per_s": out, "from_host_bytes_per_s": back, "host_bytes_per_s": min(out, back)}


def main():
    if "--tf32" in sys.argv or "--host" in sys.argv:         # only what an older file lacks, added to it
        rates = json.load(open(sys.argv[1]))
        assert rates["gpu"] == torch.cuda.get_device_name(), rates["gpu"]
        if "--tf32" in sys.argv:
            rates["tf32"] = {"gemm_flops_per_s": products_alone(True)}
        if "--host" in sys.argv:
            rates |= host_link()
        open(sys.argv[1], "w").write(json.dumps(rates, indent=2) + "\n")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    rates = {"gpu": torch.cuda.get_device_name(), "memory_bytes": torch.cuda.get_device_properties(0).total_memory, "torch": torch.__version__,
             "python": platform.python_version(), "memory_bytes_per_s": sustained(*traffic()), "launch_s": launch_seconds()}
    for name, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        rates[name] = {"gemm_flops_per_s": sustained(*gemms(dtype)), "attention_flops_per_s": sustained(*attention(dtype))}
    rates["tf32"] = {"gemm_flops_per_s": products_alone(True)}
    rates |= host_link()
    text = json.dumps(rates, indent=2)
    print(text)
    if len(sys.argv) > 1:
        open(sys.argv[1], "w").write(text + "\n")


main()
