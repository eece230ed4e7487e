"""A folder's tokenizer is the one that AutoTokenizer of transformers builds: a sample of scripts/compare_tokenizers."""
import pathlib
import unittest

import reference
import reference_tokenizer_folders
import tokenizer_folders
from support import LONG, TRAINX, Trainx, main, sampled


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with transformers (scripts/setup --reference installs one)")
class Folders(Trainx):
    @sampled
    def test_ids_of_drawn_folders(self):
        # In a third of their drawn settings these forms differ still: scripts/compare_tokenizers.
        differ = ("llama/json/", "backend/json/")
        cases = [c for c in reference_tokenizer_folders.cases([]) if not c.startswith(differ)]
        cases = list(self.drawn(cases, few=12, more=16))
        made = reference.ask(self, "reference_tokenizer_folders.py", self.folder, self.seed, 2000 if LONG else 60, *cases)
        for case in made:
            with self.subTest(case):
                result = tokenizer_folders.compare(TRAINX, pathlib.Path(self.folder), case, self.environment())
                self.assertFalse(result.wrong, result)


if __name__ == "__main__":
    main()
