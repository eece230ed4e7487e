"""The keys that lib/architectures/families/class_keys.cpp has of each model_type are those that the
installed transformers reads, and every model_type of trainx that transformers has is there."""
import re
import subprocess
import unittest

import reference
from support import ROOT, Trainx, main


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class ClassKeys(Trainx):
    def test_the_table_is_that_of_transformers(self):
        schema = self.run_trainx("schema").stdout
        done = subprocess.run([reference.PYTHON, ROOT / "scripts" / "make_class_keys", "--print"],
                              input=schema, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = (ROOT / "lib/architectures/families/class_keys.cpp").read_text()
        self.assertEqual(done.stdout, table, "run scripts/make_class_keys again")
        self.assertGreater(len(re.findall(r"^      \{", table, re.M)), 50)


if __name__ == "__main__":
    main()
