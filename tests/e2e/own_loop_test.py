"""Loops of the user's own over a recipe (trainx::Run), and callbacks: they compute what `trainx
train` computes, on any number of ranks, and end as it does."""
import json
import os
import re
import signal
import struct
import subprocess
import time

import support
from install_tree import InstallTree
from ports import free_ports
from processes import children_of
from support import BUILD, TRAINX, Trainx, main, sampled, sha256, write_tokens

LOOP, CALLBACKS = BUILD / "tests" / "script-loop", BUILD / "tests" / "callback-worker"
RECIPE = """\
run: {{name: base, seed: {seed}, duration: {steps} steps, deterministic: true}}
model:
  type: gpt2
  options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32, dropout: 0.1}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 30}}
batch: {{global_batch_size: 8, micro_batch_size: 2}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
schedule: {{type: cosine, warmup: 3 steps}}
checkpoint: {{every: 100000 steps}}
eval: {{every: 100000 steps}}
metrics: {{every: 1 steps}}
"""
STEPS = 12
WORLDS = ([], ["parallel.world_size=2", "parallel.mode=ddp"],
          ["parallel.world_size=2", "parallel.mode=dp"],
          ["parallel.world_size=2", "parallel.mode=zero3"])


class OwnLoop(Trainx):
    def setUp(self):
        super().setUp()
        self.write()

    def write(self, steps=STEPS):
        self.config = self.recipe(RECIPE.format(seed=self.seed % 1000, steps=steps), "r.yaml")

    def change_recipe(self, section, text):
        """None: the section goes."""
        whole = (self.folder / "r.yaml").read_text()
        kept = re.sub(rf"^{section}:.*\n( .*\n)*", "", whole, flags=re.MULTILINE)
        self.assertNotEqual(kept, whole)
        self.recipe(kept + ("" if text is None else f"{section}: {text}\n"), "r.yaml")

    def environment(self, **more):
        return super().environment(**{"TRAINX_LAUNCHER": TRAINX, **more})

    def words(self, name, commands, *settings):
        return [LOOP, "r.yaml", name, commands, f"run.name={name}", *map(str, settings)]

    def loop(self, name, commands, *settings, expect=0):
        done = subprocess.run(self.words(name, commands, *settings), cwd=self.folder, text=True,
                              capture_output=True, env=self.environment(), timeout=300)
        self.assertEqual(done.returncode, expect, f"{commands} {settings}\n{done.stderr}")
        return done.stderr

    def said(self, name, rank=0):
        """What the loop's calls answered."""
        path = self.folder / f"{name}.{rank}"
        # The last piece is a line that is being written, or nothing.
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]

    def losses(self, name, rank=0):
        return [line["loss"] for line in self.said(name, rank) if "loss" in line]

    def train(self, name, *settings, **how):
        return self.run_trainx("train", "r.yaml", f"run.name={name}", *settings, **how)

    def assert_same_run(self, a, b):
        for key in ("step", "loss", "grad_norm", "lr"):
            self.assertEqual([m[key] for m in self.metrics(a)], [m[key] for m in self.metrics(b)])
        self.assertEqual(self.saved(a), self.saved(b))

    def saved(self, name):
        """Hashes of a run's last weights and states, which several ranks may have written."""
        files = (self.folder / "outputs" / name / "latest").glob("*.safetensors")
        found = {path.name: sha256(path) for path in files}
        self.assertGreaterEqual(len(found), 2)
        return found

    @sampled
    def test_a_loop_computes_what_train_computes_on_any_ranks(self):
        for how in self.drawn(WORLDS, few=2):
            name = "-".join(["loop", *how[1:]]).replace("=", ".")
            self.train("plain" + name, *how)
            self.loop(name, "about,all,close", *how)
            self.assert_same_run(name, "plain" + name)
            self.assertEqual(self.status(name)["state"], "done")
            self.assertEqual(self.losses(name), [m["loss"] for m in self.metrics(name)])
            world = 2 if how else 1
            for rank in range(world):
                self.assertEqual(self.losses(name, rank), self.losses(name))
                about = self.said(name, rank)[0]
                self.assertEqual((about["rank"], about["world_size"]), (rank, world))
                self.assertEqual((about["finished"], about["total"]), (0, STEPS))
                self.assertEqual(about["arguments"][1:4], ["r.yaml", name, "about,all,close"])
                self.assertEqual(self.said(name, rank)[-2:], [{"end": STEPS}, {"closed": 0}])

    @sampled
    def test_what_is_asked_between_steps_is_true_and_changes_nothing(self):
        for how in self.drawn(WORLDS, few=2):
            name = "-".join(["asked", *how[1:]]).replace("=", ".")
            self.train("plain" + name, *how)
            self.loop(name, "evaluate,step=5,evaluate,evaluate,parameters,save,all,evaluate,save",
                      *how)
            self.assertEqual(self.saved(name), self.saved("plain" + name))
            folder = f"outputs/{name}/checkpoint-5"
            for rank in range(2 if how else 1):
                answers = self.said(name, rank)
                evals = [a for a in answers if "eval_loss" in a]
                self.assertEqual([a["step"] for a in evals], [0, 5, 5, STEPS])
                self.assertEqual(evals[1], evals[2])
                saved = [a["saved"] for a in answers if "saved" in a]
                self.assertEqual(saved, [folder, f"outputs/{name}/checkpoint-{STEPS}"])
                got = next(a["parameters"] for a in answers if "parameters" in a)
                self.assertEqual(got, self.tensors(self.folder / folder))
            lines = [json.loads(line) for line in
                     (self.folder / "outputs" / name / "metrics.jsonl").read_text().splitlines()]
            self.assertEqual([m["eval_loss"] for m in lines if "eval_loss" in m],
                             [evals[k]["eval_loss"] for k in (0, 1, 3)])
            answer = self.run_trainx("--json", "eval", f"outputs/{name}").stdout.splitlines()[-1]
            want = json.loads(answer)["eval_loss"]
            if how:
                self.assertLess(abs(evals[3]["eval_loss"] / want - 1), 1e-6)
            else:
                self.assertEqual(evals[3]["eval_loss"], want)

    @staticmethod
    def tensors(folder):
        """Shape and bytes of each weight of a checkpoint."""
        found = {}
        for path in folder.glob("model*.safetensors"):
            data = path.read_bytes()
            size, = struct.unpack("<Q", data[:8])
            header, body = json.loads(data[8:8 + size]), data[8 + size:]
            for name, t in header.items():
                if name != "__metadata__":
                    bytes_of = body[slice(*t["data_offsets"])].hex()
                    found[name] = {"shape": t["shape"], "data": bytes_of}
        return found

    @sampled
    def test_a_learning_rate_that_is_set_is_that_of_the_next_steps(self):
        for how in self.drawn(WORLDS, few=2):
            name = "-".join(["rate", *how[1:]]).replace("=", ".")
            constant = ["schedule={type: constant, warmup: 0 steps}", "optimizer.lr=2e-3"]
            self.train("plain" + name, *how, *constant)
            self.loop(name, "lr=2e-3,all", *how)
            self.assert_same_run(name, "plain" + name)
            self.loop(name + "-back", "lr=2e-3,step=2,lr=none,step=2,lr=0,step,leave", *how)
            rates = [m["lr"] for m in self.metrics(name + "-back")]
            schedule = self.metrics_of_schedule()
            self.assertEqual(rates, [2e-3, 2e-3, schedule[2], schedule[3], 0])

    def metrics_of_schedule(self):
        if not (self.folder / "outputs" / "schedule").exists():
            self.train("schedule")
        return [m["lr"] for m in self.metrics("schedule")]

    @sampled
    def test_models_and_metrics_of_its_own(self):
        lines = []
        for _ in range(STEPS * 8 + 10):
            x = [self.random.uniform(-1, 1) for _ in range(3)]
            lines.append(json.dumps({"x": x, "y": x[0] - 2 * x[1]}))
        (self.folder / "train.jsonl").write_text("\n".join(lines[10:]) + "\n")
        (self.folder / "eval.jsonl").write_text("\n".join(lines[:10]) + "\n")
        self.change_recipe("model", "{type: line}")
        self.change_recipe("data", "{type: jsonl, train: train.jsonl, eval: eval.jsonl, "
                           "sequence_length: 1}")
        for how in self.drawn(WORLDS, few=2):
            name = "-".join(["line", *how[1:]]).replace("=", ".")
            self.loop(name, "all,evaluate,parameters,close", *how)
            want = [m["error"] for m in self.metrics(name)]
            for rank in range(2 if how else 1):
                answers = self.said(name, rank)
                self.assertEqual([a["metrics"]["error"] for a in answers if "loss" in a], want)
                self.assertIn("error", answers[STEPS + 1]["metrics"])
                self.assertEqual(set(answers[STEPS + 2]["parameters"]),
                                 {"line.weight", "line.bias"})
            self.assertEqual(len(set(want)), STEPS)

    def test_groups_keep_their_ratio_and_own_step_sizes_are_refused(self):
        groups = 'optimizer.groups=[{match: "*wte*", lr: 1e-3}]'
        self.train("plain", "schedule={type: constant, warmup: 0 steps}", "optimizer.lr=6e-3",
                   groups.replace("1e-3", "2e-3"))
        self.loop("groups", "lr=6e-3,all", groups)
        self.assert_same_run("groups", "plain")
        self.change_recipe("optimizer", "{type: adafactor}")
        self.change_recipe("schedule", "{type: constant}")
        self.loop("own", "catch,lr=1e-3,lr=-1,lr=nan,step=2,leave")
        self.assertEqual([a["error"] for a in self.said("own") if "error" in a], [78, 2, 2])
        self.assertEqual(len(self.losses("own")), 2)

    @sampled
    def test_a_loop_that_is_resumed_is_one_that_was_never_stopped(self):
        for how in self.drawn(WORLDS, few=1):
            name = "-".join(["parts", *how[1:]]).replace("=", ".")
            self.loop("whole" + name, "scheduled", *how)
            self.loop(name, "lr=1e-2,step,lr=1.1e-2,step,lr=1.2e-2,step,close", *how)
            self.assertEqual((self.status(name)["state"], self.status(name)["exit_code"],
                              self.status(name)["resumable"]), ("stopped", 0, True))
            self.loop(name, "about,scheduled", *how)
            self.assertEqual(self.said(name)[4]["finished"], 3)
            self.assert_same_run(name, "whole" + name)
            before = self.said(name)
            self.assertIn("done", self.loop(name, "step", *how))
            self.assertEqual(self.said(name), before)              # the loop does not begin

    def test_a_rate_that_was_set_goes_on_after_a_resume_and_not_in_a_fork(self):
        self.loop("set", "lr=2e-3,step=3,lr=1e-3,close")
        self.loop("set", "step=2,save,leave")
        self.assertEqual([m["lr"] for m in self.metrics("set")], [2e-3] * 3 + [1e-3] * 2)
        self.loop("set", "step,leave", "--fork", "forked")
        self.assertEqual([m["lr"] for m in self.metrics("forked")], [self.metrics_of_schedule()[5]])

    def start(self, name, commands, *settings, **environment):
        return subprocess.Popen(self.words(name, commands, *settings), cwd=self.folder, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env=self.environment(**environment))

    def wait_for_step(self, name, step, process):
        deadline = time.monotonic() + 60
        while len(self.losses(name)) < step:
            self.assertIsNone(process.poll(), process.stderr.read() if process.poll() else "")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    @sampled
    def test_signals_save_and_end_with_their_code(self):
        self.write(steps=100000)
        kinds = ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGUSR1, 75))
        cases = [(how, *kind, last) for how in WORLDS[:2] for kind in kinds
                 for last in ("close", "leave")]
        for how, number, code, last in self.drawn(cases, few=2):
            name = f"signal-{len(how)}-{code}-{last}"
            run = self.start(name, f"all,{last}", *how)
            self.wait_for_step(name, self.random.randint(1, 9), run)
            run.send_signal(number)
            _, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, code, err)
            status = self.status(name)
            self.assertEqual((status["state"], status["exit_code"], status["resumable"]),
                             ("stopped", code, True))
            end = next(a["end"] for a in self.said(name) if "end" in a)
            self.assertEqual(status["saved_step"], end)
            self.assertTrue((self.folder / f"outputs/{name}/checkpoint-{end}").is_dir())

    def test_early_stopping_of_the_recipe_and_of_the_loop(self):
        stops = ["eval.every=2 steps", "eval.early_stopping={patience: 2}", "optimizer.lr=0"]
        self.loop("recipe", "all,evaluate,close", *stops)
        self.assertEqual(self.said("recipe")[-3], {"end": 6})
        self.assertEqual(self.status("recipe")["state"], "done")
        # an evaluation that the loop asked for counts as well
        self.loop("asked", "step,evaluate,step,evaluate,step,evaluate,step,close", stops[1],
                  stops[2])
        self.assertEqual(self.said("asked")[-2:], [{"end": 3}, {"closed": 0}])
        self.loop("closed", "step=4,close")
        self.assertEqual(self.said("closed")[-1], {"closed": 0})
        self.assertEqual(self.status("closed")["saved_step"], 4)

    @sampled
    def test_exceptions_end_the_run_with_its_code(self):
        for how in self.drawn(WORLDS[:2], few=2):
            name = f"thrown-{len(how)}"
            err = self.loop(name, "step=3,throw", *how, expect=78)
            self.assertIn("own-words", err)
            self.assertEqual((self.status(name)["state"], self.status(name)["exit_code"]),
                             ("failed", 78))
            self.assertIn("step 3", self.status(name)["reason"])
            for callback in ("on_step", "on_evaluation", "on_save"):
                of = f"{callback}-{len(how)}"
                err = self.loop(of, f"0:callbacks={callback},step=3,evaluate,save,step", *how,
                                expect=78)
                for word in (callback, "step 3", "own-words"):
                    self.assertIn(word, err)
                self.assertEqual(self.status(of)["state"], "failed")
        # rank 0, which writes status.json, is the one that hears of it
        err = self.loop("other", "step=3,1:throw,step", "parallel.world_size=2", expect=78)
        self.assertIn("own-words", err)
        self.assertEqual((self.status("other")["state"], self.status("other")["exit_code"]),
                         ("failed", 78))
        self.assertIn("own-words", self.status("other")["reason"])
        run = self.start("left", "step=3,throw", SCRIPT_CATCHES="1")
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 78, err)            # also if main returns 0
        self.assertEqual((self.status("left")["state"], self.status("left")["exit_code"]),
                         ("failed", 78))
        err = self.loop("exited", "step=3,exit=5", expect=5)
        self.assertIn("exit(5)", err)
        self.loop("exited-0", "step=3,exit=0", expect=78)
        write_tokens(self.folder / "train.bin", [self.random.randrange(50) for _ in range(4000)])
        self.change_recipe("data", "{type: tokens, train: train.bin, sequence_length: 32}")
        self.change_recipe("eval", None)
        self.loop("refused", "evaluate", "model.options.vocab_size=50", expect=66)
        self.assertEqual(self.status("refused")["exit_code"], 66)
        self.loop("caught", "catch,evaluate,all,close", "model.options.vocab_size=50")
        self.assertEqual(self.said("caught")[0]["error"], 66)
        self.assertEqual(len(self.losses("caught")), STEPS)
        # after the run's end nothing is answered
        self.loop("closed", "close,step", "model.options.vocab_size=50", expect=2)

    @sampled
    def test_a_loop_may_end_a_run_at_any_step_on_any_ranks(self):
        for how in self.drawn(WORLDS, few=2):
            for steps in (0, 3):
                name = f"closed-{steps}-{how[1][-4:] if how else 'one'}"
                self.loop(name, f"{'step=3,' if steps else ''}close", *how)
                status = self.status(name)
                self.assertEqual((status["state"], status["exit_code"], status["resumable"]),
                                 ("stopped", 0, True))
                self.assertEqual((status["step"], status["saved_step"]), (steps, steps))
                self.assertEqual(len(self.losses(name)), steps)
        # what one rank throws ends the others, with its code
        for how in self.drawn(WORLDS[1:]):
            err = self.loop("thrown", "step=2,1:throw,step", *how, "--overwrite", expect=78)
            self.assertIn("own-words", err)
            self.assertEqual(self.status("thrown")["state"], "failed")

    def test_ranks_that_ask_for_different_things_are_told(self):
        how = WORLDS[1]
        for commands, *names in (("step=2,1:save,step", "rank 1", "save()", "step()"),
                                 ("step=2,0:lr=1e-3,1:lr=2e-3,step", "set_lr(0.001)"),
                                 ("step=2,1:close,step", "close()")):
            err = self.loop("differ", commands, *how, "--overwrite", expect=79)
            for name in ("after step 2", *names):
                self.assertIn(name, err)
        # a rank that takes its time is waited for
        self.loop("slow", "step,1:sleep=4,step,leave", *how, "run.hang_limit=2 s")

    def test_a_run_that_cannot_begin_ends_before_the_loop(self):
        self.loop("wrong", "step", "optimizer.lr=-1", expect=78)
        self.loop("wrong", "step", "optimizer.lrr=1", expect=78)
        self.loop("wrong", "step", "checkpoint.resume=must", expect=83)
        self.assertEqual(self.said("wrong"), [])
        done = subprocess.run(self.words("wrong", "step"), cwd=self.folder, capture_output=True,
                              text=True, env=self.environment(TRAINX_LAUNCHER="./nothing"))
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("TRAINX_LAUNCHER", done.stderr)

    def test_ranks_of_torchrun_and_the_program_as_a_worker(self):
        self.train("one")
        port, = free_ports(1)
        of_rank = [dict(RANK=str(r), WORLD_SIZE="2", LOCAL_RANK=str(r), LOCAL_WORLD_SIZE="2",
                        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)) for r in range(2)]
        ranks = [self.start("torchrun", "all,evaluate,close", **env) for env in of_rank]
        for rank in ranks:
            _, err = rank.communicate(timeout=120)
            self.assertEqual(rank.returncode, 0, err)
        for a, b in zip(self.losses("torchrun", 1), [m["loss"] for m in self.metrics("one")],
                        strict=True):
            self.assertLess(abs(a / b - 1), 1e-6)
        self.run_trainx("--worker", LOOP, "eval", "outputs/one")
        self.run_trainx("--worker", LOOP, "plan", "r.yaml")

    def test_a_worker_restarts_its_loop(self):
        run = self.start("restarted", "step=4,save,sleep=2,all", "--max-restarts=1")
        self.wait_for_step("restarted", 4, run)
        deadline = time.monotonic() + 30
        while not (self.folder / "outputs/restarted/checkpoint-4").is_dir():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        os.kill(children_of(run.pid)[0], signal.SIGKILL)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        self.train("whole")
        self.assertEqual(self.saved("restarted"), self.saved("whole"))

    @sampled
    def test_callbacks_of_a_worker(self):
        for how in self.drawn(WORLDS, few=2):
            name = "-".join(["called", *how[1:]]).replace("=", ".")
            env = self.environment(CALLBACKS=str(self.folder / name))
            more = ["eval.every=5 steps", "checkpoint.every=4 steps", "checkpoint.keep_last=10"]
            self.run_trainx("--worker", CALLBACKS, "train", "r.yaml", f"run.name={name}", *how,
                            *more, env=env)
            lines = [line.split() for line in (self.folder / name).read_text().splitlines()]
            called = {kind: [(int(step), what) for of, step, what in lines if of == kind]
                      for kind in ("on_step", "on_evaluation", "on_save")}
            times = 2 if how and how[1] != "parallel.mode=dp" else 1
            want = [(m["step"], f"{m['loss']:.6f}") for m in self.metrics(name)]
            self.assertEqual(sorted(called["on_step"]), sorted(want * times))
            self.assertEqual(sorted(step for step, _ in called["on_evaluation"]),
                             sorted([5, 10, STEPS] * times))
            folder = f"outputs/{name}/checkpoint-"
            for step in (4, 8, STEPS):
                self.assertIn((step, f"{folder}{step}"), called["on_save"])

    def test_a_callback_of_a_worker_that_throws(self):
        for callback in ("on_step", "on_evaluation", "on_save"):
            env = self.environment(CALLBACKS=str(self.folder / "lines"), THROWS=callback)
            said = self.run_trainx("--worker", CALLBACKS, "train", "r.yaml", "run.name=throws",
                                   "--overwrite", "eval.every=5 steps", "checkpoint.every=4 steps",
                                   expect=78, env=env).stderr
            for word in (callback, "own-words"):
                self.assertIn(word, said)
            self.assertEqual(self.status("throws")["state"], "failed")


