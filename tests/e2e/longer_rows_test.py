"""Rows beyond the positions of a folder: refused with the key that stretches them, and stretched as
transformers does."""
import json
import unittest

import reference
import tiny_families
from families_test import RECIPE, TOLERANCE
from support import Trainx, main, sampled, write_tokens

POSITIONS, LENGTH = 20, 32


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class LongerRows(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.random.seed(3)
        self.tokens = self.folder / "tokens.bin"
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        write_tokens(self.tokens, [self.random.randrange(first, end)
                                   for _ in range(8 * LENGTH + 1)])

    def reference(self, *commands):
        return reference.ask(self, "reference_decoder.py", "all", asks=commands)

    def make(self, case):
        """A folder for fewer positions than a row has."""
        self.reference(["make", case, str(self.folder / case), 3])
        path = self.folder / case / "config.json"
        config = json.loads(path.read_text())
        config["max_position_embeddings"] = POSITIONS
        path.write_text(json.dumps(config))
        recipe = RECIPE.format(folder=self.folder / case, tokens=self.tokens)
        return config, self.recipe(recipe, f"{case}.yaml")

    @sampled
    def test_positions_are_stretched_as_transformers_does(self):
        for case in self.drawn(("llama", "qwen3", "gpt_neox")):
            config, recipe = self.make(case)
            with self.subTest(case=case):
                self.refused("validate", recipe, key="data.sequence_length",
                             names="model.options.rope_scaling")
            for kind in ("linear", "yarn"):
                with self.subTest(case=case, kind=kind):
                    self.check(case, config, recipe, kind)

    def check(self, case, config, recipe, kind):
        name = f"{case}-{kind}"
        self.run_trainx("train", recipe, f"model.options.rope_scaling={kind}", f"run.name={name}",
                        "run.duration=1 step", "optimizer.lr=0")
        got = self.metrics(name)[0]["loss"]
        self.run_trainx("export", f"outputs/{name}", f"{name}-out")
        scaling = {"rope_type": kind, "factor": LENGTH / POSITIONS}
        if kind == "yarn":
            scaling["original_max_position_embeddings"] = POSITIONS
        holder = config.get("rope_parameters")
        wanted = self.folder / f"{name}.json"
        wanted.write_text(json.dumps({
            **config, "max_position_embeddings": LENGTH,
            **({"rope_parameters": {**holder, **scaling}} if holder else
               {"rope_scaling": scaling})}))
        plain, want, exported = self.reference(
            ["first_loss", str(self.folder / case), str(self.tokens),
             str(self.folder / case / "config.json"), str(wanted),
             str(self.folder / f"{name}-out" / "config.json")])[0]
        self.assertLess(abs(got - want) / want, TOLERANCE, (got, want))
        self.assertEqual(want, exported)
        self.assertGreater(abs(plain - want) / want, TOLERANCE, "stretching is not seen")

    def test_what_cannot_be_stretched_is_refused(self):
        key = "model.options.rope_scaling"
        _, recipe = self.make("llama")
        self.refused("validate", recipe, f"{key}=yarn", "data.sequence_length=16", names=key)
        _, recipe = self.make("phi3")
        self.refused("validate", recipe, f"{key}=yarn", names="rope_type")
        for case in ("llama_llama3", "opt", "gemma3"):
            _, recipe = self.make(case)
            self.refused("validate", recipe, f"{key}=linear", names=key)
        new = self.recipe(
            "run: {name: new}\nmodel: {type: llama, options: {rope_scaling: yarn}}\n"
            f"data: {{type: tokens, train: {self.tokens}, sequence_length: 32}}\n"
            "optimizer: {type: adamw, lr: 1e-3}\n", "new.yaml")
        self.refused("validate", new, key=key)


if __name__ == "__main__":
    main()
