"""Several files for one source, a held-out part, folders from elsewhere: as a user runs them."""
import json
import os

from support import Trainx, main, write_tokens

RECIPE = """\
run: {{name: r, duration: 6 steps, deterministic: true}}
model:
  type: gpt2
  options: {{num_layers: 1, num_heads: 1, hidden_size: 16, max_positions: 16, vocab_size: 64}}
data: {{type: tokens, train: {train}, sequence_length: 16{more}}}
batch: {{global_batch_size: 4, micro_batch_size: 4}}
optimizer: {{type: adamw, lr: 1e-3}}
checkpoint: {{every: 3 steps}}
metrics: {{every: 1 steps}}
"""


class DataFiles(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.ids = [self.random.randrange(64) for _ in range(40 * 16 + 1)]
        write_tokens(self.folder / "whole.bin", self.ids)

    def part(self, name, first, samples):
        """Samples of the whole: with the token behind the last one, which is its target."""
        write_tokens(self.folder / name, self.ids[16 * first:16 * (first + samples) + 1])

    def parts(self):
        (self.folder / "d").mkdir()
        for name, first, samples in (("d/0.bin", 0, 10), ("d/1.bin", 10, 25), ("d/2.bin", 35, 5)):
            self.part(name, first, samples)

    def write_recipe(self, train="whole.bin", more="", name="r.yaml"):
        return self.recipe(RECIPE.format(train=train, more=more), name)

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run)]

    def evaluation(self, run):
        lines = (self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines()
        return [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]

    def test_parts_train_as_the_whole(self):
        self.parts()
        self.run_trainx("train", self.write_recipe())
        for run, train in (("glob", "'d/*.bin'"), ("list", "[d/0.bin, d/1.bin, d/2.bin]")):
            self.run_trainx("train", self.write_recipe(train), f"run.name={run}")
            self.assertEqual(self.losses(run), self.losses("r"))

    def test_missing_and_mistaken_files(self):
        self.parts()
        valid = self.run_trainx("validate", self.write_recipe("[d/0.bin, none.bin]"), "--json")
        self.assertEqual(len(json.loads(valid.stdout)["notes"]), 1)            # not there yet
        self.run_trainx("train", self.write_recipe("[d/0.bin, none.bin]"), expect=66)
        for recipe, code, says in (
            (("'none/*.bin'",), 66, "none/*.bin"),
            (("'d/*.bin'", ", eval: d/1.bin"), 78, "d/1.bin"),
            (("['d/*.bin', d/1.bin]",), 78, "d/1.bin"),
            (("whole.bin", ", held_out: 41 samples"), 78, "held_out"),
        ):
            for command in ("validate", "train"):
                done = self.run_trainx(command, self.write_recipe(*recipe), expect=code)
                self.assertIn(says, done.stderr)

    def test_another_set_of_files_is_told(self):
        self.parts()
        recipe = self.write_recipe("'d*/*.bin'")
        self.run_trainx("train", recipe)
        self.run_trainx("train", recipe, "run.duration=7 steps")
        os.rename(self.folder / "d/2.bin", self.folder / "d/3.bin")              # as many samples
        said = self.run_trainx("train", recipe, "run.duration=8 steps", expect=78).stderr
        self.assertIn("d/2.bin", said)
        self.assertIn("d/3.bin", said)
        self.run_trainx("train", recipe, "run.duration=8 steps", "--fork", "fork")
        os.rename(self.folder / "d/3.bin", self.folder / "d/2.bin")
        self.run_trainx("train", recipe, "run.duration=8 steps")
        os.rename(self.folder / "d", self.folder / "d_moved")                    # the same data
        self.run_trainx("train", recipe, "run.duration=9 steps")

    def test_a_held_out_part(self):
        recipe = self.write_recipe(more=", held_out: 10 %")
        self.run_trainx("train", recipe, "eval.every=3 steps")
        self.assertEqual(len(self.evaluation("r")), 2)
        epoch = self.run_trainx("plan", recipe, "--json", "run.duration=1 epoch").stdout
        self.assertEqual(json.loads(epoch)["total_steps"], 9)                    # 36 samples
        self.run_trainx("eval", recipe)
        # The same part whatever the seed and the shuffling: the same weights have the same loss.
        losses = set()
        text = open(recipe).read()
        for was, is_now in (("", ""), ("run: {", "run: {seed: 7, "), ("data: {",
                                                                      "data: {shuffle: false, ")):
            self.assertIn(was, text)
            again = self.recipe(text.replace(was, is_now, 1), "again.yaml")
            lines = self.run_trainx("eval", again, "--json").stdout.splitlines()
            losses.add(json.loads(lines[-1])["eval_loss"])
        self.assertEqual(len(losses), 1)

    def test_a_folders_dropout_is_followed(self):
        self.run_trainx("train", self.write_recipe(), "run.duration=1 steps")
        folder = self.folder / "m"
        self.run_trainx("export", "outputs/r", folder)
        (folder / "manifest.json").unlink()                 # its config.json is changed here
        saved = json.loads((folder / "config.json").read_text())
        self.assertEqual((saved["resid_pdrop"], saved["attn_pdrop"]), (0, 0))

        def config(**values):
            (folder / "config.json").write_text(json.dumps({**saved, **values}))
        recipe = self.write_recipe(name="n.yaml")
        how = ("model.options={}", "model.init_from=m")

        def shown(*more):
            done = self.run_trainx("show", recipe, "--json", *how, *more)
            return json.loads(done.stdout)["model.options.dropout"]

        def notes(*more):
            done = self.run_trainx("validate", recipe, "--json", *how, *more)
            told = json.loads(done.stdout)["notes"]
            return [note for note in told if not note.startswith("schedule")]

        config(resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.2)
        self.assertEqual(shown(), {"value": "0.1", "origin": "config.json of m"})
        self.assertEqual(shown("model.options.dropout=0.3")["value"], "0.3")
        self.assertEqual(notes(), [])
        self.run_trainx("train", recipe, *how, "run.name=a")
        same = ("model.options.dropout=0.1", "model.options.attention_dropout=0.2")
        self.run_trainx("train", recipe, *how, "run.name=b", *same)
        self.run_trainx("train", recipe, *how, "run.name=c", "model.options.attention_dropout=0")
        self.assertEqual(self.losses("a"), self.losses("b"))
        self.assertNotEqual(self.losses("a"), self.losses("c"))
        written = json.loads((self.folder / "outputs/a/latest/config.json").read_text())
        kinds = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
        self.assertEqual([written[kind] for kind in kinds], [0.1, 0.1, 0.2])
        # A run that goes on keeps its own, whatever the folder says by then.
        config(resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0)
        more = ("run.name=a", "run.duration=7 steps", "-q")
        self.assertNotIn("dropout", self.run_trainx("train", recipe, *how, *more).stderr)
        config(resid_pdrop=0.1, embd_pdrop=0.3, attn_pdrop=0)
        self.assertEqual(len(notes()), 1)
        self.assertEqual(notes("model.options.dropout=0.2"), [])

    def test_ids_of_the_hub_are_found_in_its_cache(self):
        self.run_trainx("train", self.write_recipe(), "run.duration=1 steps")
        hub = self.folder / "hf" / "hub"
        snapshots = hub / "models--org--tiny" / "snapshots"
        snapshots.mkdir(parents=True)
        self.run_trainx("export", "outputs/r", snapshots / "abc123")
        (hub / "models--org--tiny" / "refs").mkdir()
        (hub / "models--org--tiny" / "refs" / "main").write_text("abc123")
        recipe = self.write_recipe(name="n.yaml")
        how = ("model.options={dropout: 0}", "model.init_from=org/tiny")
        env = self.environment(HF_HOME=str(self.folder / "hf"))
        env.pop("HF_HUB_CACHE", None)
        env.pop("HUGGINGFACE_HUB_CACHE", None)
        shown = json.loads(self.run_trainx("show", recipe, "--json", *how, env=env).stdout)
        shown = shown["model.init_from"]
        self.assertEqual(shown["value"], str(snapshots / "abc123"))
        self.assertIn("org/tiny", shown["origin"])
        said = self.run_trainx("train", recipe, *how, "run.name=hub", env=env).stderr
        self.assertIn("abc123", said)
        resolved = (self.folder / "outputs/hub/resolved.yaml").read_text()
        self.assertIn("abc123", resolved)
        # The run goes on where the cache has a newer revision by then, and where it has none.
        os.rename(snapshots / "abc123", snapshots / "def456")
        (hub / "models--org--tiny" / "refs" / "main").write_text("def456")
        self.run_trainx("train", recipe, *how, "run.name=hub", "run.duration=7 steps", env=env)
        missing = self.environment(HF_HOME=str(self.folder / "nowhere"))
        self.run_trainx("train", recipe, *how, "run.name=hub", "run.duration=8 steps", env=missing)
        for command in ("validate", "train"):
            begun = self.run_trainx(command, recipe, *how, "run.name=x", env=missing, expect=66)
            said = begun.stderr
            self.assertIn("hf download org/tiny --local-dir tiny", said)
        done = self.run_trainx("validate", recipe, "model.init_from=./tiny", expect=66, env=missing)
        self.assertNotIn("hf download", done.stderr)
        # Tokenizers likewise.
        (self.folder / "a.txt").write_text("the cat sat on the mat\n" * 20)
        tokenize = ("data", "tokenize", "a.txt", "--tokenizer")
        self.run_trainx(*tokenize, hub / "models--t" / "snapshots" / "1", "--train-vocab", 260)
        done = self.run_trainx(*tokenize, "t", "--out", "a.bin", env=env)
        self.assertIn("models--t", done.stderr)
        self.run_trainx(*tokenize, "t", "--out", "b.bin", env=missing, expect=66)

    def test_an_array_of_json_is_read(self):
        def tokenize(name, *more, **how):
            return self.run_trainx("data", "tokenize", name, "--tokenizer", "tok", *more, **how)

        records = [{"text": "the cat"}, {"text": "sat on the mat"}]
        (self.folder / "a.json").write_text(json.dumps(records, indent=1))
        (self.folder / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
        tokenize("a.json", "--train-vocab", 260, "--out", "a.bin")
        tokenize("a.jsonl", "--out", "b.bin")
        self.assertEqual((self.folder / "a.bin").read_bytes(), (self.folder / "b.bin").read_bytes())
        tokenize("a.json", "--out", "a_samples.jsonl")
        self.assertEqual(len((self.folder / "a_samples.jsonl").read_text().splitlines()), 2)
        alpaca = [{"instruction": "say", "input": "", "output": "so"}]
        (self.folder / "alpaca.json").write_text(json.dumps(alpaca))
        said = tokenize("alpaca.json", "--out", "c.bin", expect=65).stderr
        self.assertIn("alpaca.json:1:", said)
        (self.folder / "a.parquet").write_bytes(b"PAR1" + bytes(range(200)) + b"PAR1")
        # 69: of a build without Apache Arrow
        done = tokenize("a.parquet", "--out", "c.bin", expect=None)
        self.assertIn(done.returncode, (65, 69), done.stderr)
        self.assertIn("a.parquet", done.stderr)
        said = self.run_trainx("validate", self.write_recipe("a.parquet"), expect=65).stderr
        self.assertIn("Parquet", said)


if __name__ == "__main__":
    main()