class Example(InstallTree):
    """examples/own_loop, built against an install tree, whose trainx it finds by itself."""
    EXAMPLES, WORKER = ("own_loop",), "own-loop"

    def test_it_trains_stops_early_and_resumes(self):
        recipe = support.ROOT / "examples" / "own_loop" / "loop.yaml"
        shorter = ["run.duration=120 steps", "data.sequence_length=32"]
        done = subprocess.run([self.worker, recipe, f"run.seed={self.random.randrange(1000)}",
                               *shorter],
                              cwd=self.folder, capture_output=True, text=True,
                              env=self.environment(PATH="/usr/bin:/bin"), timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("best held-out loss", done.stdout)
        lines = [json.loads(line) for line in
                 (self.folder / "outputs/own-loop/metrics.jsonl").read_text().splitlines()]
        rates = {m["lr"] for m in lines if "lr" in m}
        self.assertIn(4e-3, rates)
        self.assertLessEqual(rates, {4e-3 / 2**k for k in range(8)})
        evals = [m["eval_loss"] for m in lines if "eval_loss" in m]
        self.assertLess(min(evals), 0.9 * evals[0])
        self.assertIn(self.status("own-loop")["state"], ("stopped", "done"))
        two = subprocess.run([self.worker, recipe, "run.name=two", "run.duration=40 steps",
                              "parallel.world_size=2", "parallel.mode=zero1"], cwd=self.folder,
                             capture_output=True, text=True, env=self.environment(), timeout=600)
        self.assertEqual(two.returncode, 0, two.stderr)
        self.assertEqual(two.stdout.count("best held-out loss"), 1)


if __name__ == "__main__":
    assert os.path.exists(TRAINX), f"{TRAINX} is not built"
    main()
