"""Text to tokens and back, equal to Hugging Face's tokenizers: random Unicode, every kind of
tokenizer, 0 differences."""
import json
import pathlib
import struct
import subprocess

import random_text
from support import LONG, main
from tokenizer_cases import NEEDS_PYTHON, PYTHON, Tokenizers


class RandomText(Tokenizers):
    @NEEDS_PYTHON
    def test_random_strings(self):
        for kind in self.kinds():
            count = 400 if not LONG else 100_000 if kind in ("gpt2", "llama3", "bert") else 10_000
            with self.subTest(kind):
                self.compare(
                    pathlib.Path(self.made.name) / kind,
                    pathlib.Path(self.made.name) / kind / "tokenizer.json",
                    list(random_text.lines(self.random, count)))

    @NEEDS_PYTHON
    def test_vocabulary_files(self):
        lines = list(random_text.lines(self.random, 200))
        made = pathlib.Path(self.made.name)
        for name, kind in (("vocab.json", "gpt2"), ("vocab.txt", "bert")):
            with self.subTest(name):
                self.compare(made / kind / "files" / name, made / kind / "tokenizer.json", lines)

    @NEEDS_PYTHON
    def test_learned_vocabularies(self):
        """A vocabulary that trainx learns is that which the reference learns from the same text;
        what it writes the reference reads."""
        text = "\n".join(random_text.python_sources(200_000)) + " ".join(random_text.WORDS)
        (self.folder / "text.txt").write_text(text)
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "mine", "--train-vocab",
                        1000)
        wanted = json.loads(
            subprocess.run([
                PYTHON, "-c", """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
t = Tokenizer(models.BPE())
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.train_from_iterator([open(sys.argv[1]).read()], trainers.BpeTrainer(vocab_size=1000, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
print(t.to_str())
""",
                str(self.folder / "text.txt")
            ], capture_output=True, check=True).stdout)
        got = json.loads((self.folder / "mine/tokenizer.json").read_text())
        self.assertEqual(got["model"]["merges"], wanted["model"]["merges"])
        self.assertEqual(got["model"]["vocab"], wanted["model"]["vocab"])
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "pieces", "--train-vocab",
                        1000, "--kind", "wordpiece", "--threads", 1)
        again = (self.folder / "pieces/tokenizer.json").read_bytes()
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "pieces2", "--train-vocab",
                        1000, "--kind", "wordpiece", "--threads", 3)
        self.assertEqual((self.folder / "pieces2/tokenizer.json").read_bytes(), again)
        lines = list(random_text.lines(self.random, 200))
        for name in ("mine", "pieces"):
            with self.subTest(name):
                self.compare(self.folder / name, self.folder / name / "tokenizer.json", lines)

    def test_sentence_piece(self):
        """A SentencePiece file with the byte-pair rule written out: of the neighbours whose join is
        a token, the one of the best score first."""
        pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3),
                  ("</s>", 0.0, 3)] + [(f"<0x{b:02X}>", 0.0, 6) for b in range(256)]
        words = [
            "\u2581the", "\u2581", "t", "h", "e", "th", "he", "the", "c", "a", "at", "cat",
            "\u2581c", "\u2581cat", "s", "at\u00e9", "\u00e9", "\u4e2d", "\u4e2d\u6587", "\u6587",
            "\u2581\u2581"
        ]
        pieces += [(word, -float(rank), 1)
                   for rank, word in enumerate(sorted(words, key=lambda w: self.random.random()))]
        score = {p: s for p, s, kind in pieces if kind == 1}
        ids = {p: i for i, (p, _, _) in enumerate(pieces)}

        def encode(text):
            symbols = list("\u2581" + text.replace(" ", "\u2581")) if text else []
            while True:
                joined = [(score[a + b], -i)
                          for i, (a, b) in enumerate(zip(symbols, symbols[1:]))
                          if a + b in score]
                if not joined:
                    break
                at = -max(joined)[1]
                symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]
            return [
                i for s in symbols
                for i in ([ids[s]] if s in score else [ids[f"<0x{b:02X}>"] for b in s.encode()])
            ]

        def varint(n):
            return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)

        def field(number, value):
            if isinstance(value, float):
                return varint(number << 3 | 5) + struct.pack("<f", value)
            if isinstance(value, int):
                return varint(number << 3) + varint(value)
            return varint(number << 3 | 2) + varint(len(value)) + value

        model = b"".join(
            field(1,
                  field(1, piece.encode()) + field(2, rank) + field(3, kind))
            for piece, rank, kind in pieces)
        model += field(2,
                       field(3, 2) + field(35, 1)) + field(
                           3,
                           field(1, b"identity") + field(3, 1) + field(4, 0) + field(5, 1))
        (self.folder / "spm.model").write_bytes(model)
        texts = ["", "the cat", "  the  cats ", "at\u00e9 \u4e2d\u6587 \U0001f600\n\t"] + [
            "".join(
                self.random.choice(
                    ["the", "cat", "at", " ", "e", "h", "\u4e2d", "\u6587", "\u00e9", "z", "\n"])
                for _ in range(30))
            for _ in range(300)
        ]
        ours = self.trainx_lines(self.folder / "spm.model",
                                 [json.dumps({"text": text}) for text in texts])
        for text, line in zip(texts, ours, strict=True):
            self.assertEqual(line["input_ids"], encode(text), repr(text))
        back = self.trainx_lines(self.folder / "spm.model",
                                 [json.dumps({"input_ids": line["input_ids"]}) for line in ours],
                                 "--decode")
        self.assertEqual([line["text"] for line in back], texts)


if __name__ == "__main__":
    main()
