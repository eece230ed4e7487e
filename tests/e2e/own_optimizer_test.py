"""Optimizers, schedules and data sources of the user's own, built against an install tree: numbers
are those of a plain LibTorch loop, of trainx's own optimizers and of jsonl lines, wherever and in
however many parts they run."""
import json
import os
import struct
import subprocess
import sys

import support
from install_tree import InstallTree
from support import ROOT, main, sampled, sha256

STEPS, BATCH, SEED, LR = 8, 16, 7, "2e-2"
RECIPE = f"""\
run: {{name: base, duration: {STEPS} steps, seed: {SEED}}}
model: {{type: surface}}
data: {{type: jsonl, train: train.jsonl, eval: eval.jsonl, sequence_length: 1, shuffle: false}}
batch: {{global_batch_size: {BATCH}, micro_batch_size: {BATCH}}}
optimizer: {{type: nesterov, lr: {LR}, options: {{weight_decay: 0.1}}}}
schedule: {{type: sawtooth}}
metrics: {{every: 1 steps}}
"""
# an optimizer of the user's own, and trainx's that computes the same
TWINS = (("{type: nesterov, lr: 2e-2, options: {weight_decay: 0.1}}",
          "{type: sgd, lr: 2e-2, options: {momentum: 0.9, nesterov: true, weight_decay: 0.1}}"),
         ("{type: tensor_adamw, lr: 1e-2, options: {weight_decay: 0.1, beta2: 0.95}}",
          "{type: adamw, lr: 1e-2, options: {weight_decay: 0.1, beta2: 0.95}}"))
CUT = ["batch.micro_batch_size=4"]


