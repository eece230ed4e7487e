"""Optimizers of one's own on a GPU: the losses of a CPU and of trainx's own optimizers, the same
bits captured and launched one by one, in every precision, place and world; and sentences for what a
rule may not do."""

from gpu_checks import MEMORY, needs_gpus
from own_modules import MODELS, RECIPE, BATCH, LENGTH, STEPS, VOCABULARY, OwnModules, worker
from own_modules_gpu_test import COMPARED, CUTS, RECOMPUTED
from support import main, sha256

WORKER = "own-modules-worker"
GPT2 = (f"vocab_size: {VOCABULARY}, num_layers: 2, num_heads: 2, hidden_size: 32, "
        f"max_positions: {LENGTH}")
# Rules of the user's own, and trainx's optimizers that compute the same.
TWINS = {
    "nesterov": ("{type: nesterov, lr: 2e-2, options: {weight_decay: 0.1}}",
                 "{type: sgd, lr: 2e-2, options: {momentum: 0.9, nesterov: true, "
                 "weight_decay: 0.1}}"),
    "tensor_adamw": ("{type: tensor_adamw, lr: 3e-3, options: {weight_decay: 0.1, beta2: 0.95}}",
                     "{type: adamw, lr: 3e-3, options: {weight_decay: 0.1, beta2: 0.95}}"),
}
LOW = {"split": ("precision=bf16", "precision.master=split"),
       "master": ("precision=bf16", "precision.master=fp32"),
       "rounded": ("precision=bf16", "precision.master=none", "precision.rounding=stochastic"),
       "fp16": ("precision=fp16", "precision.initial_loss_scale=128"),
       # whose first steps overflow, and are skipped
       "skips": ("precision=fp16", "precision.initial_loss_scale=268435456")}
FREE = ("optimizer.max_grad_norm=0",)


