"""config_values_test.py of encoder-decoders: every value of a config.json means what it means for
transformers, or is refused.

TRAINX_SEQ2SEQ=t5,bart*    only these cases of tiny_seq2seq.py
"""
import json
import unittest

import config_values_test
import reference
import seq2seq_test
from support import Trainx, main, sampled


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Seq2SeqValues(config_values_test.ConfigValues):
    RECIPE = seq2seq_test.RECIPE.replace("{data}", "{tokens}")
    REFERENCE = "reference_seq2seq.py"

    def setUp(self):
        Trainx.setUp(self)
        drawn = self.random.random()
        self.random.seed(3)             # one data set, within a vocabulary that is smaller by one
        self.tokens = self.folder / "pairs.jsonl"
        self.tokens.write_text("".join(json.dumps(
            {name: [self.random.randrange(6, 127) for _ in range(self.random.randint(1, most))]
             for name, most in (("input_ids", 32), ("labels", 20))}) + "\n" for _ in range(8)))
        self.random.seed(drawn)

    @sampled
    def test_a_value_means_what_it_means_for_transformers(self):
        for case in self.drawn(seq2seq_test.chosen(), few=1, more=3):
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
