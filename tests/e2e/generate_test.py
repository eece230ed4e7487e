"""Text in, text out: greedy text is transformers' to the last token, within the context and beyond
it; sampling, ends of texts, and what is refused."""
import json
import shutil
import subprocess
import tempfile
import unittest

import reference
from random_text import WORDS
from support import TRAINX, Trainx, main, sampled

PYTHON = reference.PYTHON
PROMPTS = [
    "Once", "the quick brown fox", "na\u00efve caf\u00e9 \u65e5\u672c\u8a9e", "I'll wait.\n\nThen",
    "\U0001f44d\U0001f3fd ", "3.14 is x"
]
CLEAR = 1e-4        # a logit that far above the next one is not chosen by rounding


@unittest.skipUnless(
    PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
)
class Generate(Trainx):
    forks = True

    def reference(self, *args, asks=None):
        return reference.ask(self, "reference_generate.py", *args, asks=asks)

    def setUp(self):
        super().setUp()
        words = [self.random.choice(WORDS) for _ in range(4000)]
        (self.folder / "text.txt").write_text(
            "\n".join(" ".join(words[i:i + 20]) for i in range(0, len(words), 20)),
            encoding="utf-8")
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "tok", "--train-vocab",
                        "400", "--out", "train.bin")
        self.tokenizer = self.folder / "tok" / "tokenizer.json"
        self.vocab_size = len(json.loads(self.tokenizer.read_text())["model"]["vocab"])

    made = {}                           # by size: the same weights for all tests

    def make(self, positions=128, vocab_size=None, name="model"):
        size = (vocab_size or self.vocab_size, positions)
        if size not in Generate.made:
            folder = tempfile.TemporaryDirectory(prefix="trainx-e2e-")
            self.addClassCleanup(folder.cleanup)
            self.reference("make", folder.name, *size)
            Generate.made[size] = folder.name
        shutil.copytree(Generate.made[size], self.folder / name)
        return name

    def generated(self, model, prompt, *args, may_end=False):
        """A random model may well say the tokenizer's <|endoftext|>."""
        return json.loads(
            self.run_trainx("generate", model, "--prompt", prompt, *args,
                            *([] if may_end else ["--ignore-eos"]), "--json").stdout)

    @staticmethod
    def clear_tokens(want):
        """Of the added ones: before the first that rounding may decide about."""
        gaps = want["gaps"]
        return next((i for i, gap in enumerate(gaps) if gap < CLEAR), len(gaps))

    def same_until_unclear(self, got, want, prompt_tokens):
        """Returns how many of the added tokens were compared."""
        unclear = self.clear_tokens(want)
        self.assertEqual(got[:prompt_tokens + unclear], want["ids"][:prompt_tokens + unclear])
        return unclear

    def test_greedy_text_is_that_of_transformers(self):
        model = self.make()
        ids = self.reference("encode", self.tokenizer, asks=PROMPTS)
        want = self.reference("generate", self.folder / model,
                              asks=[{"ids": i, "new": 60} for i in ids])
        compared, outputs = 0, []
        for prompt, prompt_ids, reference in zip(PROMPTS, ids, want):
            with self.subTest(prompt=prompt):
                got = self.generated(model, prompt, "--tokenizer", "tok", "--temperature", "0",
                                     "--max-tokens", "60")
                self.assertEqual(got["ids"][:len(prompt_ids)], prompt_ids)
                self.assertEqual((got["prompt_tokens"], got["generated_tokens"], got["ended_by"]),
                                 (len(prompt_ids), 60, "max_tokens"))
                self.assertEqual(len(got["ids"]), len(prompt_ids) + 60)
                compared += self.same_until_unclear(got["ids"], reference, len(prompt_ids))
                outputs.append(got)
                plain = self.run_trainx("generate", model, "--prompt", prompt, "--tokenizer",
                                        self.tokenizer, "--temperature", "0", "--max-tokens", "60",
                                        "--ignore-eos").stdout
                self.assertEqual(plain, got["text"] + "\n")
        self.assertGreater(compared, 0.5 * 60 * len(PROMPTS))
        self.assertEqual([o["text"] for o in outputs],
                         self.reference("decode", self.tokenizer, asks=[o["ids"] for o in outputs]))
        self.assertGreater(len({o["text"] for o in outputs}), 1)
        for o in outputs:
            self.assertGreater(o["seconds"], 0)
            self.assertGreater(o["prompt_tokens_per_second"], 0)
            self.assertGreater(o["generated_tokens_per_second"], 0)

    def test_beyond_the_context_the_last_tokens_count(self):
        positions = 24
        model = self.make(positions)
        long_prompts = [" ".join(PROMPTS[i:] + PROMPTS[:i]) * 3 for i in range(len(PROMPTS))]
        ids = self.reference("encode", self.tokenizer, asks=[*PROMPTS, *long_prompts])
        short, long = ids[:len(PROMPTS)], ids[len(PROMPTS):]
        self.assertGreater(min(map(len, long)), positions)
        exact = [i[:positions] for i in long]   # as many tokens as there are positions
        asked = [*zip(PROMPTS, ["tok"] * len(short), short),
                 *zip(long_prompts, ["tok"] * len(long), long),
                 *((" ".join(map(str, i)), "none", i) for i in exact)]
        want = self.reference("generate", self.folder / model,
                              asks=[{"ids": tokens, "new": 50} for _, _, tokens in asked])
        # Of each kind the prompt whose text is clear for longest.
        for kind in range(0, len(asked), len(PROMPTS)):
            (prompt, how, tokens), reference = max(
                zip(asked[kind:kind + len(PROMPTS)], want[kind:kind + len(PROMPTS)]),
                key=lambda pair: self.clear_tokens(pair[1]))
            with self.subTest(prompt=prompt):
                got = self.generated(model, prompt, "--tokenizer", how, "--temperature", "0",
                                     "--max-tokens", "50")
                self.assertEqual((len(got["ids"]), got["context_length"]),
                                 (len(tokens) + 50, positions))
                self.assertGreater(
                    self.same_until_unclear(got["ids"], reference, len(tokens)), 0.5 * 50)
        said = self.run_trainx("generate", model, "--prompt", "Once", "--tokenizer", "tok",
                               "--max-tokens", "50").stderr
        self.assertIn(f" {positions} tokens", said)
        short = self.run_trainx("generate", model, "--prompt", "1 2", "--max-tokens",
                                str(positions - 1)).stderr
        self.assertEqual(short, "")

    def test_the_models_own_tokenizer_goes_where_it_goes(self):
        model = self.make()
        want = self.generated(model, "Once", "--tokenizer", "tok", "--max-tokens", "20")
        self.assertEqual(
            self.generated(model, " ".join(map(str, want["ids"][:want["prompt_tokens"]])),
                           "--max-tokens", "20")["ids"], want["ids"])  # without one: ids
        self.assertIn("--tokenizer",
                      self.run_trainx("generate", model, "--prompt", "Once", expect=65).stderr)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (self.folder / model / name).write_bytes((self.folder / "tok" / name).read_bytes())
        self.run_trainx("export", model, "exported")
        recipe = self.recipe(
            f"run: {{name: next, duration: 1 steps}}\nmodel: {{type: gpt2, init_from: {self.folder / model}}}\n"
            "data: {type: tokens, train: train.bin, sequence_length: 32}\nbatch: {global_batch_size: 4, micro_batch_size: 4}\n"
            "optimizer: {type: sgd, lr: 1e-12}\nschedule: {type: constant}\n")
        self.run_trainx("train", recipe)
        for source in (model, "exported", "outputs/next", "outputs/next/latest"):
            with self.subTest(source=source):
                got = self.generated(source, "Once", "--max-tokens", "20")
                self.assertEqual(got["text"], want["text"])
        self.assertEqual(
            self.generated(model, "1 2", "--tokenizer", "none", "--max-tokens", "2")["ids"][:2],
            [1, 2])
        self.assertEqual(
            self.generated("outputs/next", "Once", "--max-tokens", "2")["context_length"], 32)

    @sampled
    def test_a_search_with_beams_finds_what_that_of_transformers_finds(self):
        model = self.make(vocab_size=300)
        config = self.folder / model / "config.json"
        ends = [7, 11, 19, 23, 42, 120, 200, 250, 290]  # many: texts end early, late and not at all
        plain = json.loads(config.read_text())
        asked = [{"ids": prompt, "new": new, "ends": e, "beams": beams, "penalty": penalty}
                 for prompt, new, beams in (([1, 2, 3], 40, 2), ([5], 20, 3),
                                            (list(range(30, 60)), 30, 5), ([9, 9], 1, 4))
                 for penalty in (1.0, 0.0, 2.5, -1.0)
                 for e in ([], ends[:1], ends)]
        every = len(asked)
        asked = self.drawn(asked, few=12)[:]
        want = self.reference("beams", self.folder / model, asks=asked)
        ended = 0
        for question, ids in zip(asked, want):
            with self.subTest(**question):
                config.write_text(json.dumps(plain | {"eos_token_id": question["ends"] or None}))
                got = self.generated(model, " ".join(map(str, question["ids"])), "--tokenizer",
                                     "none", "--max-tokens", question["new"], "--beams",
                                     question["beams"], "--length-penalty", question["penalty"],
                                     *([] if question["ends"] else ["--ignore-eos"]), may_end=True)
                self.assertEqual(got["ids"], ids)
                self.assertEqual(got["ended_by"],
                                 "end_of_text" if ids[-1] in question["ends"] else "max_tokens")
                ended += got["ended_by"] == "end_of_text"
        if len(asked) == every:
            self.assertGreater(ended, 5)
            self.assertLess(ended, every - 5)

    def test_beams_beyond_the_context_see_the_last_tokens(self):
        model = self.make(12, vocab_size=40)
        asked = [{"ids": [1, 2, 3], "new": 30, "beams": 3},
                 {"ids": list(range(20)), "new": 9, "beams": 2}]
        want = self.reference("windows", self.folder / model, asks=asked)
        for question, ids in zip(asked, want):
            got = self.generated(model, " ".join(map(str, question["ids"])), "--tokenizer", "none",
                                 "--max-tokens", question["new"], "--beams", question["beams"])
            self.assertEqual(got["ids"], ids)

    def test_seeds_and_edges_of_sampling(self):
        model = self.make()
        text = lambda *args: self.generated(model, "the quick", "--tokenizer", "tok",
                                            "--max-tokens", "30", *args)["ids"]
        greedy = text("--temperature", "0")
        prompt = self.reference("encode", self.tokenizer, asks=["the quick"])[0]
        sure, = self.reference("generate", self.folder / model, asks=[{"ids": prompt, "new": 30}])
        sure = len(prompt) + self.clear_tokens(sure)    # beyond, others may be as likely
        self.assertEqual(text("--seed", "5"), text("--seed", "5"))
        texts = [tuple(text("--seed", str(seed), "--temperature", "1.5")) for seed in range(4)]
        self.assertEqual(len(set(texts)), 4)
        self.assertNotIn(tuple(greedy), texts)
        for args in (["--top-k", "1"], ["--top-p", "1e-9"], ["--temperature", "1e-6"],
                     ["--top-k", "1", "--top-p", "0.5", "--temperature", "9"]):
            for seed in ("0", "77"):
                self.assertEqual(text(*args, "--seed", seed)[:sure], greedy[:sure], args)
        self.assertEqual(text("--top-k", "100000", "--seed", "3"), text("--seed", "3"))
        self.assertEqual(text("--top-p", "1", "--seed", "3"), text("--seed", "3"))
        self.assertNotEqual(text("--top-p", "0.3", "--temperature", "3", "--seed", "3"),
                            text("--temperature", "3", "--seed", "3"))

    def test_a_token_that_ends_the_text_ends_it(self):
        model = self.make()
        settings = self.folder / "tok" / "tokenizer_config.json"
        settings.write_text(
            json.dumps(
                {k: v
                 for k, v in json.loads(settings.read_text()).items()
                 if k != "eos_token"}))
        generate = lambda *args: self.generated(model, "Once", "--tokenizer", "tok",
                                                "--temperature", "0", "--max-tokens", "40", *args,
                                                may_end=True)
        whole = generate()
        self.assertEqual(whole["generated_tokens"], 40)
        begin, added = whole["prompt_tokens"], whole["ids"][whole["prompt_tokens"]:]
        end = max(added, key=added.index)  # of all tokens the last to come for the first time
        cut = whole["ids"][:begin + added.index(end) + 1]
        reference = self.reference("generate", self.folder / model,
                                   asks=[{"ids": whole["ids"][:begin], "new": 40, "end": end}])[0]
        self.same_until_unclear(cut, reference, begin)
        text = self.reference("decode", self.tokenizer, asks=[cut[:-1]])[0]

        def ends():
            got = generate()
            self.assertEqual((got["ids"], got["text"], got["ended_by"], got["generated_tokens"]),
                             (cut, text, "end_of_text", len(cut) - begin))
            self.assertEqual(generate("--ignore-eos")["ids"], whole["ids"])

        config = json.loads((self.folder / model / "config.json").read_text())
        generation = self.folder / model / "generation_config.json"
        generation.unlink(missing_ok=True)
        (self.folder / model / "config.json").write_text(json.dumps(config | {"eos_token_id": end}))
        ends()
        generation.write_text(json.dumps({"eos_token_id": [self.vocab_size + 5, end]}))
        (self.folder / model / "config.json").write_text(
            json.dumps(config | {"eos_token_id": 50256}))  # beyond the vocabulary
        ends()
        generation.unlink()
        self.assertEqual(generate()["ids"], whole["ids"])
        vocab = json.loads(self.tokenizer.read_text())["model"]["vocab"]
        settings.write_text(
            json.dumps(
                json.loads(settings.read_text())
                | {"eos_token": next(t for t, i in vocab.items() if i == end)}))
        ends()

    def test_a_text_may_end_in_the_middle_of_a_character(self):
        self.run_trainx("data", "tokenize", "text.txt", "--tokenizer", "bytes", "--train-vocab",
                        "257")  # every byte a token, and the end of a text
        tokenizer = self.folder / "bytes" / "tokenizer.json"
        model = self.make(64, 257, "bytemodel")
        ids = self.reference("encode", tokenizer, asks=["\u65e5\u672c"])[0]
        self.assertEqual(len(ids), 6)
        got = [
            self.generated(model, "\u65e5\u672c", "--tokenizer", "bytes", "--max-tokens", str(n),
                           "--seed", str(self.random.randrange(1000))) for n in (1, 2, 3, 30, 40)
        ]
        got.append(
            self.generated(model, "\u65e5\u672c", "--tokenizer", "bytes", "--max-tokens", "40",
                           "--temperature", "0"))
        for g in got:
            self.assertTrue(g["text"].startswith("\u65e5\u672c"))
        self.assertEqual([g["text"] for g in got],
                         self.reference("decode", tokenizer, asks=[g["ids"] for g in got]))

    def test_the_prompt_may_come_from_stdin(self):
        model = self.make()

        def printed(prompt, data=None,
                    expect=0):  # as bytes: a line of the text may end with a carriage return
            done = subprocess.run([
                TRAINX, "generate", model, "--prompt", prompt, "--tokenizer", "tok", "--max-tokens",
                "12"
            ], cwd=self.folder, input=data, capture_output=True, env=self.environment(),
                                  timeout=600)
            self.assertEqual(done.returncode, expect, done.stderr)
            return done.stdout.decode() if expect == 0 else done.stderr.decode()
        def piped(data, expect=0):
            return printed("-", data, expect)
        for prompt in ("na\u00efve caf\u00e9", "two\nlines", "ends with a blank line\n"):
            self.assertEqual(piped(prompt.encode() + b"\n"), printed(prompt))
        for nothing in (b"", b"\n"):
            self.assertIn("stdin is empty", piped(nothing, 2))
        self.assertIn("not UTF-8", piped(b"caf\xe9", 65))

    def test_what_is_refused(self):
        model = self.make()
        def refused(code, name, *args, sentence=None):
            done = self.run_trainx("generate", model, "--prompt", "Once", *args, expect=code)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
            self.assertIn(name, done.stderr)
            if sentence:
                self.check_sentence(sentence, done.stderr)
        for top_p in ("0", "-0.1", "1.01", "nan", "inf"):
            refused(2, "--top-p", "--top-p", top_p)
        for beams in ("0", "-1", "65"):
            refused(2, "--beams", "--beams", beams)
        refused(2, "--length-penalty", "--beams", "2", "--length-penalty", "nan")
        refused(2, "--beams", "--length-penalty", "2")
        for drawn in ("--temperature", "--top-k", "--top-p", "--seed"):
            refused(2, drawn, "--beams", "2", drawn, "1")
        for temperature in ("-1", "nan", "inf"):
            refused(2, "--temperature", "--temperature", temperature)
        refused(2, "--top-k", "--top-k", "-1")
        refused(2, "'tpu'", "--device", "tpu")
        refused(69, "", "--tokenizer", "tok", "--device", "gpu")  # which these tests hide
        refused(66, "nowhere", "--tokenizer", "nowhere", sentence="generate.no_tokenizer/missing")
        refused(66, str(self.folder), "--tokenizer", self.folder,
                sentence="generate.no_tokenizer/folder")
        refused(65, "'Once'", "--tokenizer", "none", sentence="generate.no_token_id")
        small = self.make(32, self.vocab_size - 1, "small")
        done = self.run_trainx("generate", small, "--prompt", "Once", "--tokenizer", "tok",
                               expect=65)
        self.assertRegex(done.stderr, rf"vocab_size\b.*\b{self.vocab_size - 1}\b")
        (self.folder / "bad").mkdir()
        (self.folder / "bad" / "tokenizer.json").write_text("{")
        refused(65, "bad/tokenizer.json", "--tokenizer", "bad")
        weights = self.folder / model / "model.safetensors"
        data = bytearray(weights.read_bytes())
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        begin, end = next(v["data_offsets"] for k, v in header.items() if k.endswith("ln_f.weight"))
        at = 8 + int.from_bytes(data[:8], "little") + begin
        data[at:at + 4] = b"\xff\xff\xff\xff"                     # NaN
        weights.write_bytes(data)
        refused(65, "", "--tokenizer", "tok", "--temperature", "0", sentence="generate.nan")
        refused(65, "", "--tokenizer", "tok", sentence="generate.nan")


if __name__ == "__main__":
    main()
