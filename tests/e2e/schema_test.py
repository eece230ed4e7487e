"""`trainx schema`: editors accept what trainx reads, and see what is wrong with keys, types, words
and ranges."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from support import LONG, ROOT, Trainx, main

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
REFERENCE = pathlib.Path(__file__).with_name("reference_schema.py")
GOOD, BAD = ROOT / "tests/recipes/good", ROOT / "tests/recipes/bad"

# Sentences of the reader about a key, a type, a word, a unit or a range. Rules between values,
# which come after it, say other things.
STRUCTURAL = re.compile("|".join([
    "unknown key", "is missing: ", "is empty: ", "must not be empty$", "must not be an empty list",
    "has no value", "is written '", "is too large a number", "must be a map of (keys|sections)",
    "must be a list(,| of maps,)", "must be true or false", "must be a (whole|finite) number",
    "must be a number( |,)", "must be text", "must be auto without quotes",
    r"must be one of .*, not ", "must be '.*', not ",
    r"must be (greater than 0|greater than 0 and at most 1|less than 0|0 or more|at least 0 and less than 1|between 0 and 1|at least \d+|between -?\d+ and \d+), not ",
    "must be a (duration|size|share) such as", "has no unit: ", "is not a (duration|size): ",
    "must be a number and a unit", "must not be negative, ", r"is not closed with '}'",
    r"inside '\$\{...\}' is not read", "is no interpolation", "names no environment variable"
]))
NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0x[0-9a-fA-F]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


def is_number(text):
    return NUMBER.fullmatch(text) is not None


def is_visible(sentence):
    """Does a problem remain once YAML has been read? How numbers, booleans and null are spelled is
    gone then: 010, 1., True, ~."""
    if re.search("is written '|has no value '", sentence):
        return False
    if re.search("must be true or false, not '(True|TRUE|False|FALSE)'", sentence):
        return False
    if found := re.search("must be a whole number, not '(.*?)'", sentence):
        return not is_number(found[1]) or found[1].startswith(
            ".") or not found[1].startswith("0x") and float(found[1]) % 1 != 0
    if found := re.search("must be a finite number, not '(.*?)'", sentence):
        return not is_number(found[1])
    if found := re.search("must be text, but '(.*?)' reads as", sentence):
        return is_number(found[1]) or found[1].lower() in ("true", "false")
    return True


def yaml_of(value):
    """Canonical spelling: JSON, but `auto` without quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {yaml_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml_of, value)) + "]"
    return "auto" if value == "auto" else json.dumps(value)


