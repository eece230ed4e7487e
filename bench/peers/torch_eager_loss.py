"""The losses of GPT-2 in torch eager, bf16 autocast, step by step: what trainx's losses from the same weights and batches are held against.

    torch_eager_loss.py --make-folder FOLDER                  a random GPT-2 124M as a Hugging Face folder
    torch_eager_loss.py --make-tokens FILE [--count N]        tokens that can be learned, in llm.c's format
    torch_eager_loss.py FOLDER TOKENS OUT.json --attention math|flash|cudnn [--steps 500] [--global-batch 8] [--length 1024] [--lr 6e-4]

Sample i is tokens [i*T, i*T + T], step s takes samples s*G to (s+1)*G, as trainx does with `shuffle: false`. Constant learning rate.
"""
import argparse
import array
import contextlib
import json
import pathlib
import random
import sys
import time

import gpt2_model
import session

MAGIC, VERSION, HEADER = 20240520, 1, 256           # llm.c: 256 int32, then uint16


def make_folder(folder, size):
    import transformers
    layers, heads, width = gpt2_model.SIZES[size]
    transformers.set_seed(1)
    config = transformers.GPT2Config(n_layer=layers, n_head=heads, n_embd=width, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)


def make_tokens(path, count, seed):
    """A chain of order 2 over 2048 of the ids: the two tokens before choose one of 2048 contexts, and a context has 8 successors (1/2 ... 1/128).

    Its entropy is 1.4 nats a token, that of uniform ids 7.6: the loss falls far, and keeps falling for thousands of steps.
    """
    generator = random.Random(seed)
    ids = generator.sample(range(gpt2_model.VOCABULARY), 2048)
    successors = [[generator.randrange(2048) for _ in range(8)] for _ in range(2048)]
    a = b = 0
    tokens = array.array("H")
    for pick in generator.choices(range(8), weights=[64, 32, 16, 8, 4, 2, 1, 1], k=count):
        a, b = b, successors[(a & 31) << 6 | b & 63][pick]
        tokens.append(ids[b])
    header = array.array("i", [MAGIC, VERSION, count] + [0] * (HEADER - 3))
    if sys.byteorder == "big":
        tokens.byteswap(), header.byteswap()
    pathlib.Path(path).write_bytes(header.tobytes() + tokens.tobytes())


def read_tokens(path):
    import numpy
    import torch
    magic, version, count = numpy.fromfile(path, dtype="<i4", count=3)
    if (magic, version) != (MAGIC, VERSION):
        raise SystemExit(f"{path} is no token file of llm.c: magic {magic}, version {version}")
    return torch.from_numpy(numpy.fromfile(path, dtype="<u2", count=count, offset=4 * HEADER).astype("int64"))


def losses(args):
    import safetensors.torch
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    device = session.device_of(args.device)
    torch.set_float32_matmul_precision("high")
    config = json.loads((args.folder / "config.json").read_text())
    model = gpt2_model.Gpt2(config["n_layer"], config["n_head"], config["n_embd"], config["n_positions"], config["vocab_size"])
    model.load_hugging_face(safetensors.torch.load_file(args.folder / "model.safetensors"))
    model.to(device)
    optimizer = gpt2_model.adamw(model, args.lr)
    tokens = read_tokens(args.tokens)
    need = args.steps * args.global_batch * args.length + 1
    if len(tokens) < need:
        raise SystemExit(f"{args.tokens} holds {len(tokens)} tokens, and {args.steps} steps of {args.global_batch} x {args.length} take {need}")
    backends = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    micro = args.micro_batch or args.global_batch
    parts = args.global_batch // micro
    kept = []                                       # on the device: no step waits for the host
    with sdpa_kernel(backends[args.attention]) if args.attention in backends else contextlib.nullcontext():
        for step in range(args.steps):
            first = step * args.global_batch
            starts = range(first * args.length, (first + args.global_batch) * args.length, args.length)
            rows = torch.stack([tokens[i:i + args.length + 1] for i in starts]).to(device)
            total = torch.zeros((), device=device)
            for part in rows.split(micro):
                with torch.autocast(device.type, torch.bfloat16):
                    loss = model(part[:, :-1], part[:, 1:]) / parts
                loss.backward()
                total += loss.detach()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            kept.append(total)
    return torch.stack(kept).tolist(), torch.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("tokens", type=pathlib.Path, nargs="?")
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--attention", choices=("math", "flash", "cudnn", "default"))
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--global-batch", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, help="samples at once where the global batch does not fit; divides it")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=6e-4)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--make-folder", metavar="FOLDER")
    parser.add_argument("--make-tokens", metavar="FILE")
    parser.add_argument("--size", choices=gpt2_model.SIZES, default="124m", help="of --make-folder")
    parser.add_argument("--count", type=int, help="tokens of --make-tokens; what the steps take where it is not named")
    parser.add_argument("--seed", type=int, default=1, help="of --make-tokens")
    args = parser.parse_args()
    if args.make_folder:
        make_folder(args.make_folder, args.size)
    if args.make_tokens:
        make_tokens(args.make_tokens, args.count or args.steps * args.global_batch * args.length + 1, args.seed)
    if args.make_folder or args.make_tokens:
        return
    if not (args.folder and args.tokens and args.out and args.attention):
        parser.error("FOLDER, TOKENS, OUT.json and --attention are needed")
    if args.micro_batch and args.global_batch % args.micro_batch:
        parser.error("--micro-batch must divide --global-batch")
    began = time.monotonic()
    values, version = losses(args)
    settings = {name: getattr(args, name) for name in ("attention", "steps", "global_batch", "length", "lr")}
    args.out.write_text(json.dumps({**settings, "torch": version, "seconds": time.monotonic() - began, "losses": values}) + "\n")


main()
