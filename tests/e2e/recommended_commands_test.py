#!/usr/bin/env python3
"""No dead ends: every command that trainx recommends in an output works.

COVERED lists each place of the sources whose text names a trainx command, and the test that provokes the text, takes the command out of it and runs it.
A text that names another command fails until it is listed here.
"""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support import ROOT, Trainx, main, tiny  # noqa: E402

COMMANDS = "init train validate plan show eval generate ckpt report export import data bench sweep verify list schema completion doctor version".split()
SUBCOMMANDS = "ls verify prune tokenize pack inspect step operations guides memory-anatomy lr".split()
NAMED = re.compile(rf"\btrainx ((?:{'|'.join(COMMANDS)})\b(?: (?:{'|'.join(SUBCOMMANDS)})\b| --[a-z-]+)?)")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')

# file -> command named in its texts -> test. "...": the rest of the command is made when the program runs.
COVERED = {
    "apps/trainx-worker/closing_words.cpp": {"...": "from_nothing"},
    "apps/trainx-worker/evaluate.cpp": {"data inspect": "data_named_in_prose"},
    "apps/trainx-worker/generate.cpp": {"eval": "init_bert"},
    "apps/trainx/ckpt.cpp": {"train": "damaged_checkpoints"},
    "apps/trainx/command_line.cpp": {"init": "from_nothing", "...": "help_that_refusals_name"},
    "apps/trainx/completion.cpp": {"completion": "completion"},
    "apps/trainx/completion_bash.cpp": {"completion": "completion"},
    "apps/trainx/completion_fish.cpp": {"completion": "completion"},
    "apps/trainx/completion_zsh.cpp": {"completion": "completion"},
    "apps/trainx/import.cpp": {
        "import": "settings_of_other_tools",
        "validate": "settings_of_other_tools",
        "import --help": "help_that_refusals_name",
    },
    "apps/trainx/init.cpp": {"train": "init_gpt2", "init --list": "from_nothing"},
    "apps/trainx/inputs.cpp": {"init": "from_nothing", "list": "named_in_prose"},
    "apps/trainx/launch_options.cpp": {"...": "help_that_refusals_name"},
    "apps/trainx/list.cpp": {"list": "named_in_prose"},
    "apps/trainx/weights.cpp": {"ckpt verify": "damaged_checkpoints"},
    "lib/corpus/label_names.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/data/foreign_file.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/data/labelled/csv_line.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/data/labelled/line_rules.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/data/target_check.cpp": {"data inspect": "data_named_in_prose"},
    "lib/data/tokens/token_reader.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/doctor/disk.cpp": {"ckpt prune": "named_in_prose"},
    "lib/execute/cuda/gpu_device.cpp": {"doctor": "named_in_prose"},
    "lib/gpu/gpu_error.cpp": {"doctor": "named_in_prose"},
    "lib/imports/argument_dialect.cpp": {"export --merge": "adapters"},
    "lib/imports/import.cpp": {"import": "settings_of_other_tools"},
    "lib/imports/reasons.hpp": {
        "plan": "named_in_prose",
        "export": "named_in_prose",
        "eval": "named_in_prose",
        "data tokenize": "data_named_in_prose",
        "generate": "named_in_prose",
        "data pack": "data_named_in_prose",
    },
    "lib/imports/trainer.cpp": {"import": "settings_of_other_tools"},
    "lib/imports/training_arguments.cpp": {"train --overwrite": "named_in_prose"},
    "lib/imports/unmapped_accelerate.cpp": {"train": "named_in_prose"},
    "lib/imports/unmapped_axolotl.cpp": {
        "data tokenize": "data_named_in_prose",
        "train --profile": "named_in_prose",
        "export": "named_in_prose",
    },
    "lib/imports/unmapped_deepspeed.cpp": {
        "train --profile": "named_in_prose",
        "plan": "named_in_prose",
    },
    "lib/imports/unmapped_llama_factory.cpp": {"train --profile": "named_in_prose"},
    "lib/imports/unmapped_torchtune.cpp": {
        "data tokenize": "data_named_in_prose",
        "train --profile": "named_in_prose",
    },
    "lib/imports/unmapped_training_arguments.cpp": {
        "generate": "named_in_prose",
        "eval": "named_in_prose",
        "export": "named_in_prose",
    },
    "lib/imports/write.cpp": {"validate": "settings_of_other_tools"},
    "lib/metrics/loss_watch.cpp": {"data inspect": "data_named_in_prose"},
    "lib/metrics/memory_error_watch.cpp": {"doctor": "named_in_prose"},
    "lib/plan/checkpoint_size.cpp": {"ckpt prune": "named_in_prose"},
    "lib/plan/choose/words_of_ranks.cpp": {"doctor": "named_in_prose"},
    "lib/plan/explain/links.cpp": {"doctor": "named_in_prose"},
    "lib/plan/explain/host_traffic.cpp": {"doctor --hosts": "named_in_prose"},
    "lib/plan/model_dims.cpp": {"data tokenize": "data_named_in_prose"},
    "lib/recipe/absent.cpp": {"export": "named_in_prose"},
    "lib/recipe/init.cpp": {"data tokenize": "init_gpt2", "validate": "init_gpt2",
                            "data pack": "rows_of_documents"},
    "lib/recipe/json_schema.cpp": {"schema": "named_in_prose"},
    "lib/recipe/load.cpp": {"init --list": "from_nothing"},
    "lib/recipe/rules_data.cpp": {"data pack": "rows_of_documents"},
    "lib/recipe/rules_evaluation.cpp": {"generate": "named_in_prose"},
    "lib/html_report/page.cpp": {"train --profile": "report"},
    "lib/options/data/options.hpp": {"data pack": "rows_of_documents"},
    "lib/options/schedule/options.hpp": {"bench lr": "named_in_prose"},
    "lib/train/trainer.cpp": {"data inspect": "data_named_in_prose"},
}
# Literals that end with the program's name and recommend nothing.
NO_COMMAND = {"apps/trainx/build_info.cpp", "apps/trainx/completion_fish.cpp", "lib/doctor/installation.cpp", "lib/launch/worker_description.cpp",
              "lib/html_report/page.cpp"}

