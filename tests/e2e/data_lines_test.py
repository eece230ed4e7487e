"""What data says, and what it does not: labels by name, masks, samples without targets, packed
files,
and the same answers of validate, plan and train."""
import gzip
import json

from support import Trainx, main

MODEL = {
    "llama": "{num_layers: 1, num_heads: 2, hidden_size: 16, intermediate_size: 16, max_positions: 64, vocab_size: 300}",
    "bert": "{num_layers: 1, num_heads: 2, hidden_size: 16, intermediate_size: 16, max_positions: 64, vocab_size: 400, task: classification}",
}
RECIPE = """\
run: {{name: {name}, duration: 1 steps, deterministic: true}}
model: {{type: {model}, options: {options}}}
data: {{type: jsonl, train: {train}, sequence_length: 32{more}}}
batch: {{global_batch_size: 2}}
optimizer: {{type: adamw, lr: 1e-3}}
metrics: {{every: 1 steps}}
"""


class DataLines(Trainx):
    forks = True

    def write(self, name, *rows):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        packed = name.endswith(".gz")
        (self.folder / name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return name

    def write_recipe(self, train, name, model="llama", more=""):
        return self.recipe(
            RECIPE.format(name=name, model=model, options=MODEL[model], train=train, more=more),
            f"{name}.yaml")

    def loss(self, name, *rows, more=""):
        self.run_trainx(
            "train",
            self.write_recipe(
                self.write(
                    f"{name.replace('.gz', '')}.jsonl" + (".gz" if name.endswith(".gz") else ""),
                    *rows), name, more=more))
        return self.metrics(name)[0]["loss"]

    def test_masks_and_packed_files_train_as_labels_do(self):
        ids, mask = [1, 10, 11, 12, 13, 2], [0, 0, 0, 1, 1, 1]
        labels = [i if m else -100 for i, m in zip(ids, mask)]
        want = self.loss("labels", {"input_ids": ids, "labels": labels, "id": 7})
        for name in ("completion_mask", "assistant_masks.gz"):
            self.assertEqual(self.loss(
                name, {"input_ids": ids, name.replace(".gz", ""): mask}), want)

    def test_nothing_to_learn(self):
        learned = {"input_ids": [1, 5, 6], "labels": [-100, 5, 6]}
        silent = {"input_ids": [1, 5, 6], "labels": [-100] * 3}
        recipe = self.write_recipe(self.write("a.jsonl", silent, silent), "none")
        for command in ("validate", "plan", "train"):
            self.assertIn("a.jsonl", self.run_trainx(command, recipe, expect=65).stderr)
        self.assertFalse((self.folder / "outputs").exists())
        some = self.write_recipe(self.write("b.jsonl", silent, learned, silent), "some")
        done = self.run_trainx("train", some, "--json")
        warnings = [
            e["message"]
            for e in map(json.loads, done.stdout.splitlines())
            if e["event"] == "warning"
        ]
        self.assertTrue(any("b.jsonl" in w and "2 of 3" in w for w in warnings), warnings)
        self.assertIn(
            "2 of 3",
            "".join(json.loads(self.run_trainx("validate", some, "--json").stdout)["notes"]))

    def test_one_answer_everywhere(self):
        long = self.write_recipe(self.write("long.jsonl", {"input_ids": list(range(40))}), "long")
        for command in ("validate", "plan", "train"):
            self.assertIn("long.jsonl:1", self.run_trainx(command, long, expect=65).stderr)
        (self.folder / "model").mkdir()
        self.run_trainx("train",
                        self.write_recipe(self.write("ok.jsonl", {"input_ids": [1, 2, 3]}), "made"))
        config = (self.folder / "outputs/made/latest/config.json").read_text()
        (self.folder / "model/config.json").write_text(config)
        again = self.recipe(
            RECIPE.format(name="again", model="llama", options="{}", train="ok.jsonl",
                          more="").replace("model: {", "model: {init_from: model, "), "again.yaml")
        for command in ("validate", "train"):
            self.run_trainx(command, again, expect=66)
        notes = json.loads(self.run_trainx("plan", again, "--json").stdout)["data_notes"]
        self.assertTrue(any("model.safetensors" in n for n in notes), notes)
        (self.folder / "model/model.safetensors"
         ).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
        for command in ("validate", "plan", "train"):
            self.assertIn("git-lfs", self.run_trainx(command, again, expect=65).stderr)
        self.write("large.jsonl", *[{"input_ids": list(range(32))}] * 20000)
        notes = json.loads(
            self.run_trainx("validate", self.write_recipe("large.jsonl", "large"),
                            "--json").stdout)["notes"]
        self.assertTrue(any("not checked" in n for n in notes), notes)

    def test_names_of_classes(self):
        (self.folder / "train.csv").write_text(
            'text,label\n"a warm, funny\nfilm",positive\ndull,negative\n\nwarm,positive\n')
        (self.folder / "dev.csv").write_text("text,label\nfunny,positive\n")
        made = ("--tokenizer", "words")
        self.run_trainx("data", "tokenize", "train.csv", *made, "--train-vocab", "300", "--kind",
                        "wordpiece", "--out", "train.jsonl")
        self.run_trainx("data", "tokenize", "train.csv", *made, "--out", "train.jsonl", expect=73)
        self.run_trainx("data", "tokenize", "train.csv", *made, "--out", "train.jsonl",
                        "--overwrite")
        self.run_trainx("data", "tokenize", "dev.csv", *made, "--out", "dev.jsonl")
        recipe = self.write_recipe("train.jsonl", "named", "bert", ", eval: dev.jsonl")
        self.assertIn("--label-names", self.run_trainx("validate", recipe, expect=65).stderr)
        self.run_trainx("data", "tokenize", "dev.csv", *made, "--out", "dev.jsonl", "--overwrite",
                        "--label-names", "train.jsonl")
        self.run_trainx("train", recipe)
        config = json.loads((self.folder / "outputs/named/latest/config.json").read_text())
        self.assertEqual(config["id2label"], {"0": "negative", "1": "positive"})
        self.assertEqual(config["label2id"], {"negative": 0, "positive": 1})
        shown = json.loads(self.run_trainx("data", "inspect", "train.jsonl", "--json").stdout)
        self.assertEqual(shown["label_names"], ["negative", "positive"])

    def test_a_folder_of_splits(self):
        (self.folder / "d").mkdir()
        for split, text in (("train", "aaa"), ("validation", "bbb"), ("test", "ccc")):
            self.write(f"d/{split}-00000-of-00001.jsonl", {"text": text})
        self.run_trainx("data", "tokenize", "d", "--tokenizer", "t", "--train-vocab", "280",
                        "--out", "a.jsonl")
        done = self.run_trainx("data", "tokenize", "d", "--tokenizer", "t", "--split", "test",
                               "--out", "b.jsonl", "--json")
        self.assertEqual(json.loads(done.stdout)["documents"], 1)
        self.assertNotEqual((self.folder / "a.jsonl").read_text(),
                            (self.folder / "b.jsonl").read_text())


if __name__ == "__main__":
    main()
