"""A folder as scripts/trainx-export writes one, of a small causal model: no torch is needed for
it."""

import hashlib
import json
import math
import random
import struct

VOCABULARY, HIDDEN, LAYERS = 50, 16, 2


def safetensors(tensors):
    """name -> (dims, numbers), all f32."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dims, numbers) in tensors.items():
        begin, data = len(data), data + struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Module:
    """Nodes over numbered values: inputs, then parameters, then what nodes make."""

    def __init__(self, name, inputs, parameters, dtype):
        self.count = len(inputs) + len(parameters)
        self.all = {
            "name": name,
            "inputs": [{"name": i, "dtype": t} for i, t in inputs],
            "parameters": [{"name": p, "dtype": dtype} for p in parameters],
            "constants": [],
            "nodes": [],
        }

    def call(self, op, *args, overload="", **kwargs):
        """A list is of numbers; a plain number is a value; None is absent."""

        def argument(a):
            is_value = isinstance(a, int) and not isinstance(a, bool)
            return {"value": a} if is_value else a

        node = {"op": f"aten::{op}", "args": [argument(a) for a in args], "out": [self.count]}
        node |= {"overload": overload} if overload else {}
        node |= {"kwargs": kwargs} if kwargs else {}
        self.all["nodes"].append(node)
        self.count += 1
        return self.count - 1

    def done(self, result, output=None):
        self.all |= {"results": [result], "outputs": [output] if output else []}
        return self.all


def modules(dtype):
    embeddings = Module("embeddings", [("tokens", "i64")], ["embed.weight"], dtype)
    yield embeddings.done(embeddings.call("embedding", 1, 0), "embeddings.0")
    before = "embeddings.0"
    for layer in range(LAYERS):
        names = [f"layers.{layer}.{part}" for part in ("norm.weight", "up.weight", "down.weight")]
        m = Module(f"layer{layer}", [(before, dtype)], names, dtype)
        normed = m.call("layer_norm", 0, [HIDDEN], 1, None, 1e-5)
        inner = m.call("gelu", m.call("linear", normed, 2), approximate="tanh")
        dropped = m.call("dropout", m.call("linear", inner, 3), 0.1, True)
        before = f"layer{layer}.0"
        yield m.done(m.call("add", 0, dropped, overload="Tensor"), before)
    head = Module("head", [(before, dtype)], ["head.weight"], dtype)
    yield head.done(head.call("linear", 0, 1))


def dims():
    yield "embed.weight", [VOCABULARY, HIDDEN]
    for layer in range(LAYERS):
        yield f"layers.{layer}.norm.weight", [HIDDEN]
        yield f"layers.{layer}.up.weight", [4 * HIDDEN, HIDDEN]
        yield f"layers.{layer}.down.weight", [HIDDEN, 4 * HIDDEN]
    yield "head.weight", [VOCABULARY, HIDDEN]


def write(folder):
    folder.mkdir()
    draw = random.Random("exported")
    parameters = dict(dims())
    graph = {
        "format": 1,
        "parameters": parameters,
        "unused": [],
        "constants": {},
        "graphs": {t: {"modules": list(modules(t))} for t in ("f32", "bf16")},
    }
    weights = {
        n: (d, [draw.gauss(0, 0.1) for _ in range(math.prod(d))]) for n, d in parameters.items()
    }
    files = {
        "graph.json": (json.dumps(graph) + "\n").encode(),
        "constants.safetensors": safetensors({}),
        "model.safetensors": safetensors(weights),
    }
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    hashes.pop("model.safetensors")
    config = {
        "model_type": "of_the_net",
        "architectures": ["OfTheNet"],
        "torch_dtype": "float32",
        "trainx_export": {
            "format": 1, "task": "causal_lm", "vocab_size": VOCABULARY, "fixed": [],
            "min_length": 1, "max_positions": 32, "num_labels": 0, "sha256": hashes,
        },
    }  # fmt: skip
    files["config.json"] = (json.dumps(config, indent=2) + "\n").encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
