"""A folder's tokenizer is the one that AutoTokenizer of transformers builds: a sample of
scripts/compare_tokenizers."""
import pathlib
import subprocess
import sys
import unittest

import reference
import reference_tokenizer_folders
import tokenizer_folders
from support import LONG, ROOT, TRAINX, Trainx, main, sampled

NEEDS_PYTHON = unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with "
                                   "transformers (scripts/setup --reference installs one)")


class Folders(Trainx):
    @NEEDS_PYTHON
    @sampled
    def test_ids_of_drawn_folders(self):
        cases = list(self.drawn(reference_tokenizer_folders.cases([]), few=12, more=16))
        made = reference.ask(self, "reference_tokenizer_folders.py", self.folder, self.seed,
                             2000 if LONG else 60, *cases)
        for case in made:
            with self.subTest(case):
                result = tokenizer_folders.compare(TRAINX, pathlib.Path(self.folder), case,
                                                   self.environment())
                self.assertFalse(result.wrong, result)

    def test_classes_of_all_families_are_drawn(self):
        drawn = {tokenizer_folders.known_class(entry[0])
                 for entry in reference_tokenizer_folders.CLASSES.values()}
        families = tokenizer_folders.classes_of_families()
        self.assertGreater(len(families), 8)
        self.assertEqual(set(families) - drawn, set(), families)


class Classes(Trainx):
    @NEEDS_PYTHON
    def test_the_table_is_that_of_transformers(self):
        package = subprocess.run(
            [reference.PYTHON, "-c", "import importlib.util as u; "
             "print(u.find_spec('transformers').submodule_search_locations[0])"],
            capture_output=True, text=True, check=True).stdout.strip()
        script = ROOT / "scripts" / "make_tokenizer_classes"
        done = subprocess.run([sys.executable, script, package, "--check"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        changed = self.folder / "transformers"
        (changed / "models/auto").mkdir(parents=True)
        for name in ("__init__.py", "models/auto/tokenization_auto.py"):
            (changed / name).write_text((pathlib.Path(package) / name).read_text())
        done = subprocess.run([sys.executable, script, changed, "--check"], capture_output=True,
                              text=True)        # a release without the classes of models
        self.assertEqual(done.returncode, 1, done.stderr)


if __name__ == "__main__":
    main()