@needs_gpus(1)
class OwnOptimizersOnGpu(OwnModules):
    on_gpu = True

    def setUp(self):
        super().setUp()
        recipe = RECIPE.format(steps=STEPS, model="gpt2", options=GPT2, data="tokens",
                               suffix="bin", batch=BATCH, length=LENGTH)
        # rules have options of their own, which settings add
        self.recipe(recipe.replace(", options: {weight_decay: 0.1}", ""), "gpt2.yaml")

    def ask(self, command, model, *settings, **how):
        return self.run_trainx("--worker", worker(WORKER), command, self.folder / f"{model}.yaml",
                               *settings, **how)

    def train_on(self, device, model, name, optimizer, *settings):
        return self.train(model, name, f"optimizer={optimizer}", f"run.device={device}",
                          *(() if any("world_size" in s for s in settings)
                            else ("parallel.world_size=1",)), *settings)

    def bits(self, name):
        return sha256(self.weights(name))

    def test_the_losses_of_the_cpu(self):
        for model in ("gpt2", "pairs", "own_gpt2"):
            for own, ((rule, ours), (k, cut)) in zip(TWINS, zip(TWINS.values(), enumerate(CUTS))):
                self.check_on_both(model, own, rule, ours, k, cut)
        self.check_on_both("gpt2", "many_states", "{type: many_states, lr: 1e-3}", None, 2, CUTS[2])

    def check_on_both(self, model, own, rule, ours, k, cut):
        with self.subTest(model=model, own=own, cut=cut):
            cpu, gpu = f"{model}-{own}-cpu{k}", f"{model}-{own}-gpu{k}"
            want = self.train_on("cpu", model, cpu, rule, *cut)
            got = self.train_on("gpu", model, gpu, rule, *cut)
            self.assertIn("run.execution=graph", self.said)
            self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5, gpu)
            self.assertNotEqual(got[0], got[-1])
            if ours:
                twin = self.train_on("gpu", model, f"{gpu}-ours", ours, *cut)
                self.assert_close(got[:COMPARED], twin[:COMPARED], 1e-5, "ours")

    def test_every_precision(self):
        for own, (rule, ours) in TWINS.items():
            for name, how in LOW.items():
                with self.subTest(own=own, precision=name):
                    got = self.train_on("gpu", "gpt2", f"{own}-{name}", rule, *how)
                    want = self.train_on("gpu", "gpt2", f"{own}-{name}-ours", ours, *how)
                    self.assert_close(got[:COMPARED], want[:COMPARED], 1e-3, name)
                    self.assertNotEqual(got[0], got[-1])
                    rates = [[m["lr"] for m in self.metrics(run)]
                             for run in (f"{own}-{name}", f"{own}-{name}-ours")]
                    self.assertEqual(*rates)

    def test_captured_steps_and_passes_change_no_bit(self):
        for model in ("gpt2", "pairs"):
            for own, (rule, _) in TWINS.items():
                how = ("batch.micro_batch_size=4", *FREE, "precision=bf16")
                base = f"{model}-{own}"
                want = self.train_on("gpu", model, base, rule, *how)
                for name, *more in (("twice",), ("eager", "run.execution=eager"),
                                    ("recomputed", RECOMPUTED),
                                    ("weights", "memory.parameter_offload=cpu")):
                    with self.subTest(model=model, own=own, name=name):
                        got = self.train_on("gpu", model, f"{base}-{name}", rule, *how, *more)
                        self.assertEqual(got, want)
                        self.assertEqual(self.bits(f"{base}-{name}"), self.bits(base))

    def test_states_on_the_host(self):
        for own, (rule, _) in TWINS.items():
            want = self.train_on("gpu", "gpt2", own, rule, *CUTS[1])
            for name, *more in (("cpu", "memory.optimizer_offload=cpu"),
                                ("half", "memory.optimizer_offload={where: cpu, share: 0.5}"),
                                ("disk", "memory.optimizer_offload=disk")):
                with self.subTest(own=own, name=name):
                    got = self.train_on("gpu", "gpt2", f"{own}-{name}", rule, *CUTS[1], *more)
                    self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5, name)

    def test_updates_in_backward_groups_and_averages(self):
        groups = ("optimizer.groups=[{match: '*.bias', weight_decay: 0.3}, "
                  "{match: 'ln_f.*', lr_scale: 0.5}, {match: 'h.0.*', freeze: true}]")
        for own, (rule, ours) in TWINS.items():
            with self.subTest(own=own):
                late = self.train_on("gpu", "gpt2", f"{own}-late", rule, *FREE)
                early = self.train_on("gpu", "gpt2", f"{own}-early", rule, *FREE,
                                      "optimizer.update_in_backward=true")
                self.assertEqual(early, late)
                more = (groups, "optimizer.ema_decay=0.9", "eval.weights=average")
                runs = {}
                for who, optimizer in (("own", rule), ("ours", ours)):
                    runs[who] = self.train_on("gpu", "gpt2", f"{own}-{who}", optimizer, *more)
                self.assert_close(runs["own"][:COMPARED], runs["ours"][:COMPARED], 1e-5)
                a, b = (self.evaluation(f"{own}-{who}")["eval_loss"] for who in runs)
                self.assert_close([a], [b], 1e-5)

    def test_a_resumed_run_is_the_run(self):
        for own, (rule, _) in TWINS.items():
            whole = self.train_on("gpu", "gpt2", f"{own}-whole", rule)
            self.ask("train", "gpt2", f"optimizer={rule}", "run.device=gpu", "run.duration=6 steps",
                     "parallel.world_size=1", f"run.name={own}-parts")
            self.assertEqual(self.train_on("gpu", "gpt2", f"{own}-parts", rule), whole)
            self.assertEqual(self.bits(f"{own}-parts"), self.bits(f"{own}-whole"))

    def test_a_rule_that_reads_on_the_host_is_launched_step_by_step(self):
        rule = "{type: reading, lr: 1e-2}"
        want = self.train_on("cpu", "gpt2", "cpu", rule)
        got = self.train_on("gpu", "gpt2", "gpu", rule)
        self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5)
        self.assertRegex(self.said, r"run\.execution.*'reading'.*aten::")
        asked = ("run.device=gpu", "run.execution=graph", f"optimizer={rule}")
        refused = self.ask("train", "gpt2", "run.name=refused", *asked, expect=78).stderr
        self.assertRegex(" ".join(refused.split()), r"run\.execution.*'reading'.*aten::")

    def test_rules_that_fail_end_the_run_with_a_sentence(self):
        # a graph calls its rule once: what is kept from call to call grows in eager steps
        for rule, code, word, *more in (("breaking", 80, "'m'"), ("failing", 78, "failing"),
                                        ("keeping", 71, "rule", "run.execution=eager")):
            said = self.ask("train", "gpt2", f"optimizer={{type: {rule}, lr: 1e-2}}",
                            f"run.name={rule}", "run.device=gpu", "parallel.world_size=1", *more,
                            expect=code).stderr
            self.assertIn(word, said, rule)

    def test_memory_is_what_was_planned(self):
        for own, (rule, _) in TWINS.items():
            settings = (f"optimizer={rule}", "run.device=gpu", "parallel.world_size=1")
            plan = self.plan("gpt2", *settings)
            self.train("gpt2", own, *settings)
            last = self.metrics(own)[-1]
            taken = plan["arena_bytes"] + plan["library_bytes"] + (4 << 20)
            self.assertLessEqual(last["peak_memory_bytes"], taken)
            print(f"  {own}: {last['device_memory_bytes']} bytes, planned {plan['total_bytes']}")
            self.assertLess(last["device_memory_bytes"], (1 + MEMORY) * plan["total_bytes"])

    @needs_gpus(2)
    def test_worlds_compute_the_same(self):
        for model in ("gpt2", "pairs"):
            for own, (rule, _) in TWINS.items():
                want = self.train_on("gpu", model, f"{model}-{own}-one", rule, *CUTS[1])
                for mode, *more in (("ddp",), ("dp",), ("zero1",), ("zero2",), ("zero3",),
                                    ("zero3", "memory.optimizer_offload=cpu")):
                    with self.subTest(model=model, own=own, mode=mode, more=more):
                        got = self.train_on("gpu", model, f"{model}-{own}-{mode}-{len(more)}", rule,
                                            *CUTS[1], *more, f"parallel.mode={mode}",
                                            "parallel.world_size=2")
                        self.assert_close(got[:COMPARED], want[:COMPARED], 1e-5, mode)


assert WORKER == MODELS["pairs"][0]
if __name__ == "__main__":
    main()
