"""`trainx completion`: bash as it completes, by the function and at a terminal; zsh and fish read
their scripts where they are installed."""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from support import Trainx, main

ASK = """\
source "$SCRIPT"
COMP_WORDBREAKS=$BREAKS
while IFS= read -r COMP_LINE; do
  COMP_POINT=${#COMP_LINE}
  _trainx trainx
  printf '%s\\n' "${COMPREPLY[@]}" -
done
"""


class Completion(Trainx):
    forks = True

    def script(self, shell):
        path = self.folder / f"trainx.{shell}"
        path.write_text(self.run_trainx("completion", shell).stdout)
        return path

    def setUp(self):
        super().setUp()
        for name in ("mine.yaml", "other.yml", "notes.txt", "two words.yaml", "configs/deep.yaml",
                     "outputs/first/resolved.yaml", "outputs/second/resolved.yaml",
                     "outputs/no-run/x"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text("")

    def completed(self, *lines, breaks=" \t\n\"'><=;|&(:"):
        """Of each line what it becomes, for each answer: readline puts it in place of what stands
        behind the last break."""
        done = subprocess.run(["bash", "--norc", "-c", ASK], input="".join(
            line + "\n" for line in lines), capture_output=True, text=True, cwd=self.folder,
                              env=self.environment(SCRIPT=str(self.script("bash")), BREAKS=breaks))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        found = []
        for line, answers in zip(lines, done.stdout.split("-\n")):
            start = max(
                (at + 1 for at, c in enumerate(line) if c in breaks and line[at - 1] != "\\"),
                default=0)
            found.append([line[:start] + answer for answer in answers.splitlines() if answer])
        return found if len(lines) > 1 else found[0]

    def test_commands_and_flags(self):
        every = self.completed("trainx ")
        named = re.findall(r"^  ([a-z]+) +\S", self.run_trainx("--help").stdout, re.MULTILINE)
        self.assertGreater(len(named), 18)
        self.assertEqual([f"trainx {name} " for name in named], every)
        self.assertEqual(self.completed("trainx sch"), ["trainx schema "])
        self.assertEqual(self.completed("trainx data "),
                         ["trainx data tokenize ", "trainx data pack ", "trainx data inspect "])
        self.assertEqual(self.completed("trainx --quiet ckpt v"), ["trainx --quiet ckpt verify "])
        self.assertEqual(self.completed("trainx train --n"), [
            f"trainx train {flag} "
            for flag in ("--nproc-per-node", "--nproc", "--nnodes", "--node-rank", "--no-color")
        ])
        self.assertEqual(self.completed("trainx version -"), [
            f"trainx version {flag} " for flag in ("--json", "-q", "--quiet", "-v", "--verbose",
                                                   "--no-color", "--worker", "--help")
        ])
        self.assertEqual(self.completed("trainx nothing "), [])

    def test_every_flag_of_every_command(self):
        """What --help names is completed."""
        def check(words):
            text = self.run_trainx(*words, "--help").stdout
            flags = sorted(
                set(re.findall(r"^  (?:-\w, ?)?(--[a-z-]+)", text, re.MULTILINE))
                | set(re.findall(r"^  --[a-z-]+, ?(--[a-z-]+)", text, re.MULTILINE)))
            self.assertEqual(
                sorted(line.split()[-1]
                       for line in self.completed(" ".join(["trainx", *words, "--"]))), flags,
                words)
        for line in self.completed("trainx "):
            word = line.split()[1]
            for words in [sub.split()[1:] for sub in self.completed(f"trainx {word} ")
                          ] if word in ("ckpt", "data", "bench") else [[word]]:
                check(words)

    def test_values_of_flags(self):
        self.assertEqual(
            self.completed("trainx export outputs/first there --dtype "),
            [f"trainx export outputs/first there --dtype {t} " for t in ("fp32", "bf16", "fp16")])
        self.assertEqual(self.completed("trainx export a b --dtype=b"),
                         ["trainx export a b --dtype=bf16 "])
        self.assertEqual(self.completed("trainx export a b --dtype=b", breaks=" \t\n"),
                         ["trainx export a b --dtype=bf16 "])
        self.assertEqual(self.completed("trainx plan mine.yaml --gpu h"), [
            f"trainx plan mine.yaml --gpu {name} "
            for name in ("h100", "h100-nvl", "h100-pcie", "h200", "h200-nvl")
        ])
        self.assertEqual(self.completed("trainx train --nproc "), ["trainx train --nproc auto "])
        self.assertEqual(self.completed("trainx train --fork "), [], "a name of one's own")
        self.assertEqual(self.completed("trainx data tokenize --kind w"),
                         ["trainx data tokenize --kind wordpiece "])
        self.assertEqual(self.completed("trainx --worker note"), ["trainx --worker notes.txt "])
        self.assertEqual(self.completed("trainx train --config m"),
                         ["trainx train --config mine.yaml "])
        self.assertEqual(self.completed("trainx completion "),
                         [f"trainx completion {shell} " for shell in ("bash", "zsh", "fish")])
        self.assertEqual(self.completed("trainx list o"), ["trainx list optimizers "])
        self.assertIn("trainx init quickstart ", self.completed("trainx init "))

    def test_recipes_and_settings(self):
        for command in ("train", "plan", "validate", "show"):
            here, key, value, short = self.completed(
                f"trainx {command} ", f"trainx {command} mine.yaml optimizer.options.be",
                f"trainx {command} mine.yaml schedule.type=cos", f"trainx {command} precision=b")
            at = f"trainx {command} "
            self.assertTrue({
                at + "mine.yaml ", at + "other.yml ", at + "configs/", at + "two\\ words.yaml ",
                at + "optimizer.lr=", at + "run.seed="
            } <= set(here), here)
            self.assertNotIn(at + "notes.txt ", here)
            self.assertEqual(key, [
                f"{at}mine.yaml optimizer.options.beta1=", f"{at}mine.yaml optimizer.options.beta2="
            ])
            self.assertEqual(value, [
                f"{at}mine.yaml schedule.type=cosine ",
                f"{at}mine.yaml schedule.type=cosine_restarts "
            ])
            self.assertEqual(short, [f"{at}precision=bf16 "])
        self.assertEqual(self.completed("trainx train two\\ w"), ["trainx train two\\ words.yaml "])
        self.assertEqual(self.completed("trainx train configs/"),
                         ["trainx train configs/deep.yaml "])
        self.assertEqual(
            self.completed("trainx train configs/deep.yaml m"), [
                f"trainx train configs/deep.yaml {key}="
                for key in ("model.type", "model.size", "model.init_from", "model.attention")
            ] + [line for line in self.completed("trainx train configs/deep.yaml model.options.")] +
            [line for line in self.completed("trainx train configs/deep.yaml model.adapter.")] +
            [line for line in self.completed("trainx train configs/deep.yaml memory.")] +
            [line for line in self.completed("trainx train configs/deep.yaml metrics.")])
        self.assertEqual(
            self.completed("trainx train a.yaml data.shuffle="),
            ["trainx train a.yaml data.shuffle=true ", "trainx train a.yaml data.shuffle=false "])
        self.assertEqual(
            self.completed("trainx train a.yaml data.shuffle=", breaks=" \t\n"),
            ["trainx train a.yaml data.shuffle=true ", "trainx train a.yaml data.shuffle=false "])
        self.assertEqual(self.completed("trainx train a.yaml run.seed="), [])
        self.assertEqual(
            self.completed("trainx train a.yaml no.such=", "trainx train a.yaml no.su"), [[], []])

    def test_keys_are_those_that_recipes_have(self):
        offered = {
            line.split()[-1].rstrip("=")
            for line in self.completed("trainx show mine.yaml ")
        }
        recipe = self.recipe(
            "data: {type: jsonl, train: a}\nmodel: {type: bert}\noptimizer: {type: sgd}\nschedule: {type: wsd}\nbatch: {global_batch_size: 8}\n"
        )
        shown = re.findall(r'"([a-z_.0-9]+)":\{"origin"|"([a-z_.0-9]+)":\{"value"',
                           self.run_trainx("--json", "show", recipe).stdout)
        keys = {a or b for a, b in shown}
        self.assertGreater(len(keys), 50)
        self.assertEqual(keys - offered, set())
        for key in ("optimizer.options.momentum", "optimizer.options.beta1", "schedule.cycles"):
            self.assertIn(key, offered)

    def test_runs(self):
        self.assertCountEqual(self.completed("trainx report "), [
            "trainx report outputs/first/", "trainx report outputs/second/",
            "trainx report configs/", "trainx report outputs/"
        ])
        self.assertEqual(self.completed("trainx ckpt ls outputs/s"),
                         ["trainx ckpt ls outputs/second/"])
        self.assertIn("trainx eval outputs/first/", self.completed("trainx eval "))
        self.assertIn("trainx eval mine.yaml ", self.completed("trainx eval "))

    def test_at_a_terminal(self):
        """Readline decides what is replaced: a shell in which `trainx` says what it got."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       self.environment(PS1="", TERM="dumb", INPUTRC="/dev/null", HISTFILE=""))
        self.addCleanup(os.close, terminal)
        self.addCleanup(lambda: (os.kill(pid, 9), os.waitpid(pid, 0)))
        seen = ""

        def type_in(text, until):
            nonlocal seen
            os.write(terminal, text.encode())
            end, begin = time.monotonic() + 20, len(seen)
            while not re.search(until, seen[begin:]):
                self.assertTrue(
                    select.select([terminal], [], [], max(0, end - time.monotonic()))[0],
                    f"{text!r}: {seen[begin:]!r}")
                seen += os.read(terminal, 4096).decode(errors="replace")
            return re.search(until, seen[begin:])

        type_in("trainx() { printf 'GOT<%s>\\n' \"$*\"; }\n", "GOT")
        type_in(f"source {self.script('bash')}; echo rea\"\"dy\n", "ready")
        for typed, got in (("trainx val\tmin\toptimizer.ty\tsg\t\n",
                            "validate mine.yaml optimizer.type=sgd"), ("trainx list op\t\n",
                                                                       "list optimizers"),
                           ("trainx show tw\tdata.shu\tfal\t\n",
                            "show two words.yaml data.shuffle=false"),
                           ("trainx export outputs/sec\t x --dt\tbf\t\n",
                            "export outputs/second/ x --dtype bf16"),
                           ("trainx plan conf\tde\tpara\tmo\tzero3\t--gp\th2\t\n",
                            "plan configs/deep.yaml parallel.mode=zero3 --gpu h200")):
            self.assertEqual(re.sub(r" +", " ", type_in(typed, r"GOT<(.*?)>\r?\n")[1]).strip(), got)

    def test_zsh_and_fish_read_their_scripts(self):
        missing = []
        for shell in ("zsh", "fish"):
            script = self.script(shell)
            self.assertIn("optimizer.options.beta1", script.read_text())
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", script], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            else:
                missing.append(shell)
        if missing:
            self.skipTest(
                f"{' and '.join(missing)} not installed: the script was written and not read")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes(self):
        script = self.script("fish")
        for line, some in (("trainx sch", "schema"), ("trainx data ", "tokenize"),
                           ("trainx train --nproc ", "auto"),
                           ("trainx train mine.yaml schedule.type=cos", "schedule.type=cosine"),
                           ("trainx plan mine.yaml optimizer.options.bet",
                            "optimizer.options.beta1="), ("trainx show mi", "mine.yaml"),
                           ("trainx report outputs/s",
                            "outputs/second"), ("trainx export a b --dtype b", "bf16")):
            done = subprocess.run(
                ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                capture_output=True, text=True, cwd=self.folder,
                env=self.environment(HOME=str(self.folder)))
            self.assertEqual(done.stderr, "", line)
            self.assertIn(some, [answer.split("\t")[0] for answer in done.stdout.splitlines()],
                          line)
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {script}; complete -C 'trainx nothing '"],
            capture_output=True, text=True, cwd=self.folder,
            env=self.environment(HOME=str(self.folder)))
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_unknown_shells_are_named(self):
        self.assertIn("'fish'", self.run_trainx("completion", "fis", expect=2).stderr)
        self.assertEqual(
            json.loads(self.run_trainx("--json", "completion", "bash").stdout),
            {"shell": "bash", "script": self.script("bash").read_text().rstrip("\n") + "\n"})
        self.assertIn("SHELL", self.run_trainx("completion", expect=2).stderr)


main()
