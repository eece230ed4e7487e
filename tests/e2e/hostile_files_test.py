"""Files that never answer, never end or were made to harm: each is refused with a sentence, in
seconds and little memory."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess

import forked
from support import BUILD, Refusal, Trainx, main, tiny, write_tokens

MOST_SECONDS, MOST_BYTES = 20, 1 << 30


class HostileFiles(Trainx):
    forks = True

    def model_folder(self):
        """A Hugging Face folder of a tiny model."""
        self.run_trainx(
            "train",
            self.recipe(tiny(steps=2, every=2).replace("warmup: 5 steps", "warmup: 1 steps")),
            "-q",
        )
        self.run_trainx("export", "outputs/tiny", "model")
        (self.folder / "model" / "manifest.json").unlink(missing_ok=True)
        return self.folder / "model"

    def refuses(self, code, *args, names=()):
        """Ends with `code` and names things, within time and memory."""
        words, env = [*map(str, args), "--json"], self.environment()
        program = forked.program_for(words, env, BUILD)
        answer = forked.ask(program, words, self.folder, env, seconds=MOST_SECONDS)
        self.assertNotEqual(answer["code"], -signal.SIGKILL, f"no answer: {words}")
        refusal = Refusal(
            subprocess.CompletedProcess(words, answer["code"], answer["out"], answer["err"])
        )
        self.assertEqual(refusal.code, code, answer)
        for name in names:
            self.assertIn(name, refusal.text())
        self.assertLess(answer["memory_bytes"], MOST_BYTES, words)

    def special(self, kind, path):
        """Puts something that is no regular file in the place of a file."""
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "folder":
            path.mkdir()
        else:
            here = os.getcwd()
            os.chdir(path.parent)  # a socket's name may have 107 bytes
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(path.name)
            os.chdir(here)

    def test_what_is_no_regular_file_is_refused(self):
        model = self.model_folder()
        shutil.copytree(self.folder / "outputs" / "tiny", self.folder / "run")
        write_tokens(self.folder / "t.bin", [1] * 1000)
        (self.folder / "lines.jsonl").write_text('{"input_ids": [1, 2], "label": 0}\n')
        recipe = self.folder / "r.yaml"
        tokens = (
            tiny()
            .replace(
                "type: stories, sequence_length: 32, samples: 512, eval_samples: 10",
                "type: tokens, train: t.bin, sequence_length: 32",
            )
            .replace("eval: {every: 20 steps, batches: 5}\n", "")
        )
        for kind in ("pipe", "device", "socket", "folder"):
            missing = (
                66 if kind == "folder" else 65
            )  # a folder where a file belongs: the file is missing
            with self.subTest(kind=kind):
                for name in ("config.json", "model.safetensors"):
                    broken = self.folder / "broken"
                    shutil.copytree(model, broken)
                    self.special(kind, broken / name)
                    self.refuses(missing, "export", broken, "out", names=[name])
                    shutil.rmtree(broken)
                checkpoint = self.folder / "broken"
                shutil.copytree(self.folder / "run", checkpoint, symlinks=True)
                self.special(kind, checkpoint / "checkpoint-2" / "manifest.json")
                self.refuses(65, "ckpt", "verify", "broken", names=["manifest.json"])
                shutil.rmtree(checkpoint)
                self.special(kind, recipe)
                self.refuses(2 if kind == "folder" else 66, "validate", recipe, names=["r.yaml"])
                recipe.rmdir() if kind == "folder" else recipe.unlink()
                self.special(kind, self.folder / "special.bin")
                self.refuses(65, "data", "inspect", "special.bin", names=["special.bin"])
                (self.folder / "t.yaml").write_text(tokens.replace("t.bin", "special.bin"))
                self.refuses(65, "train", "t.yaml", names=["special.bin"])
                (self.folder / "special.bin").rename(self.folder / "special.jsonl")
                self.refuses(65, "data", "inspect", "special.jsonl", names=["special.jsonl"])
                self.refuses(
                    missing,
                    "data",
                    "tokenize",
                    "lines.jsonl",
                    "--tokenizer",
                    "special.jsonl",
                    "--out",
                    "o.bin",
                )
                path = self.folder / "special.jsonl"
                path.rmdir() if kind == "folder" else path.unlink()

    def test_a_link_to_itself(self):
        model = self.model_folder()
        (model / "tokenizer.json").symlink_to("tokenizer.json")
        ids = ("--prompt", "1", "--max-tokens", "1")
        self.refuses(74, "generate", model, *ids, names=["tokenizer.json"])

    def test_configs_that_are_too_deep_or_too_large(self):
        model = self.model_folder()
        config = json.loads((model / "config.json").read_text())

        def with_config(text):
            (model / "config.json").write_text(text)

        with_config(json.dumps(config)[:-1] + ', "x": ' + "[" * 20000 + "]" * 20000 + "}")
        self.refuses(65, "export", model, "out", names=["config.json", "64"])
        with_config(json.dumps(config)[:-1] + " " * (17 << 20) + "}")
        self.refuses(65, "export", model, "out", names=["config.json"])
        for layers in (1025, 10**9):
            with_config(json.dumps(config | {"n_layer": layers}))
            self.refuses(65, "export", model, "out", names=[str(layers)])
            self.refuses(
                65,
                "validate",
                self.recipe(
                    tiny().replace(
                        "type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, "
                        "max_positions: 32, dropout: 0.1}",
                        "type: gpt2, init_from: model",
                    )
                ),
                names=[str(layers)],
            )

    def test_headers_of_many_tensors(self):
        model = self.model_folder()
        header = (
            "{"
            + ",".join(
                f'"tensor.{i:08}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
                for i in range(800_000)
            )
            + "}"
        ).encode()
        (model / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
        self.refuses(65, "export", model, "out", names=["model.safetensors"])

    def test_a_line_of_jsonl_that_does_not_end(self):
        (self.folder / "long.jsonl").write_text(
            '{"label": 0, "input_ids": [' + "1, " * (23 << 20) + "1]}\n"
        )
        self.refuses(65, "data", "inspect", "long.jsonl", names=["long.jsonl", "64 MiB"])


if __name__ == "__main__":
    main()
