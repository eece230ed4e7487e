"""config_values_test.py of encoder-decoders: every value of a config.json means what it means for
transformers, or is refused.

TRAINX_SEQ2SEQ=t5,bart*    only these cases of tiny_seq2seq.py
"""
import unittest

import config_values_test
import folder_values
import reference
import seq2seq_test
from support import main, sampled


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Seq2SeqValues(folder_values.Seq2Seqs, config_values_test.Values):
    @sampled
    def test_a_value_means_what_it_means_for_transformers(self):
        for case in self.drawn(seq2seq_test.chosen(), few=1, more=3):
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