@unittest.skipUnless(
    PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with jsonschema (scripts/setup --reference installs one)"
)
class Schema(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        path = self.folder / "recipe.schema.json"
        self.run_trainx("schema", "--output", path)
        self.schema = json.loads(path.read_text())
        self.editor = subprocess.Popen([PYTHON, str(REFERENCE), str(path)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda:
                        (self.editor.stdin.close(), self.editor.stdout.close(), self.editor.wait()))

    def seen_in_editor(self, text):
        """What the schema says of a recipe; None where the text is no YAML."""
        self.editor.stdin.write(json.dumps({"yaml": text}) + "\n")
        self.editor.stdin.flush()
        return json.loads(self.editor.stdout.readline()).get("errors")

    def problems(self, path, cwd=None):
        """Sentences of `trainx validate` with their keys."""
        (answer,) = self.run_many([["validate", path]], cwd=cwd)
        self.assertIn(answer["code"], (0, 66, 78), answer["err"])
        return [
            found[1]
            for found in re.finditer(r"^.*?\.yaml:\d+:\d+: (.*)$", answer["err"], re.MULTILINE)
        ]

    def test_every_valid_recipe_satisfies_it(self):
        recipes = sorted(GOOD.rglob("*.yaml")) + [
            p for p in sorted((ROOT / "configs").rglob("*.yaml")) if p.parent.name != "cluster"]
        self.assertGreater(len(recipes), 12)
        for recipe in recipes:
            self.assertEqual(self.seen_in_editor(recipe.read_text()), [], recipe)

    def test_what_trainx_writes_satisfies_it(self):
        for name in ("quickstart", "gpt2", "text", "bert"):
            self.assertEqual(
                self.seen_in_editor(self.run_trainx("init", name, "--output", "-").stdout), [],
                name)
        for recipe in (ROOT / "configs/quickstart.yaml", ROOT / "configs/smoke/qwen3.yaml", *sorted(
            (ROOT / "configs/bench").glob("*.yaml"))):
            self.assertEqual(self.seen_in_editor(self.run_trainx("show", recipe).stdout), [],
                             recipe)

    def test_bad_recipes_are_refused_where_their_structure_is_at_fault(self):
        refused = 0
        for recipe in sorted(BAD.glob("*.yaml")):
            errors = self.seen_in_editor(recipe.read_text())
            if errors is None:              # no YAML at all: an editor says so without a schema
                continue
            found = [
                p for p in self.problems(recipe.relative_to(ROOT), cwd=ROOT)
                if STRUCTURAL.search(p) and is_visible(p)
            ]
            # A published size is a rule of the reader's that the schema knows; where an alias
            # repeats itself without end, so does the recipe.
            found += [recipe.stem] if recipe.stem in ("model_size", "aliases") else []
            with self.subTest(recipe.stem):
                self.assertEqual(bool(errors), bool(found), f"schema: {errors}\ntrainx: {found}")
            refused += bool(errors)
        self.assertGreater(refused, 20)

    def test_json_is_one_line_and_a_file_that_is_no_schema_stays(self):
        self.assertEqual(json.loads(self.run_trainx("--json", "schema").stdout.strip()),
                         self.schema)
        self.assertEqual(len(self.run_trainx("--json", "schema").stdout.splitlines()), 1)
        mine = self.recipe("run: {seed: 1}\n")
        self.assertIn("no JSON Schema",
                      self.run_trainx("schema", "--output", mine, expect=73).stderr)
        self.assertEqual(pathlib.Path(mine).read_text(), "run: {seed: 1}\n")

    # Mutations.
    # ------------------------------------------------------------------------------------------------------------------------------------------

    BASES = [
        {
            "run": {"name": "a", "seed": 3, "duration": "100 steps"}, "model": {
                "type": "gpt2", "size": "124m", "options": {"dropout": 0.1, "num_layers": 2}
            }, "data": {"type": "stories",
                        "samples": 64}, "batch": {"global_batch_size": 8, "micro_batch_size": 4},
            "precision": {"compute": "bf16", "master": "split"}, "optimizer": {
                "type": "sgd", "lr": 0.1, "options": {"momentum": 0.9}
            }, "schedule": {"type": "wsd", "warmup": "10 steps", "decay": "auto"}, "memory": {
                "budget": "8 GiB", "activation_checkpoint": ["full", "none"],
                "release_cache_every": "10 steps"
            }
        },
        {
            "data": {
                "type": "jsonl", "train": "a.jsonl", "eval": None, "pad_to": [16, 64],
                "sequence_length": 64
            }, "batch": {"micro_batch_size": 2, "grad_accum_steps": 2},
            "model": {"type": "bert", "options": {"task": "classification",
                                                  "num_labels": 3}}, "precision": "fp32",
            "optimizer": {"type": "adamw_anyprecision", "options": {"momentum_dtype": "bf16"}}
        },
        {
            "data": {
                "type": "mixture",
                "sources": [{"weight": 2, "type": "text", "train": "a.txt"},
                            {"type": "csv", "train": "b.csv",
                             "delimiter": "tab"}, {"weight": 0.5, "samples": 100}]
            }, "batch": {"global_batch_size": 8}, "parallel": {"mode": "auto", "world_size": 2},
            "checkpoint": {"every": "30 min",
                           "resume": "auto"}, "eval": {"every": "1 epoch", "precision": "auto"},
            "metrics": {"every": "1 steps", "tensorboard": True}
        },
    ]
    VALUES = [
        0, 1, 2, 7, -1, 300, 2**24 + 1, 2**31, 2**63 - 1, 2**63, 0.5, 1.5, -0.25, 1e-8, True, False,
        None, "auto", "none", "", "abc", "1", "true", "a b.txt", "fp32", "bf16", "full", "cpu",
        "must", "10 steps", "10steps", "2.5 steps", "2.0 steps", "1.5 epochs", "1 epoch",
        "2B tokens", "0.5k tokens", "2 Btokens", "30 min", "-3 steps", " 5 steps", "5 steps ",
        "5 parsecs", "5", "1e3 steps", "8 GiB", "8GiB", "0.5 KiB", "1.5 B", "3 gigabytes", "${",
        "${a b}", "$${a b}", "${env:1X}", "${env:X:-${run.seed}}", [], [1], [1, 2], ["auto"],
        ["full"], ["none", "mlp"], ["full", 3], [[1]], {}, {"a": 1}, {"type": "stories"}, [{}],
        [{"type": "text"}], [{"weight": 1, "type": "text", "train": "x"}]
    ]

    def usual_values(self):
        """key -> values of the kinds that it takes: its words, at and around its limits. Every key
        that any map of a recipe may have."""
        found = {}

        def visit(node):
            if isinstance(node, dict):
                for key, field in node.get("properties", {}).items():
                    found.setdefault(key, [])
                    for form in field.get("anyOf", []) if isinstance(field, dict) else []:
                        kind = self.schema["$defs"].get(form.get("$ref", "").rpartition("/")[2], {})
                        found[key] += form.get("enum", []) + kind.get("examples", []) + ([
                            form["const"]
                        ] if "const" in form else []) + [[
                            word
                        ] for word in form.get("items", {}).get("anyOf", [{}])[0].get("enum", [])]
                        found[key] += {
                            "boolean": [True, False], "null": [None], "number": [0.5, 2, 1e-3],
                            "integer": [1, 3], "array": [[1, 2]]
                        }.get(form.get("type"), ["a.txt"] if kind.get("type") == "string" else [])
                        limits = [
                            form[limit] for limit in ("minimum", "maximum", "exclusiveMinimum",
                                                      "exclusiveMaximum") if limit in form
                        ]
                        found[key] += [
                            n + around for n in limits if abs(n) < 2**50 for around in (-1, 0, 1)
                        ]
                for child in node.values():
                    visit(child)
            elif isinstance(node, list):
                for child in node:
                    visit(child)
        visit(self.schema)
        del found["extends"]
        return found

    def mutated(self, base):
        """A copy of the recipe that differs in one place, and how."""
        recipe = json.loads(json.dumps(base))
        maps = []

        def visit(node):
            if isinstance(node, dict):
                maps.append(node)
            for child in node.values() if isinstance(
                    node, dict) else node if isinstance(node, list) else []:
                visit(child)
        visit(recipe)
        target = self.random.choice(maps)
        key = self.random.choice(
            list(target
                 ) if target and self.random.random() < 0.8 else [*self.usual, "typo", "x-note"])
        old = target.get(key)
        action = self.random.choice(["set", "remove", "interpolate", "reuse", "reuse", "reuse"])
        if action == "remove" and key in target:
            del target[key]
        elif action == "interpolate" and key in target and not isinstance(
                old, (dict, list)) and old is not None:
            target[key] = "${env:TRAINX_TEST_UNSET:-" + (str(old).lower() if isinstance(old, bool)
                                                         else str(old)) + "}"
        elif action == "reuse" and self.usual.get(key):
            target[key] = self.random.choice(self.usual[key])
        else:
            target[key] = self.random.choice(self.VALUES)
        return recipe, f"{key}: {yaml_of(old)} -> {yaml_of(target.get(key, '(removed)'))}"

    # What an expression of a pattern cannot tell, and what rules say with the reader's words.
    NOT_EXPRESSED = re.compile(r"whole number of (bytes|steps|tokens)|model\.size: must be one of")

    def verdicts(self, recipe, prefix=""):
        """(what the schema says, what the reader says). A key that nobody knows keeps trainx from
        going beyond reading; it must tell all problems at once."""
        text = prefix + yaml_of(recipe)
        path = self.recipe(prefix + yaml_of({**recipe, "marker": 1}), "mutated.yaml")
        problems = self.problems(path)
        self.assertEqual([p for p in problems if p.startswith("marker: unknown key")][:1],
                         [p for p in problems if p.startswith("marker: ")], text)
        self.assertTrue(any(p.startswith("marker: ") for p in problems), text)
        return self.seen_in_editor(text), [
            p for p in problems if STRUCTURAL.search(p) and not p.startswith("marker: ")
        ], problems

    def test_schema_and_reader_agree_on_recipes_with_one_mutation(self):
        self.usual = self.usual_values()
        for base in self.BASES:
            self.assertEqual(self.seen_in_editor(yaml_of(base)), [])
            self.assertEqual(self.verdicts(base)[1], [])
        refused = accepted = 0
        for _ in range(4000 if LONG else 600):
            recipe, change = self.mutated(self.random.choice(self.BASES))
            errors, structural, problems = self.verdicts(recipe)
            self.assertIsNotNone(errors, yaml_of(recipe))
            expressed = [p for p in structural if not self.NOT_EXPRESSED.search(p)]
            sizes = [p for p in problems if "model.size: must be one of" in p]
            said = f"{change}\n{yaml_of(recipe)}\nschema: {errors}\ntrainx: {problems}"
            if errors:
                self.assertTrue(structural or sizes, "refused by the schema alone: " + said)
            else:
                self.assertEqual(expressed, [], "accepted by the schema: " + said)
            refused += bool(errors)
            accepted += not errors
        self.assertGreater(min(refused, accepted), 100)

    def test_recipes_that_extend_are_not_asked_for_what_their_base_may_have(self):
        self.usual = self.usual_values()
        (self.folder / "base.yaml").write_text(
            "data: {type: jsonl, train: a.jsonl}\nmodel: {type: bert}\noptimizer: {type: sgd, options: {momentum: 0.5}}\nbatch: {global_batch_size: 8}\n"
        )
        part = {
            "extends": ["base.yaml"], "data": {"truncate": True},
            "optimizer": {"options": {"nesterov": True}},
            "model": {"size": "large", "options": {"num_labels": 2}}, "run": {"seed": 1}
        }
        self.assertEqual(self.seen_in_editor(yaml_of(part)), [])
        self.assertEqual(self.verdicts(part)[1], [])
        self.assertNotEqual(
            self.seen_in_editor(yaml_of({k: v
                                         for k, v in part.items()
                                         if k != "extends"})), [])
        self.assertNotEqual(self.seen_in_editor(yaml_of({**part, "extends": "base.yaml"})), [])
        refused = 0
        for _ in range(1500 if LONG else 250):
            recipe, change = self.mutated(part)
            if recipe.get("extends") != part["extends"]:
                continue
            errors, structural, problems = self.verdicts(recipe)
            if errors:                      # what it accepts may still not fit the base
                self.assertTrue(
                    structural or any("model.size" in p for p in problems),
                    f"{change}\n{yaml_of(recipe)}\nschema: {errors}\ntrainx: {problems}")
                refused += 1
        self.assertGreater(refused, 30)


main()
