"""Every value of a config.json: with another value, and without it, trainx computes what
transformers computes of the same tensors, or says what it does not compute. A reader that ignored
a value, or took another default, differs.

TRAINX_FAMILIES=llama,qwen3*    only these cases of tiny_families.py
"""
import copy
import unittest

import families_test
import folder_values
import reference
from folder_values import TOLERANCE
from support import main, sampled

SEEN = 1e-4                 # a loss that moves by that share shows the value
OTHER_ACTIVATIONS = {"silu": "gelu", "gelu": "relu", "gelu_new": "gelu", "relu2": "silu",
                     "gelu_pytorch_tanh": "gelu", "relu": "gelu"}
# What a loss without dropout does not show, or names the kind of model itself.
NOT_HERE = {"attention_dropout", "attn_pdrop", "resid_pdrop", "embd_pdrop", "hidden_dropout",
            "residual_dropout", "embedding_dropout", "dropout", "layerdrop", "classifier_dropout",
            "classifier_dropout_prob", "model_type", "architectures", "dtype",
            "transformers_version", "initializer_range", "use_cache", "activation_dropout",
            "summary_first_dropout", "dropout_rate"}

# Files that transformers refuses although they say what to compute.
TAKEN = {
    ("ministral", "no head_dim"),                   # its default is hidden_size / heads
    ("hunyuan_v1_dense", "no head_dim"),            # its default is hidden_size / heads
    ("hunyuan_v1_dense", "no rope_parameters.factor"),      # which alpha does not need
    # yarn's default, which this family's scores take from the file alone
    ("deepseek_v3", "no rope_parameters.factor"),
    # a layer behind the model's predicts tokens further ahead: transformers knows them by number
    *((family, "num_hidden_layers = 3") for family in ("glm4_moe", "deepseek_v3")),
    ("smollm3", "no sliding_window"),               # layers are said to slide, by no window
    # layers are said to slide, and nothing does
    *((family, what) for family in ("qwen2", "qwen3")
      for what in ("use_sliding_window = False", "no use_sliding_window")),
}


def others(value):
    """Values beside this one that a file may have."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, *([value - 1] if value > 1 else [])]
    if isinstance(value, float):
        return [value * 1.5, value * 0.5] if value else [0.5]
    if isinstance(value, str):
        return [OTHER_ACTIVATIONS[value]] if value in OTHER_ACTIVATIONS else []
    if isinstance(value, list) and len(set(map(str, value))) > 1:
        return [value[1:] + value[:1]]
    return []


def variants(config):
    """(which value and what became of it, the config.json)"""
    for key, value in config.items():
        if key in NOT_HERE:
            continue
        places = [([key], value)]
        if isinstance(value, dict):
            places += [([key, k], v) for k, v in value.items()]
            places += [([key, k, i], w) for k, v in value.items() if isinstance(v, dict)
                       for i, w in v.items()]
        for path, old in places:
            for new in [*others(old), None]:                       # None: it is not there
                changed = copy.deepcopy(config)
                holder = changed
                for word in path[:-1]:
                    holder = holder[word]
                if new is None:
                    del holder[path[-1]]
                else:
                    holder[path[-1]] = new
                name = ".".join(map(str, path))
                yield f"{name} = {new}" if new is not None else f"no {name}", changed


def of_transformers(config):
    """The file that says the same to transformers, which takes the default of yarn's factor,
    max_position_embeddings / original_max_position_embeddings, for a null alone."""
    def with_factor(rope):
        if rope.get("rope_type") == "yarn" and "factor" not in rope:
            return rope | {"factor": None}
        return {k: with_factor(v) if isinstance(v, dict) else v for k, v in rope.items()}

    rope = config.get("rope_parameters")
    return config | {"rope_parameters": with_factor(rope)} if rope else config


class Values(folder_values.Folders):
    def variants(self, config):
        return variants(config)

    def check_case(self, case):
        config = self.make(case)
        tried = [("as it is", config), *self.variants(config)]
        answers = self.both(case, [changed for _, changed in tried], of_transformers)
        base, seen, refused = answers[0], 0, 0
        self.assertIsInstance(base[1], float, base[1])
        for (what, _), (w, g) in zip(tried, answers):
            with self.subTest(value=what):
                if isinstance(g, str):
                    refused += 1
                    continue
                if w is None and (config["model_type"], what) in TAKEN:
                    continue
                # a head is drawn, and said; what is not there is False for some classes
                if w is None and what in ("tie_word_embeddings = False", "no tie_word_embeddings"):
                    continue
                if w is None and what == "no pad_token_id":    # a default beyond this vocabulary
                    continue
                self.assertIsNotNone(w, f"transformers refuses what trainx trains: {g}")
                self.assertLess(abs(g - w) / w, TOLERANCE, (g, w, base[0]))
                seen += abs(w - base[0]) / base[0] > SEEN
        self.assertGreater(seen + refused, 0)
        print(f"  {case}: {len(tried) - 1} other values, {seen} change the loss, {refused} are "
              f"refused, all as transformers")


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class ConfigValues(folder_values.Decoders, Values):
    @sampled
    def test_a_value_means_what_it_means_for_transformers(self):
        for case in self.drawn(families_test.chosen(), few=1, more=4):      # all take half an hour
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
