"""Keys of a config.json that a configuration class of transformers reads, each with other values.

    reference_class_values.py FOLDER      [[key, {key: other value}], ...] for the folder's
                                          config.json; TAKEN_OUT: without the key

Keys are those of scripts/make_class_keys and those that all configurations have. A value is of the
kind of the folder's, of the class's default, or of the key that it is another name of; a switch is
also false, 0, null and "none", and a key of no known kind has one value of each kind.
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys

ACTIVATIONS = ("gelu", "relu", "silu", "gelu_new", "gelu_fast", "quick_gelu", "relu2", "none")
SWITCHES = (False, 0, None, "none")
ANY = (True, 1, 0.5, *SWITCHES)
ROPES = ({"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0}, {}, None)
# Of a key without a value in the folder and in its class.
KNOWN = {"rope_scaling": ROPES,
         "rope_parameters": ({"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}, {}, None),
         "rope_theta": (100.0, 0, None, "none"),
         "partial_rotary_factor": (0.5, 0, None, "none")}
# Of keys that all classes have: one model of each kind shows them.
OF_ALL = {"quantization_config": ({}, {"quant_method": "fp8"}, None),
         "per_layer_config": ({}, {"0": {"num_attention_heads": 2}}, None),
         "pruned_heads": ({}, {"0": [1]}, None), "dtype": ("float32", None),
         "torch_dtype": ("float32", None)}
# Older folders have these instead of rope_parameters.
OLDER, TAKEN_OUT = re.compile("rope|rotary|theta"), {"taken": "out"}
SHOWN_BY = ("llama", "bert", "t5")
# The kind of model itself, and what names it. Dropouts are not here either: a loss without
# dropout does not show them.
NOT_HERE = {"model_type", "architectures", "transformers_version"}


def class_keys():
    path = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "make_class_keys"
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(made)
    return made


def others(key, value):
    if isinstance(value, bool):
        return [not value, *SWITCHES]
    if isinstance(value, int):
        return [value + 1, 0, None]
    if isinstance(value, float):
        return [value * 1.5 if value else 0.5, 0.0, None]
    if isinstance(value, str):
        return list(ACTIVATIONS) if "act" in key else ["none", None]
    if isinstance(value, list):
        return [value[1:] + value[:1], [], None]
    if isinstance(value, dict):
        return [{}, None]
    return list(ANY)


def values(folder):
    import transformers
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    kind = transformers.CONFIG_MAPPING[config["model_type"]]
    defaults, names = kind().to_dict(), kind.attribute_map
    common = transformers.PreTrainedConfig().to_dict().keys()
    keys = class_keys().table([kind.model_type])[kind.model_type]
    read, given = {key.removeprefix("+") for key in keys}, set()
    if kind.model_type in SHOWN_BY:
        read |= common | OF_ALL.keys()
    for key in sorted(read):
        if key in NOT_HERE or key.startswith("_") or "drop" in key:
            continue
        there = [of[name] for of in (config, defaults) for name in (key, names.get(key))
                 if of.get(name) is not None]
        for value in (KNOWN | OF_ALL).get(key) or others(key, there[0] if there else None):
            said = key, json.dumps(value)
            same = key in config and said[1] == json.dumps(config[key])
            if not same and said not in given:
                given.add(said)
                yield key, {key: value}
                if value is None and key in config:     # a null may mean no more than that
                    yield key, {key: TAKEN_OUT}
                if value is not None and key != "rope_parameters" and OLDER.search(key):
                    yield key, {"rope_parameters": TAKEN_OUT, key: value}


if __name__ == "__main__":
    print(json.dumps(list(values(sys.argv[1]))))
