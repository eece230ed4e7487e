"""Files that never answer, never end or lie about their size, in the place of each that trainx
reads: a sentence within the limits of time and memory."""
import json
import os
import shutil
import struct
import time

NAME = "bad inputs"
SECONDS, MEMORY = 20, 4 << 30
REFUSALS = (2, 65, 66, 74, 78)


def safetensors(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def tensor(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def weights():
    """Model files that are none, by name."""
    name = "transformer.wte.weight"
    return {
        "empty": b"", "seven bytes": bytes(7), "a header of 2^64-1": safetensors(b"{}", size=2**64 - 1),
        "a header of blanks": safetensors(b"{}" + b" " * 10_000_000),
        "overlapping": safetensors({"a": tensor([2], 0, 8), "b": tensor([2], 4, 12)}, bytes(12)),
        "beyond its end": safetensors({name: tensor([2**40], 0, 2**42)}),
        "a shape that overflows": safetensors({name: tensor([2**33, 2**33], 0, 16)}, bytes(16)),
        "many tensors": safetensors({f"t{i}": tensor([0], 0, 0) for i in range(300_000)}),
        "nested": safetensors(b"[" * 1_000_000),
        "noise": os.urandom(100_000),
    }


def texts():
    """Of config.json and tokenizer.json."""
    return {"empty": b"", "nested": b"[" * 200_000 + b"]" * 200_000, "noise": os.urandom(10_000),
            "cut": b'{"model_type": "gpt2"', "a long text": b'{"a": "' + b"x" * (200 << 20) + b'"}',
            "many layers": b'{"model_type": "gpt2", "n_layer": 1000000000}',
            "NUL": b'{"model_type": "gpt2\\u0000"}' + bytes(100)}


def endless(path):
    """Files that are none, in the place of `path`."""
    return {"a pipe": lambda: os.mkfifo(path), "/dev/zero": lambda: path.symlink_to("/dev/zero"),
            "a folder": path.mkdir, "a link to itself": lambda: path.symlink_to(path.name),
            "missing": lambda: None}


def cases(bench):
    """(in words, command) one after the other; each prepares its files first."""
    base, spoilt = bench.scratch / "base", bench.scratch / "spoilt"
    bench.run(*bench.train("whole-base", "one rank"))
    bench.run("export", bench.folder("whole-base"), base)

    def places():
        begun = bench.scratch / "begun.yaml"
        begun.write_text(f"""\
run: {{name: begun, duration: 2 steps}}
model: {{init_from: {spoilt}}}
data: {{type: stories, sequence_length: 32, samples: 64}}
batch: {{global_batch_size: 2, micro_batch_size: 2}}
optimizer: {{type: adamw}}
""")
        tokens = bench.scratch / "tokens.yaml"
        tokens.write_text(begun.read_text().replace("type: stories", "type: tokens").replace(
            "samples: 64", f"train: {spoilt}/data.bin").replace("name: begun", "name: tokens"))
        lines = bench.scratch / "lines.yaml"
        lines.write_text(tokens.read_text().replace("type: tokens", "type: jsonl").replace(
            "data.bin", "data.jsonl"))
        yield "model.safetensors", ["export", spoilt, "out"], weights()
        yield "config.json", ["export", spoilt, "out"], texts()
        yield "config.json", ["train", begun], texts()
        yield "tokenizer.json", ["generate", spoilt, "--prompt", "a", "--max-tokens", "1"], texts()
        yield "data.bin", ["train", tokens], {"empty": b"", "noise": os.urandom(1001)}
        yield "data.jsonl", ["train", lines], {"noise": os.urandom(1000), "nested": b"[" * 100_000,
                                               "a long line": b'{"text": "' + b"x" * (300 << 20)}
        yield "recipe.yaml", ["train", spoilt / "recipe.yaml"], {
            "noise": os.urandom(1000), "nested": b"[" * 100_000, "empty": b"",
            "aliases": b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
                b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9))
                for i in range(20))}

    for name, command, contents in places():
        path = spoilt / name
        make = {**{k: (lambda data=data: path.write_bytes(data)) for k, data in contents.items()},
                **endless(path)}
        for what, prepare in make.items():
            shutil.rmtree(spoilt, ignore_errors=True)
            shutil.rmtree(bench.scratch / "out", ignore_errors=True)
            shutil.copytree(base, spoilt)
            path.unlink(missing_ok=True)
            prepare()
            yield f"{name}, {what}: {command[0]}", command


def run(bench, tally):
    for what, command in cases(bench):
        began = time.monotonic()
        done = bench.run(*command, limit=SECONDS, memory=MEMORY)
        tally.rounds += 1
        tally.worst = max(tally.worst, time.monotonic() - began)
        if done.code is None:
            tally.add("hung", f"{what}: no answer")
        elif done.code == 0:
            tally.add("silent", f"{what}: is taken")
        elif done.code not in REFUSALS:
            tally.add("wrong", f"{what}: exit code {done.code}: {done.words()}")
