"""Text that people wrote becomes the tokens that Hugging Face's tokenizers make of it, and text
again: Python's library, at length 100 MB out of Debian packages."""
import json
import pathlib
import subprocess

import random_text
from support import LONG, ROOT, main
from tokenizer_cases import NEEDS_PYTHON, Tokenizers


class Text(Tokenizers):
    @NEEDS_PYTHON
    def test_text(self):
        if LONG:
            folder = self.folder / "text"
            subprocess.run([str(ROOT / "scripts/reference_text"), str(folder), "100"], check=True)
            files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
            self.assertGreater(sum(p.stat().st_size for p in files), 95e6)
            documents = [p.read_text() for p in files]
        else:
            documents = random_text.python_sources(600_000)
        rows = [json.dumps({"text": document}) for document in documents]
        for kind in ("gpt2", "llama3", "bert") if LONG else ("gpt2", "llama3", "bert", "llama2"):
            with self.subTest(kind):
                # Of 100 MB a part at a time: the reference keeps all that it has made.
                for at in range(0, len(rows), 500):
                    self.compare(
                        pathlib.Path(self.made.name) / kind,
                        pathlib.Path(self.made.name) / kind / "tokenizer.json", rows[at:at + 500])


if __name__ == "__main__":
    main()
