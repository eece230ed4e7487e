"""config_values_test.py of encoders: every value of a config.json means what it means for
transformers, or is refused.

TRAINX_FAMILIES=bert_tokens,electra*    only these cases of tiny_encoders.py
"""
import unittest

import config_values_test
import encoders_test
import folder_values
import reference
from support import main, sampled

# Names of labels say nothing of a loss, but for how many there are.
LABELS = ("id2label.", "label2id", "no label2id", "num_labels")


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class EncoderValues(folder_values.Encoders, config_values_test.Values):
    def variants(self, config):
        return [v for v in super().variants(config)
                if not v[0].startswith(LABELS) and "dropout" not in v[0]]

    @sampled
    def test_a_value_means_what_it_means_for_transformers(self):
        for case in self.drawn(encoders_test.chosen(), few=1, more=2):
            with self.subTest(case=case):
                self.check_case(case)


if __name__ == "__main__":
    main()
