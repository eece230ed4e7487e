"""What two GPUs of a host exchange beside matrix products: NCCL's gathers and sums, by how many
multiprocessors they may take, and copies by the GPUs' own engines.

    python3 bench/device/links.py [OUT.json]      needs torch and two GPUs; a minute

A gather and a sum are of the size of a layer's weights, 109 million elements a shard; beside them
runs a product of 4096 rows again and again. `alone` and `beside` are milliseconds of one exchange.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

SHARD, TIMES, PRODUCTS = 109_000_000, 10, 60
PROCESSORS = (8, 16, 24, 32)


def product(device):
    a = torch.randn(4096, 4096, device=device, dtype=torch.bfloat16)
    b = torch.randn(4096, 28672, device=device, dtype=torch.bfloat16)
    out = torch.empty(4096, 28672, device=device, dtype=torch.bfloat16)
    return lambda: torch.mm(a, b, out=out)


def between(stream, work, times):
    """Events around `times` calls."""
    with torch.cuda.stream(stream):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(times):
            work()
        end.record()
    return begin, end


def collectives(rank, port, processors, told):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                      WORLD_SIZE="2", NCCL_MAX_CTAS=str(processors))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    full = torch.empty(2 * SHARD, dtype=torch.bfloat16, device="cuda")
    shard = torch.empty(SHARD, dtype=torch.bfloat16, device="cuda")
    gradient = torch.randn(2 * SHARD, device="cuda")
    summed = torch.empty(SHARD, device="cuda")
    multiply, side = product("cuda"), torch.cuda.Stream(priority=-1)

    def timed(work, products):
        for _ in range(2):
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            exchanged = between(side, work, TIMES)
            multiplied = between(torch.cuda.current_stream(), multiply, products)
            torch.cuda.synchronize()
        return (exchanged[0].elapsed_time(exchanged[1]) / TIMES,
                multiplied[0].elapsed_time(multiplied[1]) / max(products, 1))

    for name, work, moved in (
            ("gather bf16", lambda: dist.all_gather_into_tensor(full, shard), 2 * SHARD),
            ("sum f32", lambda: dist.reduce_scatter_tensor(summed, gradient), 4 * SHARD)):
        alone, beside = timed(work, 0)[0], timed(work, PRODUCTS)
        told.put({"exchange": name, "processors": processors, "bytes": moved, "alone_ms": alone,
                  "beside_ms": beside[0], "product_ms": beside[1],
                  "product_alone_ms": timed(lambda: None, PRODUCTS)[1],
                  "bytes_per_second_beside": 1e3 * moved / beside[0]})
    dist.destroy_process_group()


def copies():
    """Each GPU reads the other's shard."""
    source, target = ([torch.empty(SHARD, dtype=torch.bfloat16, device=f"cuda:{d}")
                       for d in (0, 1)] for _ in range(2))
    multiply = [product(f"cuda:{d}") for d in (0, 1)]
    for products in (0, PRODUCTS):
        for _ in range(2):
            for d in (0, 1):
                torch.cuda.synchronize(d)
            events = []
            for d in (0, 1):
                with torch.cuda.device(d):
                    events.append(between(
                        torch.cuda.Stream(d),
                        lambda d=d: target[d].copy_(source[1 - d], non_blocking=True), TIMES))
                    events.append(between(torch.cuda.current_stream(), multiply[d], products))
            for d in (0, 1):
                torch.cuda.synchronize(d)
        ms = [a.elapsed_time(b) for a, b in events]
        # the second GPU's copies wait for the first one's: torch orders them
        yield {"exchange": "copies bf16", "beside_products": products > 0, "bytes": 2 * SHARD,
               "ms": ms[0] / TIMES, "product_ms": ms[1] / max(products, 1),
               "bytes_per_second": 1e3 * 2 * SHARD * TIMES / ms[0]}


def main():
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    context = multiprocessing.get_context("spawn")
    told, rows, port = context.SimpleQueue(), [], 29600
    for processors in PROCESSORS:
        both = [context.Process(target=collectives, args=(r, port, processors, told))
                for r in (0, 1)]
        for process in both:
            process.start()
        # two exchanges of two ranks
        rows += [told.get() for _ in range(4)]
        for process in both:
            process.join()
        port += 1
    rows += list(copies())
    answer = {"machine": torch.cuda.get_device_name(0), "torch": torch.__version__,
              "measured": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "rows": rows}
    text = json.dumps(answer, indent=1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as out:
            out.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
