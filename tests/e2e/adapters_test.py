"""Targets, names and settings of adapters are those of PEFT: drawn models and settings, held
against what PEFT adapts and writes."""
import json
import re
import subprocess
import unittest

import reference
from support import BUILD, LONG, Trainx, main, sampled

NEEDS_PYTHON = unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with "
                                   "PEFT (scripts/setup --reference installs one)")
COMMAND = BUILD / "tests/adapters"
ORDERED_BY_SET = ("target_modules", "exclude_modules", "target_parameters")
# Types of models whose experts PEFT also takes by the names that they had in transformers 4.
WITH_OLD_NAMES = ("mixtral", "qwen3_moe", "olmoe", "deepseek_v3")


def answers_to(questions):
    asked = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([COMMAND], input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def question(case, **more):
    return {"config": case["asked"], "modules": case["modules"], "parameters": case["parameters"],
            "model_type": case["model_type"], **more}


def is_taken_beyond_peft(case):
    """Settings that PEFT fails on and trainx takes."""
    # Mixtral has targets of its own, which PEFT loses when it converts names of experts.
    loses_targets = case["model_type"] == "mixtral" and "target_modules" not in case["settings"]
    # The head of token classification is trained whole, and not adapted by all-linear too.
    adapts_saved = case["error"].startswith("TypeError: modules_to_save")
    return loses_targets or adapts_saved


def names_embedding(targets):
    """PEFT ties embeddings and heads of these names alone."""
    names = ("embed_tokens", "lm_head")
    if isinstance(targets, str):
        return any(re.fullmatch(targets, name) for name in names)
    return any(target.split(".")[-1] in names for target in targets)


def ties_low_ranks(case):
    """Adapters of an embedding that the head shares, which trainx refuses by name."""
    tables = [m["name"] for m in case["modules"] if m.get("input_embedding")]
    return (bool(case["settings"].get("ensure_weight_tying")) and "peft" in case and
            names_embedding(case["settings"].get("target_modules") or []) and
            any(m.get("tied") for m in case["modules"]) and
            any(name in tables for name, *_ in case["peft"]["adapted"]))


def adapts_shared_rows(case):
    """Whether an adapter belongs to a module that shares an embedding whose single tokens are
    trained, which trainx refuses by name. PEFT makes such an adapter; of T5's tables its first
    forward fails (findings/peft_tokens_beside_adapted_tables.sh)."""
    tokens = case["settings"].get("trainable_token_indices")
    if not tokens or "peft" not in case:
        return False
    tables = [m["name"] for m in case["modules"] if m.get("input_embedding")]
    shares = {m["name"] for m in case["modules"] if m.get("tied")}
    of_table = isinstance(tokens, list) or any(table.endswith(end)
                                               for table in tables for end in tokens)
    return of_table and any(name in shares for name, *_ in case["peft"]["adapted"])


def ends_at_dot(name, end):
    return name == end or name.endswith("." + end)


def names_nothing(case):
    """Whether the settings have a target, or something to save, that is no module."""
    settings, named = case["settings"], case["named"]
    parameters = case["parameters"]
    targets = settings.get("target_modules") or []
    if isinstance(targets, str):
        if (targets.lower() != "all-linear" and
                not any(re.fullmatch(targets, name) for name in named)):
            return True
        targets = []
    saved = settings.get("modules_to_save") or []
    return (any(not any(ends_at_dot(name, t) for name in named) for t in targets) or
            any(not any(ends_at_dot(name, t) for name in parameters)
                for t in settings.get("target_parameters") or []) or
            any(not any(name.endswith(m) for name in named) for m in saved))


def loses_old_names(case):
    """Whether PEFT takes names of linear layers for experts' old ones, and the model has no experts:
    then it adapts nothing by them."""
    return (case["model_type"] in WITH_OLD_NAMES and
            not any(name.endswith(".down_proj") for name in case["parameters"]))


def with_entry(case, key, entry):
    asked = json.loads(case["asked"])
    asked[key].append(entry)
    return case | {"asked": json.dumps(asked)}


def whole_or_float(text):
    return int(float(text)) if float(text).is_integer() else float(text)


def ordered_like(told, wanted):
    """PEFT's settings with lists that it makes of sets in the order of `wanted`, as it writes them;
    whole numbers are written without a point."""
    told, wanted = json.loads(told, parse_float=whole_or_float), json.loads(wanted)
    told["lora_dropout"] = float(told["lora_dropout"])
    for key in ORDERED_BY_SET:
        if isinstance(told[key], list) and sorted(told[key]) == sorted(wanted[key] or []):
            told[key] = wanted[key]
    return json.dumps(told, indent=2, sort_keys=True)


class Drawn(Trainx):
    def compare(self, cases):
        """The cases whose patterns trainx wrote otherwise, with what it wrote."""
        rewritten = []
        answers = answers_to([question(case) for case in cases if "asked" in case])
        for case, answer in zip((c for c in cases if "asked" in c), answers, strict=True):
            with self.subTest(family=case["family"], settings=case["settings"]):
                if "error" in case:
                    if is_taken_beyond_peft(case):
                        continue
                    self.assertIn(answer.get("refused"), (65, 78), (case["error"], answer))
                    continue
                if ties_low_ranks(case) or adapts_shared_rows(case):
                    self.assertEqual(answer.get("refused"), 78, answer)
                    continue
                self.assertNotIn("refused", answer, answer)
                peft = case["peft"]
                self.assertEqual(sorted(answer["adapted"]), peft["adapted"])
                self.same_tensors(answer["tensors"], peft["tensors"])
                text = ordered_like(peft["config"], answer["config"])
                if self.patterns(text) != self.patterns(answer["config"]):
                    rewritten.append({"case": case, "config": answer["config"]})
                    continue
                self.assertEqual(answer["config"], text)
        return rewritten

    @staticmethod
    def patterns(config):
        return [json.loads(config)[key] for key in ("rank_pattern", "alpha_pattern")]

    def same_tensors(self, told, wanted):
        self.assertEqual([name for name, _, _ in told], sorted(name for name, _ in wanted))
        shapes = dict(wanted)
        for name, dims, parameter in told:
            if dims:
                self.assertEqual(dims, shapes[name], name)
            else:
                self.assertTrue(parameter, name)

    @NEEDS_PYTHON
    @sampled
    def test_drawn_models_and_settings(self):
        cases = reference.ask(self, "reference_adapters.py", "draw", self.seed,
                              400 if LONG else 60)
        self.assertGreater(sum("peft" in case for case in cases), len(cases) // 3)
        rewritten = self.compare(cases)
        # Patterns that PEFT's sorted file would apply in another order: what trainx writes instead
        # means the same to PEFT.
        if rewritten:
            read = reference.ask(self, "reference_adapters.py", "read", asks=rewritten)
            for one, adapted in zip(rewritten, read, strict=True):
                self.assertEqual(adapted, one["case"]["peft"]["adapted"], one["config"])

    @NEEDS_PYTHON
    @sampled
    def test_entries_that_name_nothing_are_refused(self):
        cases = [case for case in reference.ask(self, "reference_adapters.py", "draw",
                                                self.seed + 1, 200 if LONG else 40)
                 if "peft" in case and not ties_low_ranks(case)]
        for case, answer in zip(cases, answers_to([question(c, strict=True) for c in cases]),
                                strict=True):
            with self.subTest(family=case["family"], settings=case["settings"]):
                if not names_nothing(case):
                    if not loses_old_names(case):
                        self.assertNotIn("refused", answer, answer)
                elif case["model_type"] not in WITH_OLD_NAMES:
                    self.assertEqual(answer.get("refused"), 78, answer)
        # One entry more, which PEFT passes over.
        lists = [(case, key) for case in cases
                 for key in ("target_modules", "target_parameters", "modules_to_save")
                 if isinstance(case["settings"].get(key), list)]
        self.assertTrue(lists)
        for key in sorted({key for _, key in lists}):
            more = [with_entry(case, key, "no_such_module") for case, of in lists if of == key]
            for case, strict, lenient in zip(more, answers_to([question(c, strict=True)
                                                               for c in more]),
                                             answers_to([question(c) for c in more]), strict=True):
                with self.subTest(key, family=case["family"], settings=case["settings"]):
                    self.assertEqual(strict.get("refused"), 78, strict)
                    self.assertEqual(sorted(lenient["adapted"]), case["peft"]["adapted"])
                    self.assertTrue(any("no_such_module" in w for w in lenient["warnings"]))


if __name__ == "__main__":
    main()
