"""What trainx wrote of a tokenizer beside the data is used and compared: size, ids of masks, tokens
of the model's folder."""
import json
import re
import shutil
import struct

from support import Trainx, main

RECIPE = """\
run: {name: masks, duration: 1 steps}
model: {type: bert, options: {task: masked_lm, num_layers: 1, num_heads: 2, hidden_size: 16, intermediate_size: 16, max_positions: 32}}
data: {type: jsonl, train: lines.jsonl, sequence_length: 32}
batch: {global_batch_size: 8}
optimizer: {type: adamw, lr: 1e-3}
"""
WORDS = "the a ferry harbour leaves at noon with cargo of apples pears island town mild weather clerk asks answer is not yes".split(
)


class Facts(Trainx):
    forks = True

    def text(self, name, fields):
        lines = [{"text": " ".join(self.random.choices(WORDS, k=8)), **fields} for _ in range(40)]
        (self.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def values(self, recipe, *settings):
        shown = self.run_trainx("show", recipe, *settings).stdout
        return {
            key: re.search(rf"{key}: +(\[[^\]]*\]|\S+)", shown)[1]
            for key in ("vocab_size", "mask_token", "special_tokens")
        }

    def test_masks_and_size_are_the_tokenizers(self):
        self.text("text.jsonl", {})
        self.run_trainx("data", "tokenize", "text.jsonl", "--tokenizer", "words", "--train-vocab",
                        120, "--kind", "wordpiece", "--out", "lines.jsonl")
        about = json.loads((self.folder / "lines.jsonl.json").read_text())
        self.assertEqual((about["tokenizer"], about["mask_token"], about["special_tokens"]),
                         ("words/tokenizer.json", 4, [0, 1, 2, 3, 4]))
        recipe = self.recipe(RECIPE)
        wanted = {
            "vocab_size": str(about["vocab_size"]), "mask_token": "4",
            "special_tokens": "[0, 1, 2, 3, 4]"
        }
        self.assertEqual(self.values(recipe), wanted)
        self.assertEqual(self.values(recipe, "model.options.mask_token=1")["mask_token"], "1")
        # a FILE.json of an older release names the tokenizer alone
        older = {key: about[key] for key in ("tokenizer", "vocab_size")}
        (self.folder / "lines.jsonl.json").write_text(json.dumps(older))
        self.assertEqual(self.values(recipe), wanted)
        self.refused("validate", recipe, f"model.options.vocab_size={about['vocab_size'] - 1}",
                     key="model.options.vocab_size")
        # moved together, found from elsewhere
        (self.folder / "moved").mkdir()
        for name in ("lines.jsonl", "lines.jsonl.json", "words"):
            shutil.move(self.folder / name, self.folder / "moved")
        self.assertEqual(self.values(recipe, "data.train=moved/lines.jsonl"), wanted)
        # not known
        (self.folder / "moved/lines.jsonl.json").unlink()
        self.refused("validate", recipe, "data.train=moved/lines.jsonl",
                     key="model.options.mask_token",
                     names=["special_tokens", "trainx data tokenize"])
        self.refused("validate", recipe, "data.train=moved/lines.jsonl",
                     "model.options.mask_token=4", key="model.options.special_tokens")
        self.assertFalse((self.folder / "outputs").exists())
        # nothing is drawn where the data gives labels
        (self.folder / "given.jsonl"
         ).write_text(json.dumps({"input_ids": [2, 4, 3], "labels": [-100, 9, -100]}) + "\n")
        self.run_trainx("validate", recipe, "data.train=given.jsonl")

    def test_data_of_another_tokenizer_is_refused(self):
        self.text("text.jsonl", {})
        for name, words in (("mine", 300), ("other", 310)):
            self.run_trainx("data", "tokenize", "text.jsonl", "--tokenizer", name, "--train-vocab",
                            words, "--out", f"{name}.bin")
        model = self.folder / "model"
        shutil.copytree(self.folder / "mine", model)
        whole = json.loads((model / "tokenizer.json").read_text())
        (model / "config.json").write_text(
            json.dumps({
                "model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 32,
                "vocab_size": 400
            }))
        (model / "model.safetensors").write_bytes(
            struct.pack("<Q", 2) + b"{}")  # validate looks whether there is one
        recipe = self.recipe(
            "run: {name: x, duration: 1 steps}\nmodel: {type: gpt2, init_from: model}\ndata: {type: tokens, train: mine.bin, sequence_length: 16}\n"
            "batch: {global_batch_size: 4}\noptimizer: {type: adamw, lr: 1e-3}\n")
        self.run_trainx("validate", recipe)
        # more tokens behind those of the folder are the same tokens
        self.run_trainx("validate", recipe, "data.train=other.bin")
        vocab = whole["model"]["vocab"]
        backwards = sorted(vocab, key=lambda token: (token != "<|endoftext|>", -vocab[token]))
        whole["model"]["vocab"] = {token: i for i, token in enumerate(backwards)}
        (model / "tokenizer.json").write_text(json.dumps(whole))
        self.refused(
            "validate", recipe, key="data.train",
            names=["mine.bin", "mine/tokenizer.json", "model/tokenizer.json", "--tokenizer"])


if __name__ == "__main__":
    main()
