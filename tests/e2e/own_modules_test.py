"""Modules of one's own on CPUs: trainx::dropout, fp16 and evaluations in another type; and what is
said where no GPU is."""
from own_modules import BATCH, MODELS, STEPS, OwnModules
from support import main, sampled, sha256

DROPOUT = "model.options.dropout=0.3"
RECOMPUTED = "memory.activation_checkpoint=full"


class OwnModulesOnCpu(OwnModules):
    @sampled
    def test_dropout_does_not_depend_on_how_the_batch_is_cut(self):
        for model in self.drawn(("pairs", "own_gpt2")):
            run = lambda name, *how: self.train(model, f"{model}-{name}", *how)
            whole = run("whole", DROPOUT)
            for name, *how in (("cut", "batch.micro_batch_size=4"),
                               ("ranks", "batch.micro_batch_size=8", "parallel.mode=ddp",
                                "parallel.world_size=2")):
                got = run(name, DROPOUT, *how)
                self.assert_close(got, whole, 1e-5, name)
            same = run("recomputed", DROPOUT, RECOMPUTED)
            self.assertEqual(same, whole)
            weights = [self.weights(f"{model}-{name}") for name in ("recomputed", "whole")]
            self.assertEqual(*map(sha256, weights))
            none = run("none")
            other = run("other", DROPOUT, "run.seed=8")
            for got in (none, other):           # one loss alone may be the same by chance
                self.assertGreater(max(abs(g / w - 1) for g, w in zip(got, whole)), 1e-5)

    @sampled
    def test_16_bits_come_close_to_fp32(self):
        for model in self.drawn(MODELS):
            want = self.train(model, f"{model}-fp32")
            # a scale that skips no step
            for precision, *how in (("bf16",), ("fp16", "precision.initial_loss_scale=128")):
                got = self.train(model, f"{model}-{precision}", f"precision.compute={precision}",
                                 *how)
                self.assert_close(got, want, 4e-2, precision)
                self.assertNotEqual(got, want)
        # a scale that overflows is halved until it does not
        high = self.train("own_gpt2", "high", "precision.compute=fp16",
                          "precision.initial_loss_scale=1e8")
        self.assertLess(high[-1], high[0])

    def test_evaluations_in_another_type(self):
        self.train("own_gpt2", "exact")
        self.train("own_gpt2", "low", "eval.precision=bf16")
        low, exact = (self.evaluation(name)["eval_loss"] for name in ("low", "exact"))
        self.assert_close([low], [exact], 2e-2)
        self.assertNotEqual(low, exact)
        said = self.ask("validate", "pairs", "eval.precision=bf16",
                        "model.options.batch_norm=true", expect=78).stderr
        self.assertIn("eval.precision", said)
        self.assertIn("module 'join'", said)

    def test_what_fits_is_chosen(self):
        wide = ("model.options.hidden_size=128", "model.options.num_layers=4")
        none, full = (self.plan("own_gpt2", *wide, f"memory.activation_checkpoint={level}")
                      for level in ("none", "full"))
        self.assertLess(full["total_bytes"], none["total_bytes"])
        between = (full["total_bytes"] + none["total_bytes"]) // 2 >> 20
        self.ask("plan", "own_gpt2", *wide, f"memory.budget={between} MiB", expect=71)
        how = (*wide, f"memory.budget={between} MiB", "memory.fit=true")
        fitting = self.plan("own_gpt2", *how)
        self.assertLessEqual(fitting["total_bytes"], between << 20)
        self.assertEqual(fitting["total_bytes"], self.plan("own_gpt2", *how)["total_bytes"])
        self.train("own_gpt2", "fitting", *how)
        auto = self.plan("own_gpt2", "batch.micro_batch_size=auto")
        self.assertEqual(BATCH % auto["micro_batch_size"], 0)
        self.assert_close(self.train("own_gpt2", "auto", "batch.micro_batch_size=auto"),
                          self.train("own_gpt2", "written"), 1e-5)
        # buffers that change are not recomputed
        normed = ("model.options.batch_norm=true", "memory.activation_checkpoint=auto")
        self.train("pairs", "normed", *normed, "memory.fit=true")

    def test_cheap_modules_are_computed_again(self):
        kept = self.train("pairs", "kept")
        how = "memory.activation_checkpoint=selective"
        self.assertEqual(self.train("pairs", "selective", how), kept)
        self.assertEqual(*(sha256(self.weights(name)) for name in ("kept", "selective")))
        plan = self.ask("plan", "pairs", how, "--program").stdout
        self.assertRegex(plan, r"recompute +join")
        self.assertNotRegex(plan, r"recompute +left-tower")
        self.ask("plan", "own_gpt2", how, expect=78)
        self.ask("plan", "pairs", how, "model.options.batch_norm=true", expect=78)

    def test_a_module_may_need_several_samples(self):
        how = ("model.options.batch_norm=true", "model.options.channels=32")
        for name, *size in (("written", "batch.micro_batch_size=8"),
                            ("two", "batch.micro_batch_size=2"),
                            ("auto", "batch.micro_batch_size=auto")):
            # the same samples six times over: in each pass in the same order
            self.ask("train", "pairs", f"run.name={name}", f"run.duration={6 * STEPS} steps", *how,
                     *size)
            got = [m["loss"] for m in self.metrics(name)]
            self.assertLess(sum(got[-STEPS:]), sum(got[:STEPS]))
        said = self.ask("train", "pairs", "run.name=one", *how, "batch.micro_batch_size=1",
                        expect=78).stderr
        self.assertIn("module 'join'", said)

    @sampled
    def test_stages_have_the_losses_of_one_rank(self):
        for model in self.drawn(("pairs", "own_gpt2")):
            cut = "batch.micro_batch_size=4"
            whole = self.train(model, f"{model}-whole", DROPOUT, cut)
            for name, stages in (("1f1b", "world_size: 2"), ("ddp", "world_size: 4"),
                                 ("interleaved", "world_size: 2, pipeline_schedule: interleaved, "
                                                 "pipeline_chunks: 2")):
                how = f"parallel={{pipeline: 2, {stages}}}"
                got = self.train(model, f"{model}-{name}", DROPOUT, cut, how, RECOMPUTED)
                self.assert_close(got, whole, 1e-5, name)
                said = self.ask("validate", model, cut, how, expect=78).stderr
                self.assertIn(RECOMPUTED.replace("=", ": "), " ".join(said.split()))
            self.train(model, f"{model}-fitting", cut, how, "memory.activation_checkpoint=auto",
                       "memory.fit=true")
            self.train(model, f"{model}-at-once", "batch.micro_batch_size=16",
                       "parallel={pipeline: 2, world_size: 2}")
        said = self.ask("validate", "pairs", "parallel={pipeline: 2, world_size: 2}",
                        "batch.micro_batch_size=16", "model.options.batch_norm=true",
                        expect=78).stderr
        self.assertIn("parallel.pipeline", said)
        self.assertIn("module 'join'", said)

    def test_without_a_gpu_its_memory_cannot_be_measured(self):
        said = self.ask("plan", "pairs", "run.device=gpu", expect=69).stderr
        self.assertIn("run.device", said)


if __name__ == "__main__":
    main()
