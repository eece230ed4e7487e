"""Every key that a configuration class of transformers reads, with other values: trainx computes
what transformers computes of the same folder, or refuses it and names the key.
config_values_test.py changes what a folder has; here are also keys that it lacks, other names of
keys, keys that every class has, and switches as false, 0, null and "none".

TRAINX_TYPES=llama,qwen3*    only these values of model_type
"""
import fnmatch
import json
import os
import shutil
import unittest

import folder_values
import reference
from folder_values import TOLERANCE
from reference_class_values import TAKEN_OUT
from support import LONG, main, sampled

needs_reference = unittest.skipUnless(
    reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and transformers "
    "(scripts/setup --reference installs one)")
PARTS = 12                  # of a case's keys: one is a few seconds
# Changes that transformers refuses although they say what to compute: no token is padding, no layer
# has a window.
TAKEN = {*((kind, '{"pad_token_id": null}') for kind in ("roberta", "xlm-roberta")),
         *((kind, '{"sliding_window": null}') for kind in ("cohere2", "exaone4"))}
# Of this family alone transformers loads a row of zeros for padding, whatever the file has.
OTHER_ROW = ("youtu", '{"pad_token_id": 0}')
# Of encoders each task has keys of its own.
TASKS = ("masked_lm", "classes", "tokens")


def first_cases(cases):
    """The first case of each model_type, and of each of TASKS."""
    found = {}
    for case, (model_type, *rest) in cases.items():
        task = rest[0] if len(rest) > 1 else ""
        if not task or task in TASKS:
            found.setdefault((model_type, task), case)
    asked = [p for p in os.environ.get("TRAINX_TYPES", "").split(",") if p]
    return [case for (model_type, _), case in found.items()
            if not asked or any(fnmatch.fnmatch(model_type, p) for p in asked)]


def changed(config, changes):
    return {k: v for k, v in (config | changes).items() if v != TAKEN_OUT}


class ClassValues(folder_values.Folders):
    def check_part(self, case, part, parts):
        config = self.make(case)
        found = reference.ask(self, "reference_class_values.py", str(self.folder / case))
        keys = sorted({key for key, _ in found})[part::parts]
        tried = [("", {}), *((key, changes) for key, changes in found if key in keys)]
        answers = self.both(case, [changed(config, changes) for _, changes in tried])
        (_, base), base_of = answers[0], {}
        self.assertIsInstance(base, float, base)
        for (key, changes), (_, got) in zip(tried, answers):
            if changes == {key: TAKEN_OUT}:
                base_of[key] = got
        for (key, changes), (want, got) in zip(tried, answers):
            with self.subTest(case=case, key=key, changes=changes):
                if ((config["model_type"], json.dumps(changes)) == OTHER_ROW or
                        want is None and self.is_taken(config, changes, got)):
                    continue
                without = {base, base_of.get(key, base)} if changes == {key: None} else {base}
                self.check(changes, want, got, without)
        shutil.rmtree(self.folder / case)

    def is_taken(self, config, changes, got):
        """Whether trainx trains by rights what transformers refuses. It says that it draws a head,
        and takes 1 for 1.0."""
        said = json.dumps(changes)
        return isinstance(got, float) and (changes.get("tie_word_embeddings") is False or
                                           said.endswith(": 1}") or
                                           (config["model_type"], said) in TAKEN)

    def check(self, changes, want, got, without):
        """`without`: losses of trainx if the key says nothing."""
        if isinstance(got, str):
            if want is not None:        # a switch may ask for tensors that the folder lacks
                names = "|".join(rf"\b{key}\b" for key in changes)
                self.assertRegex(got, f"{names}|tensor '")
        elif want is None:          # transformers takes no such value, from which nothing follows
            self.assertIn(got, without)
        else:
            self.assertLess(abs(got - want) / want, TOLERANCE, (got, want, without))

    def check_drawn(self):
        parts = 1 if LONG else PARTS
        cases = [(case, part, parts) for case in first_cases(self.cases) for part in range(parts)]
        for case in self.drawn(cases, few=1, more=PARTS):
            self.check_part(*case)


@needs_reference
class DecoderKeys(folder_values.Decoders, ClassValues):
    @sampled
    def test_a_key_of_the_class_means_what_it_means_for_transformers(self):
        self.check_drawn()


@needs_reference
class EncoderKeys(folder_values.Encoders, ClassValues):
    @sampled
    def test_a_key_of_the_class_means_what_it_means_for_transformers(self):
        self.check_drawn()


@needs_reference
class Seq2SeqKeys(folder_values.Seq2Seqs, ClassValues):
    @sampled
    def test_a_key_of_the_class_means_what_it_means_for_transformers(self):
        self.check_drawn()


if __name__ == "__main__":
    main()