SMALL = "run.duration='3 steps' schedule.warmup='1 steps' eval.batches=1 checkpoint.every='3 steps' eval.every='3 steps'"
SMALL_MODEL = SMALL + " model.size=null model.options.num_layers=1 model.options.num_heads=2 model.options.hidden_size=32 model.options.max_positions=64 " \
                      "data.sequence_length=32 batch.global_batch_size=4 batch.micro_batch_size=4 precision.compute=fp32"


def recommendations(text):
    """Commands in a text, without quotes of prose around them and the sentence behind them."""
    out = []
    for found in re.finditer(rf"\btrainx ((?:{'|'.join(COMMANDS)})\b[^\n]*)", text):
        command = re.split(r"[;`)]|   or |, or |\. |, which", found[1])[0].strip()
        out.append(shlex.split(command))
    return out


class Recommended(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        (self.folder / "corpus").mkdir()
        make = ROOT / "scripts" / "make_text"
        for part, more in (("train", []), ("held_out", ["--held-out"])):
            subprocess.run([make, "documents", self.folder / "corpus" / part, "--count", "20", *more], check=True, capture_output=True)
            subprocess.run([make, "pairs", self.folder / "corpus" / f"{part}.tsv", "--count", "40", *more], check=True, capture_output=True)

    def say(self, *args, expect=0, settings=""):
        """stdout and stderr of a command."""
        env = self.environment(**({"TRAINX_SET": settings} if settings else {}))
        done = self.run_trainx(*args, expect=expect, env=env)
        return done.stdout + done.stderr

    def follow(self, text, settings="", expect=0, least=1):
        """Runs what a text recommends; the texts that come out."""
        commands = recommendations(text)
        self.assertGreaterEqual(len(commands), least, text)
        return "\n".join(self.say(*command, settings=settings, expect=expect) for command in commands)

    def trained(self, name="small", **more):
        path = self.recipe(tiny(steps=4, every=2, **more).replace("name: tiny", f"name: {name}").replace("warmup: 5", "warmup: 1"), f"{name}.yaml")
        return path, self.say("train", path)

    def test_every_named_command_is_covered(self):
        tests = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_")}
        missing = []
        seen = set()
        for top in ("apps", "lib"):
            for path in sorted((ROOT / top).rglob("*.[ch]pp")):
                name = str(path.relative_to(ROOT))
                code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
                code = re.sub(r'(?<!\\)"\s*\n\s*"', "", code)     # neighbours are one literal
                for literal in LITERAL.findall(code):
                    commands = [m[1] for m in NAMED.finditer(literal)]
                    if literal.endswith('trainx "') and name not in NO_COMMAND:
                        commands.append("...")
                    for command in commands:
                        seen.add((name, command))
                        if COVERED.get(name, {}).get(command) not in tests:
                            missing.append(f"{name}: trainx {command} in {literal[:120]}")
        self.assertEqual(missing, [], "\n".join(missing))
        listed = {(name, command) for name, commands in COVERED.items() for command in commands if (ROOT / name).exists()}
        self.assertEqual(listed - seen, set(), "listed here, and in no text")

    def test_from_nothing(self):
        """No arguments -> init quickstart -> train -> generate, and the same command with a longer duration."""
        self.follow(self.say("train", expect=2))
        (self.folder / "quickstart.yaml").unlink()
        self.follow(self.say("init", expect=2))
        (self.folder / "empty.yaml").write_text("")
        self.follow(self.say("validate", "empty.yaml", expect=78))
        written = self.follow(self.say(expect=2))
        self.assertTrue((self.folder / "quickstart.yaml").exists())
        trained = self.follow(written, SMALL)
        self.assertIn("longer run.duration", trained)
        self.follow(trained)                                   # generate
        self.say("train", "quickstart.yaml", "run.duration=5 steps", settings=SMALL)
        self.assertEqual(self.status("quickstart")["step"], 5)

    def test_quickstart_is_one_recipe(self):
        """The one of configs and the one of init share a run."""
        def values(path):
            return {k: v["value"] for k, v in json.loads(self.say("show", path, "--json")).items()}
        self.say("init", "quickstart")
        self.assertEqual(values("quickstart.yaml"), values(ROOT / "configs" / "quickstart.yaml"))

    def test_init_gpt2(self):
        text = self.say("init", "gpt2")
        self.assertEqual([c[0] for c in recommendations(text)], ["data", "data", "train"])
        in_file = recommendations("\n".join(line for line in (self.folder / "gpt2.yaml").read_text().splitlines() if line.startswith("# $")))
        self.assertEqual(in_file, recommendations(text)[:2])
        trained = self.follow(text, SMALL_MODEL, least=3)
        self.assertTrue((self.folder / "outputs" / "gpt2" / "latest").exists())
        self.follow(trained)
        self.say("validate", "gpt2.yaml")

    def test_init_text(self):
        trained = self.follow(self.say("init", "text"), SMALL_MODEL)
        self.follow(trained)

    def test_init_bert(self):
        text = self.say("init", "bert", "--output", "pairs.yaml")
        trained = self.follow(text, SMALL_MODEL, least=3)
        self.follow(trained)                                   # export
        refused = self.say("generate", "outputs/pairs", "--prompt", "a", expect=2)
        self.assertIn(["eval"], recommendations(refused))
        self.say("eval", "outputs/pairs")

    def test_help_that_refusals_name(self):
        for command in COMMANDS:
            if self.run_trainx(command, "--help", expect=None).returncode != 0:
                continue                                       # not built
            self.follow(self.say(command, "--no-such-flag", expect=2))
        self.follow(self.say("train", "x.yaml", "--nnodes", "many", expect=2))
        self.follow(self.say("trian", expect=2).replace("trainx --help", "trainx version"))
        for group in ("ckpt", "data", "bench"):
            usage = self.say(group, expect=2)
            for name in re.search(rf"trainx {group} ([a-z|-]+)", usage)[1].split("|"):
                self.say(group, name, "--help")

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.say("completion", shell)
            named = {m[1] for m in re.finditer(r"trainx (completion [a-z]+)", script)}
            self.assertEqual(named, {f"completion {shell}"})
        self.follow(self.say("completion", "--help").split("In this shell", 1)[1])

    def test_settings_of_other_tools(self):
        (self.folder / "args.json").write_text('{"learning_rate": 5e-5, "max_steps": 5, "deepspeed": "ds.json", "optim": "paged_adamw_32bit"}')
        self.assertEqual(recommendations(self.say("import", expect=2))[0][0], "import")
        complete = self.say("import", "args.json", "--model", "gpt2", "--data", "stories", "--sequence-length", "32", "--out", "complete.yaml")
        self.say("validate", "complete.yaml")
        self.assertIn(["validate", "complete.yaml"], recommendations(complete))
        if "takes several" in complete:
            (self.folder / "ds.json").write_text('{"gradient_clipping": 1.0}')
            self.say("import", "args.json", "ds.json", "--model", "gpt2", "--data", "stories", "--sequence-length", "32", "--out", "both.yaml")
        # What is missing is named by the recommended command; filled in, it is a recipe.
        partial = self.say("import", "args.json", "--out", "partial.yaml")
        self.assertIn(["validate", "partial.yaml"], recommendations(partial))
        filled = {"model.init_from": "null", "model.type": "gpt2", "data.type": "tokens", "data.train": "x.bin", "data.sequence_length": "32"}
        while (done := self.run_trainx("validate", "partial.yaml", expect=None)).returncode != 0:
            lines = (self.folder / "partial.yaml").read_text().splitlines()
            for number, key in re.findall(r"partial.yaml:(\d+):\d+: ([a-z_.]+):", done.stderr):
                lines[int(number) - 1] = re.sub(r"^( *\w+:)", rf"\1 {filled.pop(key)}", lines[int(number) - 1])   # each is named once
            (self.folder / "partial.yaml").write_text("\n".join(lines) + "\n")
        self.say("plan", "complete.yaml")

    def test_damaged_checkpoints(self):
        path, _ = self.trained()
        newest = self.folder / "outputs" / "small" / "checkpoint-4" / "model.safetensors"
        oldest = self.folder / "outputs" / "small" / "checkpoint-2" / "model.safetensors"
        for file in (newest, oldest):
            with open(file, "r+b") as f:
                f.truncate(file.stat().st_size - 8)
        unreadable = self.say("generate", "outputs/small", "--prompt", "Once", expect=83)
        damaged = self.follow(unreadable, expect=65)           # says which are damaged
        self.assertIn("trainx train", damaged)
        self.assertIn("--overwrite", self.say("train", path, expect=83))
        self.say("train", path, "--overwrite")
        self.follow(unreadable)                                # all is well again

    def test_a_changed_recipe(self):
        path, _ = self.trained()
        refused = self.say("train", path, "optimizer.lr=1e-4", "run.duration=6 steps", expect=78)
        self.assertIn("--fork NAME", refused)
        self.say("train", path, "optimizer.lr=1e-4", "run.duration=6 steps", "--fork", "NAME")
        self.say("train", path, "optimizer.lr=1e-4", "run.duration=6 steps", "run.name=another")

    def test_the_same_command_resumes(self):
        path = self.recipe(tiny(steps=400, every=400))
        process = self.start_trainx("train", path)
        metrics = self.folder / "outputs" / "tiny" / "metrics.jsonl"
        end = time.monotonic() + 120
        while not (metrics.exists() and metrics.stat().st_size > 0) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(timeout=120), 75)
        step = self.status("tiny")["step"]
        self.say("train", path)
        self.assertGreater(self.status("tiny")["step"], step)

    def test_rows_of_documents(self):
        self.say("data", "tokenize", "corpus/train", "--tokenizer", "tok", "--train-vocab", "300", "--out", "train.bin")
        recipe = self.recipe("model: {type: gpt2, options: {num_layers: 1, num_heads: 2, hidden_size: 32, max_positions: 32, vocab_size: 300}}\n"
                             "data: {type: jsonl, packed: true, truncate: true, train: rows.jsonl, sequence_length: 32}\n"
                             "batch: {global_batch_size: 4}\noptimizer: {type: adamw}\nrun: {duration: 2 steps}\n")
        self.assertIn(["data", "pack"], recommendations(self.say("validate", recipe, expect=78)))
        self.say("data", "pack", "train.bin", "--sequence-length", "32", "--out", "rows.jsonl")
        self.say("train", recipe, "data.truncate=false")

    def test_adapters(self):
        self.trained()
        recipe = self.recipe(tiny(steps=6).replace("name: tiny", "name: adapted"), "adapted.yaml")
        self.say("train", recipe, "model.init_from=outputs/small/latest",
                 "model.adapter={type: lora, rank: 2}")
        self.say("export", "outputs/adapted", "merged", "--merge")
        self.say("generate", "merged", "--prompt", "1 2", "--max-tokens", "2")

    def test_an_adapter_beside_new_weights(self):
        """No folder holds what it adds to: no command that needs it is recommended."""
        recipe = self.recipe(tiny(steps=6).replace("name: tiny", "name: new"), "new.yaml")
        adapter = "model.adapter={type: lora, rank: 2}"
        said = self.say("train", recipe, adapter)
        self.assertEqual(recommendations(said), [])
        self.assertIn("model.init_from", said)
        self.assertIn("longer run.duration", said)
        for command in (["generate", "outputs/new", "--prompt", "1 2"], ["eval", "outputs/new"],
                        ["export", "outputs/new", "merged", "--merge"]):
            self.assertIn("model.init_from", self.say(*command, expect=65))
        self.say("export", "outputs/new", "adapter")
        self.say("train", recipe, adapter, "run.duration=8 steps")
        self.assertEqual(self.status("new")["step"], 8)

    def test_report(self):
        path, _ = self.trained()
        self.say("report", "outputs/small")
        page = (self.folder / "outputs" / "small" / "report.html").read_text()
        self.assertIn("train --profile", page)
        self.assertIn("--nnodes", self.say("doctor", "--hosts", expect=2))
        self.say("train", path, "run.duration=8 steps", "--profile", "2")
        self.say("report", "outputs/small")
        self.assertNotEqual((self.folder / "outputs" / "small" / "report.html").read_text(), page)

    def test_named_in_prose(self):
        """Commands that texts name without their arguments, with arguments as a user gives them."""
        path, _ = self.trained()
        self.say("plan", path)
        self.say("eval", "outputs/small")
        self.say("generate", "outputs/small", "--prompt", "Once", "--max-tokens", "3")
        self.say("export", "outputs/small", "exported")
        self.say("ckpt", "prune", "outputs/small")
        self.say("schema")
        self.assertIn(self.run_trainx("doctor", expect=None).returncode, (0, 69))
        self.say("train", path, "run.duration=8 steps", "--profile", "2")
        self.say("train", path, "--overwrite")
        self.say("bench", "lr", path, "--steps", "10")
        for what in ("optimizers", "models", "data", "schedules"):
            self.say("list", what)
        self.say("list", "models", "llama")
        self.follow(self.say("show", "optimizer.type=lion", expect=2))

    def test_data_named_in_prose(self):
        (self.folder / "a.txt").write_text("Once there was a fox. " * 200)
        (self.folder / "a.jsonl").write_text('{"text": "a fox", "label": 0}\n' * 8)
        self.say("data", "tokenize", "a.txt", "--tokenizer", "tok", "--train-vocab", "280",
                 "--out", "a.bin")
        self.say("data", "tokenize", "a.jsonl", "--tokenizer", "tok", "--out", "b.jsonl")
        self.say("data", "pack", "a.bin", "--sequence-length", "32", "--out", "rows.jsonl")
        self.say("data", "inspect", "a.bin")


if __name__ == "__main__":
    main()
