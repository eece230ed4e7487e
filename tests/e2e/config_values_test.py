"""Every value of a config.json: with another value, and without it, trainx computes what
transformers computes of the same tensors, or says what it does not compute. A reader that ignored
a value, or took another default, differs.

TRAINX_FAMILIES=llama,qwen3*    only these cases of tiny_families.py
"""
import concurrent.futures
import copy
import json
import shutil
import unittest

import reference
import tiny_families
from families_test import JOBS, RECIPE, TOLERANCE, chosen
from support import Trainx, main, sampled, write_tokens

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


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class ConfigValues(Trainx):
    forks = True
    RECIPE, REFERENCE = RECIPE, "reference_decoder.py"

    def setUp(self):
        super().setUp()
        drawn = self.random.random()
        self.random.seed(3)             # one data set
        self.tokens = self.folder / "tokens.bin"
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        # within a vocabulary that is smaller by one, too
        ids = [self.random.randrange(first, end - 1) for _ in range(8 * 32 + 1)]
        write_tokens(self.tokens, ids)
        self.random.seed(drawn)

    def loss(self, case, number, config):
        """Of trainx; None: it refuses the file, in a sentence that names it."""
        name = f"{case}-{number}"
        folder = self.folder / name
        folder.mkdir()
        (folder / "model.safetensors").symlink_to(self.folder / case / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config))
        recipe = self.RECIPE.format(folder=folder, tokens=self.tokens)
        done = self.run_trainx(
            "train", self.recipe(recipe, f"{name}.yaml"), f"run.name={name}",
            "run.duration=1 step", "--json", expect=None)
        if done.returncode == 0:
            loss = self.metrics(name)[0]["loss"]
            shutil.rmtree(self.folder / "outputs" / name)
            return loss
        events = [json.loads(e) for e in done.stdout.splitlines() if '"event":"error"' in e]
        self.assertTrue(events and done.returncode in (65, 78), done.stdout + done.stderr)
        said = events[-1]["message"] + "".join(p["message"] for p in events[-1].get("problems", []))
        self.assertRegex(said, f"{name}|config.json|model.init_from|data.sequence_length")
        return said

    def check_case(self, case):
        self.reference_of("make", case, str(self.folder / case), 3)
        config = json.loads((self.folder / case / "config.json").read_text())
        tried = [("as it is", config), *variants(config)]
        paths = []
        for i, (_, changed) in enumerate(tried):
            paths.append(self.folder / f"{case}-{i}.json")
            paths[-1].write_text(json.dumps(of_transformers(changed)))
        want = self.reference_of("first_loss", str(self.folder / case), str(self.tokens),
                                 *map(str, paths))
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            got = list(pool.map(lambda t: self.loss(case, t[0], t[1][1]), enumerate(tried)))
        self.assertIsInstance(got[0], float, got[0])
        seen = refused = 0
        for (what, _), w, g in zip(tried, want, got):
            with self.subTest(value=what):
                if isinstance(g, str):
                    refused += 1
                    continue
                if w is None and (config["model_type"], what) in TAKEN:
                    continue
                if w is None and what == "tie_word_embeddings = False":  # a head is drawn, and said
                    continue
                if w is None and what == "no pad_token_id":    # a default beyond this vocabulary
                    continue
                self.assertIsNotNone(w, f"transformers refuses what trainx trains: {g}")
                self.assertLess(abs(g - w) / w, TOLERANCE, (g, w, want[0]))
                seen += abs(w - want[0]) / want[0] > SEEN
        self.assertGreater(seen + refused, 0)
        print(f"  {case}: {len(tried) - 1} other values, {seen} change the loss, {refused} are "
              f"refused, all as transformers")

    def reference_of(self, *words):
        return reference.ask(self, self.REFERENCE, "all", asks=[list(words)])[0]

    @sampled
    def test_a_value_means_what_it_means_for_transformers(self):
        for case in self.drawn(chosen(), few=1, more=4):        # all take half an hour
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
