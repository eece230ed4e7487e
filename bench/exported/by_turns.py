#!/usr/bin/env python3
"""Exported models against PyTorch eager with fused AdamW, by turns on one machine.

    by_turns.py [gpt2 llama t5] [--threads 2] [--turns 3] [--steps 12]

Needs the reference Python and TRAINX_BUILD_DIR. Prints the median step of each turn in ms, the
ratio of the medians, and the peak memory of both in MiB.
"""
import argparse
import array
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH, LENGTH, VOCABULARY, WIDTH, LAYERS, HEADS = 4, 256, 8192, 256, 4, 4
SKIPPED = 3     # first steps of a turn


def config(name, transformers):
    if name == "gpt2":
        return transformers.GPT2Config(
            n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, vocab_size=VOCABULARY, n_positions=LENGTH,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    if name == "llama":
        return transformers.LlamaConfig(
            hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=2, vocab_size=VOCABULARY,
            max_position_embeddings=LENGTH)
    return transformers.T5Config(
        d_model=WIDTH, d_kv=WIDTH // HEADS, d_ff=4 * WIDTH, num_layers=LAYERS,
        num_decoder_layers=LAYERS, num_heads=HEADS, vocab_size=VOCABULARY, dropout_rate=0.0,
        decoder_start_token_id=0)


def tool():
    loader = importlib.machinery.SourceFileLoader("trainx_export",
                                                  str(ROOT / "scripts" / "trainx-export"))
    spec = importlib.util.spec_from_loader("trainx_export", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def torch_turn(folder, name, threads, steps):
    """Runs in a process of its own; prints step times and the process's peak memory."""
    import torch
    import transformers
    torch.set_num_threads(threads)
    of = transformers.AutoModelForSeq2SeqLM if name == "t5" else transformers.AutoModelForCausalLM
    model = of.from_pretrained(folder, dtype=torch.float32).train()
    model.config.use_cache = False
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    generator, times = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        rows = torch.randint(3, VOCABULARY, (BATCH, LENGTH + 1), generator=generator)
        begin = time.perf_counter()
        optimizer.zero_grad()
        given = {"decoder_input_ids": rows[:, 1:]} if name == "t5" else {}
        logits = model(input_ids=rows[:, :-1], **given).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begin))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"ms": statistics.median(times[SKIPPED:]), "MiB": peak / 1024}))


def trainx_turn(folder, name, threads, steps):
    recipe = {
        "run": {"name": "turn", "duration": f"{steps} steps", "device": "cpu"},
        "model": {"type": "exported", "init_from": "out",
                  "options": {"task": "seq2seq" if name == "t5" else "causal_lm"}},
        "data": {"type": "jsonl" if name == "t5" else "tokens",
                 "train": "rows.jsonl" if name == "t5" else "rows.bin",
                 "sequence_length": LENGTH},
        "batch": {"global_batch_size": BATCH, "micro_batch_size": BATCH},
        "precision": "fp32", "metrics": {"every": "1 steps"},
        "optimizer": {"type": "adamw", "lr": 1e-4}}
    (folder / "turn.yaml").write_text(json.dumps(recipe))
    trainx = pathlib.Path(os.environ.get("TRAINX_BUILD_DIR", ROOT / "build")) / "bin/trainx"
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    subprocess.run([trainx, "train", "turn.yaml", "--overwrite"], cwd=folder, check=True,
                   capture_output=True, env=environment)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    lines = (folder / "outputs/turn/metrics.jsonl").read_text().splitlines()
    times = [m["step_time_ms"] for m in map(json.loads, lines) if "step_time_ms" in m]
    print(json.dumps({"ms": statistics.median(times[SKIPPED:]), "MiB": peak / 1024}))


def turn(who, folder, name, a):
    done = subprocess.run([sys.executable, __file__, "--turn", who, str(folder), name,
                           "--threads", str(a.threads), "--steps", str(a.steps)],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(name, a):
    import torch
    import transformers
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        torch.manual_seed(0)
        of = transformers.AutoModelForSeq2SeqLM if name == "t5" \
            else transformers.AutoModelForCausalLM
        of.from_config(config(name, transformers)).save_pretrained(folder / "model")
        task = "seq2seq" if name == "t5" else "causal_lm"
        tool().export(folder / "model", folder / "out", task, LENGTH, low=())
        ids = torch.randint(3, VOCABULARY, (64 * LENGTH + 1,)).tolist()
        header = array.array("i", [20240520, 1, len(ids)] + [0] * 253)
        (folder / "rows.bin").write_bytes(header.tobytes() + array.array("H", ids).tobytes())
        (folder / "rows.jsonl").write_text("".join(json.dumps(
            {"input_ids": ids[k * LENGTH:(k + 1) * LENGTH],
             "labels": ids[k * LENGTH + 1:(k + 1) * LENGTH + 1]}) + "\n" for k in range(64)))
        found = {"torch": [], "trainx": []}
        for _ in range(a.turns):
            found["torch"].append(turn("torch", folder / "model", name, a))
            found["trainx"].append(turn("trainx", folder, name, a))
    median = {who: statistics.median(t["ms"] for t in turns) for who, turns in found.items()}
    most = {who: max(t["MiB"] for t in turns) for who, turns in found.items()}
    for who, turns in found.items():
        print(f"{name} {who}: {' '.join(format(t['ms'], '.1f') for t in turns)} ms a step, "
              f"{most[who]:.0f} MiB")
    print(f"{name}: trainx {median['torch'] / median['trainx']:.2f} times as fast", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["gpt2", "llama", "t5"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--turn", nargs=2, metavar=("WHO", "FOLDER"))
    a = parser.parse_args()
    if a.turn:
        run = torch_turn if a.turn[0] == "torch" else trainx_turn
        return run(pathlib.Path(a.turn[1]), a.models[0], a.threads, a.steps)
    for name in a.models:
        compare(name, a)


if __name__ == "__main__":
    main()
