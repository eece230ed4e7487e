#!/usr/bin/env python3
"""Writes an export of a GPT-2 with new weights, for bench/drive --suite exported.

    make_export.py --size 124m OUT      nothing where OUT is there already
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"124m": (12, 12, 768), "test": (2, 2, 64)}     # layers, heads, width
LENGTH = 1024


def exporter():
    loader = importlib.machinery.SourceFileLoader("trainx_export",
                                                  str(ROOT / "scripts" / "trainx-export"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("trainx_export", loader))
    loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    if args.out.exists():
        return
    sys.dont_write_bytecode = True
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    layers, heads, width = SIZES[args.size]
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        n_layer=layers, n_head=heads, n_embd=width, n_positions=LENGTH, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0)
    with tempfile.TemporaryDirectory() as folder:
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        print("\n".join(exporter().export(pathlib.Path(folder), args.out, "causal_lm", LENGTH)))


if __name__ == "__main__":
    main()
