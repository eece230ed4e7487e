"""Hugging Face folders out and in: exports in each type and in shards, tokenizer files carried
along, folders that cannot be read."""
import json
import shutil
import struct
import unittest

import reference
from saved_tensors import tensors
from support import Trainx, main, sampled, tiny, write_tokens

PYTHON = reference.PYTHON
CARRIED = {
    "tokenizer.json": '{"version": "1.0"}\n', "tokenizer_config.json": "{}",
    "vocab.json": '{"a": 0}', "merges.txt": "#version: 0.2\na b\n", "generation_config.json": "{}"
}
STORIES = "{type: stories, sequence_length: 32, samples: 64}"
FROM = """\
run: {{name: {name}, duration: {steps} steps, deterministic: true}}
model: {{type: gpt2, init_from: {folder}}}
data: {data}
batch: {{global_batch_size: 4, micro_batch_size: 4}}
optimizer: {{type: sgd, lr: 0.01}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""


class Export(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.run_trainx("train", self.recipe(tiny(steps=6, every=6, seed=self.seed % 1000)))
        self.checkpoint = self.folder / "outputs" / "tiny" / "latest"

    def export(self, name, *more, source="outputs/tiny"):
        self.run_trainx("export", source, name, *more)
        return self.folder / name

    def from_folder(self, folder, name, steps=1, expect=0, data=STORIES):
        return self.run_trainx(
            "train",
            self.recipe(FROM.format(name=name, folder=folder, steps=steps, data=data),
                        f"{name}.yaml"), expect=expect)

    def first_loss(self, folder, name, data=STORIES):
        self.from_folder(folder, name, data=data)
        return self.metrics(name)[0]["loss"]

    def reference(self, *args):
        return reference.ask(self, "reference_gpt2.py", *args)

    def test_the_token_that_ends_a_document_ends_texts_of_the_export(self):
        for name in ("train", "held"):
            write_tokens(self.folder / f"{name}.bin",
                         [self.random.randrange(300) for _ in range(2000)])
            (self.folder / f"{name}.bin.json").write_text(
                json.dumps({"tokenizer": None, "vocab_size": 300, "end_of_text": 7}))
        data = "{type: tokens, train: train.bin, eval: held.bin, sequence_length: 32}"
        recipe = tiny(steps=2, every=2).replace(
            "{type: stories, sequence_length: 32, samples: 512, eval_samples: 10}", data)
        for vocab in (300, 50257):      # the latter is GPT-2's own, whose end is another
            self.run_trainx("train", self.recipe(recipe, "ends.yaml"), f"run.name=v{vocab}",
                            f"model.options.vocab_size={vocab}", "schedule.warmup=1 steps")
            folder = self.export(f"export{vocab}", source=f"outputs/v{vocab}")
            for file in ("config.json", "generation_config.json"):
                self.assertEqual(json.loads((folder / file).read_text())["eos_token_id"], 7, file)
        config, generation = (json.loads((folder / file).read_text())
                              for file in ("config.json", "generation_config.json"))
        (folder / "manifest.json").unlink()                 # its files are changed here
        for own in (None, [7, 9]):
            (folder / "generation_config.json").write_text(
                json.dumps(generation | {"eos_token_id": own}))
            again = self.export(f"again{own}", source=folder.name)
            saved = json.loads((again / "config.json").read_text())["eos_token_id"]
            self.assertEqual(saved,
                             config["eos_token_id"] if own is None else own)  # null says nothing

    def test_an_export_is_the_checkpoint_in_another_type_and_cut(self):
        saved = tensors(self.checkpoint / "model.safetensors")
        self.assertEqual(tensors(self.export("plain") / "model.safetensors"), saved)
        self.assertEqual({p.name for p in (self.folder / "plain").iterdir()},
                         {"config.json", "model.safetensors", "manifest.json"})
        self.assertEqual(
            {
                t[0]
                for t in tensors(
                    self.export("half", "--dtype", "bf16", source="outputs/tiny/latest") /
                    "model.safetensors").values()
            }, {"BF16"})
        self.assertEqual(
            json.loads((self.folder / "half" / "config.json").read_text())["torch_dtype"],
            "bfloat16")
        shards = self.export("shards", "--max-shard-size", "30 KiB")
        index = json.loads((shards / "model.safetensors.index.json").read_text())
        files = sorted(p.name for p in shards.glob("*.safetensors"))
        self.assertGreaterEqual(len(files), 2)
        self.assertEqual(
            files, [f"model-{i + 1:05}-of-{len(files):05}.safetensors" for i in range(len(files))])
        self.assertEqual({name: t for f in files for name, t in tensors(shards / f).items()}, saved)
        self.assertEqual({name: f
                          for f in files
                          for name in tensors(shards / f)}, index["weight_map"])
        self.assertEqual(index["metadata"]["total_size"], sum(len(t[2]) for t in saved.values()))
        self.assertEqual(self.first_loss(shards, "a"), self.first_loss(self.folder / "plain", "b"))
        again = self.export("again", source="shards")  # a Hugging Face folder is a source too
        self.assertEqual(tensors(again / "model.safetensors"), saved)
        for source in ("shards", "again"):
            text = self.run_trainx("generate", source, "--prompt", "1 2 3", "--max-tokens", "5",
                                   "--temperature", "0").stdout
            self.assertEqual(len(text.split()), 8)

    def test_what_is_refused(self):
        def refused(code, name, *args):
            done = self.run_trainx("export", *args, expect=code)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(name, done.stderr)
            return done.stderr
        refused(2, "'fp16'", "outputs/tiny", "out", "--dtype", "fp61")
        refused(2, "--max-shard-size", "outputs/tiny", "out", "--max-shard-size", "5")
        refused(2, "--max-shard-size", "outputs/tiny", "out", "--max-shard-size", "0 B")
        refused(2, "FOLDER", "outputs/tiny")
        refused(66, "outputs/none", "outputs/none", "out")
        self.check_sentence("export.not_empty",
                            refused(73, "outputs/tiny", "outputs/tiny", "outputs/tiny"))
        self.export("large")
        (self.folder / "large" / "manifest.json").unlink()
        path = self.folder / "large" / "model.safetensors"
        data = bytearray(path.read_bytes())
        data[-4:] = struct.pack("<f", 1e6)
        path.write_bytes(data)
        self.check_sentence("export.beyond_range",
                            refused(65, "1e6", "large", "out", "--dtype", "fp16"))
        self.assertEqual([p.name for p in self.folder.iterdir() if "out" in p.name],
                         ["outputs"])  # nothing was left
        self.assertIn("'exprt'", self.run_trainx("exprt", expect=2).stderr)

    def test_a_bad_index_or_shard_is_one_sentence(self):
        shards = self.export("shards", "--max-shard-size", "30 KiB")
        (shards / "manifest.json").unlink()
        index, first = shards / "model.safetensors.index.json", shards / next(
            p.name for p in shards.glob("model-00001*"))
        good_index, good_shard = index.read_text(), first.read_bytes()
        outside = json.loads(good_index)
        outside["weight_map"]["wte.weight"] = "../secret.safetensors"
        lacking = json.loads(good_index)
        lacking["weight_map"]["no.such"] = first.name
        for text, says in ((json.dumps(outside), "../secret"), (json.dumps(lacking), '"no.such"'),
                           ("[" * 100000, "index.json"), ('{"metadata":' * 100000, "index.json"),
                           (good_index[:50], "index.json")):
            index.write_text(text)
            for done in (self.from_folder(shards, "bad", expect=65),
                         self.run_trainx("export", "shards", "out", expect=65)):
                self.assertIn(says, done.stderr)
                self.assertLess(len(done.stderr), 600)
        index.write_text(good_index)
        first.write_bytes(good_shard[:-1])
        self.assertIn(first.name, self.from_folder(shards, "bad", expect=65).stderr)
        first.unlink()
        self.assertIn(first.name, self.from_folder(shards, "bad", expect=66).stderr)
        first.write_bytes(good_shard)
        self.from_folder(shards, "good")

    def test_tokenizer_files_are_carried_also_when_their_folder_is_gone(self):
        source = self.export("source")
        for name, text in CARRIED.items():
            (source / name).write_text(text)
        self.from_folder(source, "carry", steps=2)
        shutil.rmtree(source)
        self.from_folder(source, "carry", steps=4)  # goes on from the checkpoint alone
        self.assertEqual(self.status("carry")["step"], 4)
        self.run_trainx("ckpt", "verify", "outputs/carry")
        for folder in (self.folder / "outputs" / "carry" / "checkpoint-4",
                       self.export("out", source="outputs/carry")):
            self.assertEqual({n: (folder / n).read_text() for n in CARRIED}, CARRIED)
        self.from_folder(source, "other", expect=66)  # a new run needs the folder

    @unittest.skipUnless(
        PYTHON,
        "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
    )
    @sampled
    def test_transformers_loads_exports_and_its_shards_train_here(self):
        # A rounding to p bits moves a weight by 2^-p of it at most; two layers add some of these
        # up.
        for dtype, torch_name, tolerance in self.drawn(
            (("fp32", "torch.float32", 0), ("bf16", "torch.bfloat16", 8 * 2**-9),
             ("fp16", "torch.float16", 8 * 2**-12))):
            for size in ("5 GiB", "20 KiB"):
                with self.subTest(dtype=dtype, size=size):
                    folder = self.export(f"{dtype}-{size[0]}", "--dtype", dtype, "--max-shard-size",
                                         size)
                    self.assertEqual(len(list(folder.glob("*.safetensors"))) >= 2, size == "20 KiB")
                    got = self.reference("compare", self.checkpoint, folder)
                    print(f"  {dtype}, {size}: {got}")
                    self.assertEqual(got["dtype"], torch_name)
                    self.assertLessEqual(got["difference"], tolerance * got["largest"])
        self.reference("make", self.folder / "gpt2")
        self.reference("shard", self.folder / "gpt2", self.folder / "cut", "40KB")
        self.assertGreaterEqual(len(list((self.folder / "cut").glob("*.safetensors"))), 2)
        write_tokens(self.folder / "tokens.bin", [self.random.randrange(131) for _ in range(400)])
        tokens = "{type: tokens, train: tokens.bin, sequence_length: 32}"
        self.assertEqual(self.first_loss(self.folder / "cut", "cut", tokens),
                         self.first_loss(self.folder / "gpt2", "whole", tokens))


if __name__ == "__main__":
    main()