class OwnOptimizer(InstallTree):
    EXAMPLES, WORKER = ("own_optimizer", "wrong_rules"), "rule-worker"

    def setUp(self):
        super().setUp()
        for name, count, seed in (("train", STEPS * BATCH, 1), ("eval", 21, 2)):
            subprocess.run([sys.executable, str(ROOT / "examples/own_optimizer/make_points.py"),
                            str(count), f"{name}.jsonl", str(seed)], cwd=self.folder, check=True)
            with open(self.folder / f"{name}.bin", "wb") as out:
                for line in (self.folder / f"{name}.jsonl").read_text().splitlines():
                    sample = json.loads(line)
                    out.write(struct.pack("<5d", *sample["point"], sample["z"]))
        self.config = self.recipe(RECIPE, "base.yaml")

    def train(self, name, *settings, expect=0):
        done = self.ask("train", self.config, f"run.name={name}", *settings, expect=expect)
        return done.stderr if expect else [m["loss"] for m in self.metrics(name)]

    def plain(self):
        done = subprocess.run([self.built("rule-loop"), "train.bin", "eval.bin", str(STEPS),
                               str(BATCH), str(SEED), LR], cwd=self.folder, capture_output=True,
                              text=True, check=True)
        losses = [float(line.split()[0]) for line in done.stdout.splitlines()[:STEPS]]
        self.assertLess(losses[-1], 0.95 * losses[0])                        # it learns
        return losses

    @sampled
    def test_losses_are_those_of_a_plain_loop_in_every_world_and_cut(self):
        want = self.plain()
        worlds = [(mode, [f"parallel.mode={mode}", "parallel.world_size=2", *CUT])
                  for mode in ("ddp", "dp", "zero1", "zero2", "zero3")]
        places = [(f"{mode}-{where}", [*how, f"memory.optimizer_offload.where={where}"])
                  for mode, how in (("single", CUT), worlds[2], worlds[4])
                  for where in ("cpu", "disk")]
        self.assert_close(self.train("base"), want, 1e-6)
        rates = [m["lr"] for m in self.metrics("base")]
        self.assert_close(rates, [2e-2 * (1 - 0.9 * (s % 4) / 4) for s in range(STEPS)], 1e-9)
        for name, how in self.drawn([("cut", CUT), *worlds, *places], 3, 6):
            self.assert_close(self.train(name, *how), want, 1e-6)

    @sampled
    def test_a_rule_computes_what_trainx_computes_by_the_same_formula(self):
        groups = ("optimizer.groups=[{match: '*.bias', weight_decay: 0.3}, "
                  "{match: 'head.*', lr_scale: 0.5}, {match: 'first.*', freeze: true}]")
        early = ["optimizer.max_grad_norm=0", "optimizer.update_in_backward=true"]
        low = ["precision.compute=bf16"]
        cases = (("plain", []), ("cut", CUT), ("early", early), ("groups", [groups]),
                 ("average", ["optimizer.ema_decay=0.9", "eval.weights=average", *CUT]),
                 ("groups-zero", [groups, "parallel.mode=zero2", "parallel.world_size=2", *CUT]),
                 ("early-disk", [*early, "memory.optimizer_offload.where=disk"]),
                 ("split", [*low, "precision.master=split"]),
                 ("master", [*low, "precision.master=fp32", "memory.optimizer_offload.where=cpu"]),
                 ("rounded", [*low, "precision.master=none", "precision.rounding=stochastic"]),
                 ("cosine", ["schedule={type: cosine, warmup: 3 steps}"]))
        for name, how in self.drawn(cases, 3):
            for own, ours in TWINS:
                got = self.train(f"own-{name}", f"optimizer={own}", *how, "--overwrite")
                want = self.train(f"ours-{name}", f"optimizer={ours}", *how, "--overwrite")
                self.assert_close(got, want, 1e-6 if low[0] not in how else 1e-4)
                self.assertNotEqual(got[0], got[-1])
                last = [self.last_evaluation(f"{who}-{name}") for who in ("own", "ours")]
                self.assert_close(last[:1], last[1:], 1e-5 if low[0] not in how else 1e-3)

    def last_evaluation(self, name):
        text = (self.folder / "outputs" / name / "metrics.jsonl").read_text()
        return [m["eval_loss"] for m in map(json.loads, text.splitlines()) if "eval_loss" in m][-1]

    def test_a_resumed_run_is_the_run(self):
        for number, (own, _) in enumerate(TWINS):
            how = [f"optimizer={own}", "schedule={type: sawtooth, period: 3, warmup: 2 steps}"]
            whole = self.train(f"whole{number}", *how)
            self.train(f"parts{number}", *how, "run.duration=5 steps")
            self.assertEqual(self.train(f"parts{number}", *how), whole)
            self.assertEqual(sha256(self.weights(f"parts{number}")),
                             sha256(self.weights(f"whole{number}")))
        changed = self.train("parts0", *how[:1], how[1], "optimizer.options.beta1=0.8", expect=78)
        self.assertIn("optimizer", changed)
        # where the schedule begins anew, its function is asked about the steps that are left
        self.train("restarted", *how, "schedule.resume=restart", "run.duration=4 steps")
        self.train("restarted", *how, "schedule.resume=restart", "run.duration=8 steps")
        rates = [m["lr"] for m in self.metrics("restarted")]
        self.assert_close(rates[4:], rates[:4], 1e-9)

    @sampled
    def test_samples_of_an_own_source_are_those_of_the_same_lines(self):
        cases = (("ordered", "shuffle: false", []), ("shuffled", "shuffle: true", CUT),
                 ("prepared", "workers: 3, prefetch: 2", ["run.duration=3 epochs"]),
                 ("shared", "shuffle: true",
                  ["parallel.mode=zero2", "parallel.world_size=2", *CUT]))
        for name, more, how in self.drawn(cases, 2):
            self.read_from("{type: jsonl, train: train.jsonl, eval: eval.jsonl", more)
            want = self.train(f"lines-{name}", *how)
            self.read_from("{type: points, folder: .", more)
            self.assertEqual(self.train(f"own-{name}", *how), want, name)
            self.assertEqual(*(self.last_evaluation(f"{w}-{name}") for w in ("own", "lines")))
        self.read_from("{type: points, folder: .", "shuffle: true")
        whole = self.train("whole")
        self.train("parts", "run.duration=5 steps")
        self.assertEqual(self.train("parts"), whole)
        self.ask("eval", "outputs/whole")
        said = self.ask("train", self.config, "data.folder=nowhere", "run.name=nowhere",
                        expect=65).stderr
        self.assertIn("nowhere/train.bin", said)
        (self.folder / "eval.bin").unlink()
        self.assertEqual(self.train("unheld"), whole)

    def test_a_mixture_draws_from_own_sources_as_from_the_same_lines(self):
        mixed = "{{type: mixture, sources: [{}, weight: 3}}, {}, weight: 1}}]"
        lines = "{type: jsonl, train: train.jsonl, eval: eval.jsonl"
        more = "shuffle: true"
        got = {}
        for name, first in (("lines", lines), ("own", "{type: points, folder: .")):
            self.read_from(mixed.format(first, lines), more)
            got[name] = self.train(name, *CUT)
            self.train(f"parts-{name}", *CUT, "run.duration=5 steps")
            self.assertEqual(self.train(f"parts-{name}", *CUT), got[name])
            ranks = ["parallel.mode=zero2", "parallel.world_size=2"]
            self.assert_close(self.train(f"ranks-{name}", *CUT, *ranks), got[name], 1e-6)
        self.assertEqual(got["own"], got["lines"])
        self.assertEqual(self.last_evaluation("own"), self.last_evaluation("lines"))
        self.assertEqual(sha256(self.weights("own")), sha256(self.weights("lines")))
        problems = json.loads(self.ask("validate", self.config, "--json", "data.sources=[{type: "
                                       "points, foldr: a}]", expect=78).stdout)["problems"]
        self.assertIn("data.sources[0].foldr", [p["key"] for p in problems])

    def read_from(self, source, more):
        lines = RECIPE.splitlines()
        at = next(k for k, line in enumerate(lines) if line.startswith("data:"))
        lines[at] = f"data: {source}, sequence_length: 1, {more}}}"
        self.config = self.recipe("\n".join(lines) + "\n", "read.yaml")

    def test_the_plan_has_states_and_rates(self):
        for own, ours in TWINS:
            plans = [json.loads(self.ask("plan", self.config, f"optimizer={o}", "--json").stdout)
                     for o in (own, ours)]
            self.assertEqual(plans[0]["arena_bytes"], plans[1]["arena_bytes"])
            self.train("planned", f"optimizer={own}", "--overwrite")
            peak = self.metrics("planned")[-1]["peak_memory_bytes"]
            self.assertLessEqual(peak, plans[0]["arena_bytes"] + plans[0]["library_bytes"])
        rate = plans[0]["learning_rate"]
        self.assertEqual(rate["schedule"], "sawtooth")
        self.assert_close([rate["first"], rate["last"]], [1e-2, 1e-2 * (1 - 0.9 * 3 / 4)], 1e-9)

    def test_options_are_read_as_strictly_as_those_of_trainx(self):
        self.assertIn("nesterov", self.ask("list", "optimizers").stdout)
        self.assertIn("sawtooth", self.ask("list", "schedules").stdout)
        self.assertIn("points", self.ask("list", "data").stdout)
        shown = self.ask("show", self.config).stdout
        self.assertIn("period: 4", shown)
        again = self.recipe(shown, "again.yaml")
        strip = lambda text: [line.split("  # ")[0].rstrip() for line in text.splitlines()]
        self.assertEqual(strip(self.ask("show", again).stdout), strip(shown))
        for setting, key, part in (
                ("optimizer.options.momentun=0.5", "optimizer.options.momentun", "momentum"),
                ("optimizer.options.momentum=1", "optimizer.options.momentum", "less than 1"),
                ("optimizer.options.beta1=0.5", "optimizer.options.beta1", "adamw"),
                ("optimizer.type=nestorov", "optimizer.type", "nesterov"),
                ("schedule.type=sawtoth", "schedule.type", "sawtooth"),
                ("schedule.period=0", "schedule.period", "at least 1"),
                ("schedule.final_ratio=0.1", "schedule.final_ratio", "sawtooth"),
                ("data={type: points}", "data.folder", "train.bin"),
                ("data={type: points, foldr: a}", "data.foldr", "folder"),
                ("data={type: poins}", "data.type", "points"),
                ("run.duration=5 s", "run.duration", "steps")):
            said = self.ask("validate", self.config, setting, "--json", expect=78).stdout
            problems = {p["key"]: p["message"] for p in json.loads(said)["problems"]}
            self.assertIn(part, problems.get(key, ""), setting)
        self.assertIn("--worker", self.run_trainx("validate", self.config, expect=78).stderr)


