"""Weights that leave a run: one changed bit in a copied checkpoint or an export is told by
whoever reads it."""

import json
import shutil
from support import Trainx, main, tiny

MODEL = (
    "type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, "
    "max_positions: 32, dropout: 0.1}"
)


def flip(path, random):
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data) // 2, len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(bytes(data))


class BitFlips(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.recipe_path = self.recipe(
            tiny(steps=2, every=2).replace("warmup: 5 steps", "warmup: 1 steps")
        )
        self.run_trainx("train", self.recipe_path, "-q")
        self.run_trainx("export", "outputs/tiny", "export")
        shutil.copytree(self.folder / "outputs" / "tiny" / "checkpoint-2", self.folder / "copy")

    def readers(self, folder):
        """Commands that read weights from a folder."""
        begun = self.recipe(
            tiny(steps=2)
            .replace("warmup: 5 steps", "warmup: 1 steps")
            .replace("name: tiny", "name: begun")
            .replace(MODEL, f"type: gpt2, init_from: {folder}"),
            "begun.yaml",
        )
        return [
            ("generate", folder, "--prompt", "1", "--max-tokens", "1"),
            ("export", folder, "out"),
            ("train", begun),
            ("ckpt", "verify", folder),
        ]

    def all_refuse(self, folder, *names):
        for command in self.readers(folder):
            with self.subTest(command=command[0], folder=folder):
                done = self.run_trainx(*command, expect=None)
                self.assertEqual(done.returncode, 65, done.stdout + done.stderr)
                for name in names:
                    self.assertIn(name, done.stderr)

    def test_sound_folders_are_read(self):
        for folder in ("copy", "export"):
            for command in self.readers(folder):
                self.run_trainx(*command)
            shutil.rmtree(self.folder / "out")
            shutil.rmtree(self.folder / "outputs" / "begun")

    def test_one_bit_of_the_weights(self):
        for folder in ("copy", "export"):
            flip(self.folder / folder / "model.safetensors", self.random)
            self.all_refuse(folder, "model.safetensors")

    def test_a_folder_without_a_manifest_is_what_it_is(self):
        (self.folder / "export" / "manifest.json").unlink()
        flip(self.folder / "export" / "model.safetensors", self.random)
        self.run_trainx("export", "export", "out")

    def test_the_manifest_itself(self):
        path = self.folder / "copy" / "manifest.json"
        text = path.read_bytes()
        for changed in (text + b" ", text + b"\0noise", text[:-1], text.replace(b"  ", b" ", 1)):
            path.write_bytes(changed)
            self.all_refuse("copy", "manifest.json")
        without = json.loads(text)
        del without["files"]["model.safetensors"]
        path.write_text(json.dumps(without, indent=2) + "\n")
        self.all_refuse("copy", "manifest.json")

    def test_a_manifest_without_the_model_is_not_trained_on_from(self):
        path = self.folder / "outputs" / "tiny" / "checkpoint-2" / "manifest.json"
        without = json.loads(path.read_text())
        for name in ("model.safetensors", "optimizer.safetensors"):
            less = json.loads(path.read_text())
            del less["files"][name]
            path.write_text(json.dumps(less, indent=2) + "\n")
            self.assertIn(
                "manifest.json", self.run_trainx("ckpt", "verify", "outputs/tiny", expect=65).stderr
            )
            self.assertIn(
                "manifest.json",
                self.run_trainx(
                    "train", self.recipe_path, "run.duration=4 steps", expect=83
                ).stderr,
            )
            path.write_text(json.dumps(without, indent=2) + "\n")


if __name__ == "__main__":
    main()
