"""The command line: flags anywhere, help anywhere, suggestions, exit codes, what goes to stdout and what to stderr; nothing of it starts a worker."""
import json
import os
import pathlib
import pty

from first_command_test import IN_PLACE_OF_A_FOLDER
from support import TRAINX, Trainx, main, tiny


class CommandLine(Trainx):
    forks = True

    def refused(self, *args, names=(), code=2, sentence=None):
        done = self.run_trainx(*args, expect=code)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("trainx: ") and done.stderr.count("\n") == 1, done.stderr)   # one sentence
        for word in names:
            self.assertIn(word, done.stderr)
        if sentence:
            self.check_sentence(sentence, done.stderr)

    def test_what_is_wrong_is_one_sentence_with_a_suggestion(self):
        recipe = self.recipe(tiny())
        self.refused(sentence="command.none")
        self.refused("trian", names=["'trian'", "'train'"], sentence="command.misspelt")
        self.refused("ckpt", "verfy", "x", names=["'verify'"])
        self.refused("ckpt", names=["ls|verify|prune"])
        self.refused("plan", recipe, "--progam", names=["'--program'"], sentence="command.unknown_option")
        self.refused("--jsn", "plan", recipe, names=["'--json'"])
        self.refused("validate", "--optimizer.lr=3", names=["'optimizer.lr=3'"], sentence="command.key_with_dashes")   # before what is missing
        self.refused("validate", sentence="command.no_recipe")
        self.refused("validate", recipe, "oops", names=["'oops'", "key=value"])
        self.refused("validate", self.folder, names=[str(self.folder)], sentence="command.recipe_is_folder")
        self.refused("validate", recipe.replace("tiny", "tinny"), names=["'" + recipe], code=66)
        self.refused("list", "optimiser", names=["'optimizers'"])
        self.refused("init", "quikstart", names=["'quickstart'"])
        self.refused("plan", recipe, "--gpu", "h20", names=["h200"])
        self.refused("generate", "outputs/none", names=["--prompt"])
        self.refused("generate", "outputs/none", "--prompt", "a", code=66)
        for wrong in (["--top-k", "x"], ["--top-k", "-1"], ["--temperature", "nan"], ["--max-tokens", "0"], ["--seed", "-1"], ["--prompt", ""]):
            self.refused("generate", "outputs/none", "--prompt", "a", *wrong)
        self.refused("eval", recipe, code=66)
        self.refused("ckpt", "ls", "outputs/none", code=66)
        self.refused("train", recipe, "--fork", "../up", names=["--fork"])
        self.assertFalse((self.folder / "outputs").exists())

    def test_help_is_anywhere(self):
        self.assertIn("commands", self.run_trainx("--help").stdout.lower())
        for args in (["train", "--help"], ["--help", "train"], ["train", "x.yaml", "-h"], ["-qh", "train"]):
            done = self.run_trainx(*args)
            self.assertIn("usage: trainx train CONFIG", done.stdout)
            self.assertEqual(done.stderr, "")
        for command in ("init", "train", "validate", "plan", "show", "eval", "generate", "ckpt", "export", "import", "data", "list", "doctor", "version"):
            self.assertIn(f"usage: trainx {command}", self.run_trainx(command, "--help").stdout)

    def test_global_flags_stand_anywhere_and_json_is_all_of_stdout(self):
        recipe = self.recipe(tiny())
        for args in (["--json", "validate", recipe], ["validate", "--json", recipe], ["validate", recipe, "run.seed=3", "--json"], ["-q", "validate", "--config", recipe, "-v", "--json"]):
            self.assertTrue(json.loads(self.run_trainx(*args).stdout)["valid"])
        self.assertEqual(json.loads(self.run_trainx("version", "--json").stdout)["version"], self.run_trainx("--version").stdout.split()[1])
        shown = json.loads(self.run_trainx("show", recipe, "run.seed=3", "--json", env=self.environment(TRAINX_SET="run.seed=2 optimizer.lr=0.5")).stdout)
        self.assertEqual(shown["run.seed"], {"value": "3", "origin": "command line"})
        self.assertEqual(shown["optimizer.lr"], {"value": "0.5", "origin": "TRAINX_SET"})
        self.assertEqual(shown["batch.grad_accum_steps"]["origin"], "planned")
        self.assertTrue(shown["run.duration"]["origin"].startswith(recipe + ":1:"))
        self.assertTrue(json.loads(self.run_trainx("plan", recipe, "--json").stdout))
        error = json.loads(self.run_trainx("--json", "trian", expect=2).stdout)
        self.assertEqual((error["event"], error["exit_code"]), ("error", 2))
        wrong = self.run_trainx("validate", recipe, "run.sed=1", "optimizer.lr=fast", "--json", expect=78)
        self.assertEqual([(p["file"], p["line"], p["key"]) for p in json.loads(wrong.stdout)["problems"]], [("command line", 0, "run.sed"), ("command line", 0, "optimizer.lr")])
        self.assertEqual(wrong.stderr.count("\n"), 3)
        self.check_sentence("recipe.several_problems", wrong.stderr.splitlines()[-1])

    def test_values_that_look_like_flags_are_values(self):
        done = self.run_trainx("generate", "outputs/none", "--prompt", "--json", expect=66)
        self.assertEqual(done.stdout, "")                     # --json was the prompt

    def test_every_recipe_of_init_is_valid_and_none_is_overwritten(self):
        names = [row["name"] for row in json.loads(self.run_trainx("init", "--list", "--json").stdout)]
        self.assertIn("quickstart", names)
        for name in names:
            self.assertIn(f"{name}.yaml", self.run_trainx("init", name).stderr)
            # an epoch's length would need the data
            self.run_trainx("validate", f"{name}.yaml", "run.duration=9000 steps", *IN_PLACE_OF_A_FOLDER.get(name, []))
            before = (self.folder / f"{name}.yaml").read_text()
            self.refused("init", name, code=73)
            self.assertEqual((self.folder / f"{name}.yaml").read_text(), before)
            self.assertEqual(self.run_trainx("init", name, "--output", "-").stdout, before)
        for what in ("optimizers", "models", "data", "schedules"):
            self.assertTrue(self.run_trainx("list", what).stdout.strip())
        # A line for each model, the options of one.
        models = json.loads(self.run_trainx("list", "models", "--json").stdout)
        self.assertEqual(len(self.run_trainx("list", "models").stdout.splitlines()), len(models) + 1)
        self.assertIn("options.num_layers", self.run_trainx("list", "models", "llama").stdout)
        self.assertEqual([m["name"] for m in json.loads(self.run_trainx("list", "models", "llama", "--json").stdout)], ["llama"])
        self.refused("list", "models", "lama", names=["'llama'"])
        self.refused("list", "optimizers", "adamx", names=["adam"])

    def test_missing_data_is_a_note_until_it_is_trained_on(self):
        recipe = self.recipe("model: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 16, vocab_size: 100}}\n"
                             "data: {type: tokens, train: no.bin, sequence_length: 8}\nbatch: {global_batch_size: 2, micro_batch_size: 2}\noptimizer: {type: adamw}\n")
        done = self.run_trainx("validate", recipe)
        self.assertIn("note: ", done.stderr)
        self.assertEqual(self.run_trainx("validate", recipe, "-q").stderr, "")
        self.refused("train", recipe, names=["no.bin"], code=66)
        self.assertFalse((self.folder / "outputs").exists())

    def test_a_missing_worker_is_named(self):
        done = self.run_trainx("train", self.recipe(tiny()), env=self.environment(TRAINX_WORKER="/nowhere/worker"), expect=69)
        self.assertIn("/nowhere/worker", done.stderr)

    def test_color_only_on_a_terminal_that_wants_it(self):
        def stderr_on_terminal(*args, **environment):
            pid, fd = pty.fork()
            if pid == 0:
                os.execve(TRAINX, [TRAINX, *args], self.environment(**environment))
            text = b""
            try:
                while piece := os.read(fd, 4096):
                    text += piece
            except OSError:                                   # the terminal's other side has closed
                pass
            os.waitpid(pid, 0)
            os.close(fd)
            return text
        self.assertIn(b"\x1b[31m", stderr_on_terminal("trian", TERM="xterm", NO_COLOR=""))
        for args, environment in ((["trian"], {"TERM": "xterm", "NO_COLOR": "1"}), (["trian", "--no-color"], {"TERM": "xterm"}), (["trian"], {"TERM": "dumb"})):
            self.assertNotIn(b"\x1b", stderr_on_terminal(*args, **environment))
        self.assertNotIn("\x1b", self.run_trainx("trian", expect=2).stderr)


if __name__ == "__main__":
    assert pathlib.Path(TRAINX).exists(), f"{TRAINX} is not built"
    main()
