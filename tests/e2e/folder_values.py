"""What trainx and transformers make of a tiny folder with other config.json files: the first loss
of each, or that it refuses the file."""
import concurrent.futures
import json
import shutil

import encoders_test
import families_test
import reference
import seq2seq_test
import tiny_encoders
import tiny_families
import tiny_seq2seq
from support import Trainx, write_tokens

SEED = 3                    # of models and of data
JOBS = families_test.JOBS
TOLERANCE = families_test.TOLERANCE


class Folders(Trainx):
    """A kind of models. A case is one of `cases`; its folder lies below the test's."""
    forks = True
    cases = {}
    # What a refusal names beside the folder and its config.json.
    named = ("model.init_from", "data.sequence_length")

    def data_of(self, case):
        """Writes the case's data: within a vocabulary that is smaller by one, too."""
        raise NotImplementedError

    def recipe_of(self, case, folder, data):
        raise NotImplementedError

    def reference(self, *words):
        raise NotImplementedError

    def make(self, case):
        """The config.json of the case's new folder."""
        self.reference("make", case, str(self.folder / case), SEED)
        return json.loads((self.folder / case / "config.json").read_text())

    def first_losses(self, case, data, paths):
        """Of transformers; None: it refuses the file."""
        return self.reference("first_loss", str(self.folder / case), data, *paths)

    def loss(self, case, number, config, data):
        """Of trainx; the sentence with which it refuses the file."""
        name = f"{case}-{number}"
        folder = self.folder / name
        folder.mkdir()
        (folder / "model.safetensors").symlink_to(self.folder / case / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config))
        done = self.run_trainx(
            "train", self.recipe(self.recipe_of(case, folder, data), f"{name}.yaml"),
            f"run.name={name}", "run.duration=1 step", "--json", expect=None)
        shutil.rmtree(folder)
        if done.returncode == 0:
            loss = self.metrics(name)[0]["loss"]
            shutil.rmtree(self.folder / "outputs" / name)
            return loss
        events = [json.loads(e) for e in done.stdout.splitlines() if '"event":"error"' in e]
        self.assertTrue(events and done.returncode in (65, 78), done.stdout + done.stderr)
        said = events[-1]["message"] + "".join(p["message"] for p in events[-1].get("problems", []))
        self.assertRegex(said, "|".join((name, "config.json", *self.named)))
        return said

    def both(self, case, configs, of_transformers=lambda config: config):
        """[(loss of transformers or None, loss of trainx or its refusal)] of each config.json."""
        data, paths = self.data_of(case), []
        for i, config in enumerate(configs):
            paths.append(str(self.folder / f"{case}-{i}.json"))
            with open(paths[-1], "w") as file:
                json.dump(of_transformers(config), file)
        want = self.first_losses(case, str(data), paths)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            got = list(pool.map(lambda t: self.loss(case, t[0], t[1], data), enumerate(configs)))
        return list(zip(want, got))


class Decoders(Folders):
    cases = tiny_families.CASES

    def data_of(self, case):
        path = self.folder / "tokens.bin"
        self.random.seed(SEED)
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        write_tokens(path, [self.random.randrange(first, end - 1) for _ in range(8 * 32 + 1)])
        return path

    def recipe_of(self, case, folder, data):
        return families_test.RECIPE.format(folder=folder, tokens=data)

    def reference(self, *words):
        return reference.ask(self, "reference_decoder.py", "all", asks=[list(words)])[0]


class Seq2Seqs(Folders):
    cases = tiny_seq2seq.CASES

    def data_of(self, case):
        path = self.folder / "pairs.jsonl"
        self.random.seed(SEED)
        path.write_text("".join(json.dumps(
            {name: [self.random.randrange(6, 127) for _ in range(self.random.randint(1, most))]
             for name, most in (("input_ids", 32), ("labels", 20))}) + "\n" for _ in range(8)))
        return path

    def recipe_of(self, case, folder, data):
        return seq2seq_test.RECIPE.format(folder=folder, data=data)

    def reference(self, *words):
        return reference.ask(self, "reference_seq2seq.py", "all", asks=[list(words)])[0]


class Encoders(Folders):
    cases = tiny_encoders.CASES
    named = (*Folders.named, "model.options", "data.sequence_l", r"lines.jsonl:1")

    def data_of(self, case):
        path = self.folder / "lines.jsonl"
        tiny_encoders.write_lines(path, case, SEED)
        return path

    def recipe_of(self, case, folder, data):
        family, task, _ = tiny_encoders.CASES[case]
        return encoders_test.RECIPE.format(family=family, folder=folder, lines=data,
                                           options=tiny_encoders.OPTIONS[task])

    def reference(self, *words):
        return reference.ask(self, "reference_encoder.py", asks=[list(words)])[0]

    def first_losses(self, case, data, paths):
        return self.reference("first_loss", case, str(self.folder / case), data, *paths)