class WrongRules(InstallTree):
    EXAMPLES, WORKER = ("wrong_rules",), "wrong-worker"
    RECIPE = """\
run: {name: base, duration: 6 steps}
model: {type: gpt2, options: {num_layers: 1, num_heads: 2, hidden_size: 16, max_positions: 16}}
data: {type: stories, sequence_length: 16}
batch: {global_batch_size: 4, micro_batch_size: 4}
optimizer: {type: plain, lr: 1e-2}
schedule: {type: plain}
metrics: {every: 1 steps}
checkpoint: {every: 2 steps}
"""

    def setUp(self):
        super().setUp()
        self.config = self.recipe(self.RECIPE, "base.yaml")

    def test_rules_and_functions_that_fail_end_the_run_with_a_sentence(self):
        self.ask("train", self.config)
        for setting, code in (("optimizer.type=throws", 78), ("optimizer.type=shapes", 78),
                              ("optimizer.type=breaks", 80), ("optimizer.type=explodes", 80),
                              ("optimizer.type=neighbours", 78), ("schedule.type=negative", 78),
                              ("schedule.type=lost", 78)):
            name = setting.split("=")[1]
            said = self.ask("train", self.config, setting, f"run.name={name}", expect=code).stderr
            self.assertIn(name, said)
            self.check_sentence(f"own_optimizer.wrong/{name}", said.splitlines()[-1])
        for ranks in ("zero1", "zero3"):
            said = self.ask("train", self.config, "optimizer.type=breaks", f"run.name={ranks}",
                            f"parallel.mode={ranks}", "parallel.world_size=2",
                            "batch.micro_batch_size=2", expect=80).stderr
            self.assertIn("breaks", said)
        # what was saved before is whole
        self.ask("eval", "outputs/breaks")
        plan = self.ask("plan", self.config, "--gpu", "h100").stdout
        self.assertIn("optimizer's own tensors", plan)
        self.assertIn("UpdateTensors", plan)
        groups = "optimizer.groups=[{match: '*.bias', weight_decay: 0.1}]"
        self.refused("--worker", self.worker, "validate", self.config, groups,
                     key="optimizer.groups[0].weight_decay", names="plain")

    def test_samples_that_are_wrong_end_the_run_with_their_place(self):
        how = "data={type: TYPE, sequence_length: 16, shuffle: false}"
        self.ask("train", self.config, how.replace("TYPE", "letters"))
        for fault in ("empty", "beyond", "long", "reals", "silent", "fails", "unopened"):
            said = self.ask("train", self.config, how.replace("TYPE", fault), f"run.name={fault}",
                            expect=65).stderr
            self.assertIn(fault, said)
            self.check_sentence(f"own_optimizer.data/{fault}", said.splitlines()[-1])

    def test_verify_holds_a_rule_on_one_rank_against_several(self):
        self.assertIn("2 ranks", self.ask("verify", self.config, "run.duration=3 steps").stdout)

    def test_a_worker_is_refused_that_answers_otherwise(self):
        for body in ("""{"factors": [1]}""", """{"factors": [1, null, 1, 1, 1, 1]}""", "[]", "no"):
            script = self.folder / "script"
            script.write_text(f"""#!/bin/sh
[ "$1" = --describe-schedule ] || exec {self.worker} "$@"
echo '{body}'
""")
            script.chmod(0o755)
            said = self.run_trainx("--worker", "./script", "plan", self.config, expect=69).stderr
            self.assertIn("./script", said)

    def test_a_worker_is_refused_that_adds_what_cannot_be(self):
        for wrong in ("taken", "twice", "name", "states", "nan", "decay", "schedule", "key",
                      "data", "data_key"):
            done = self.ask("list", "optimizers", expect=69, env=self.environment(WRONG=wrong))
            self.check_sentence(f"own_optimizer.worker/{wrong}",
                                done.stderr.replace(self.worker, "<worker>"))


if __name__ == "__main__":
    assert os.path.exists(support.TRAINX), f"{support.TRAINX} is not built"
    main()
