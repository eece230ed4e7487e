"""Planning is fast, and what it predicts is what is measured."""
import json
import pathlib
import re

from support import ROOT, Trainx, main, read_measured, tiny


class Plan(Trainx):
    forks = True

    def test_predicted_memory_is_measured_memory(self):
        for level in ("none", "full"):
            for precision in ("fp32", "bf16"):
                with self.subTest(level=level, precision=precision):
                    recipe = self.recipe(
                        tiny(steps=6, every=100, precision=precision).replace(
                            "hidden_size: 32",
                            "hidden_size: 128").replace("num_heads: 2", "num_heads: 4"))
                    plan = json.loads(
                        self.run_trainx("plan", recipe, f"memory.activation_checkpoint={level}",
                                        "--json").stdout)
                    run = f"{level}-{precision}"
                    self.run_trainx("train", recipe, f"memory.activation_checkpoint={level}",
                                    f"run.name={run}")
                    predicted, measured = plan["arena_bytes"] + plan["library_bytes"], self.metrics(
                        run)[-1]["peak_memory_bytes"]
                    print(f"  {run}: predicted {predicted}, measured {measured}")
                    self.assertLess(abs(measured - predicted), 0.05 * predicted)

    def test_what_is_chosen_to_fit_comes_with_its_reason_and_its_price(self):
        recipe = self.recipe(
            "model: {type: gpt2, size: 124m}\ndata: {type: stories, sequence_length: 512}\nprecision: bf16\nbatch: {global_batch_size: 32, micro_batch_size: 32}\n",
            "fit.yaml")

        def plan(*settings, expect=0):
            done = self.run_trainx("plan", recipe, "--gpu", "h200", "--json", *settings,
                                   expect=expect)
            return json.loads(done.stdout) if expect == 0 else json.loads(done.stdout)["message"]

        roomy = plan("memory.fit=true")
        self.assertEqual([c for c in roomy["choices"] if "cpu" in c], [])
        for memory, keys in (("1900 MiB", ["memory.optimizer_offload cpu"]), ("1100 MiB", [
                "memory.optimizer_offload cpu", "memory.parameter_offload cpu"
        ])):
            chosen = plan("memory.fit=true", f"memory.budget={memory}")
            self.assertLessEqual(chosen["total_bytes"], chosen["budget_bytes"])
            self.assertEqual(chosen["global_batch_size"], 32)
            text = self.run_trainx("plan", recipe, "--gpu", "h200", "memory.fit=true",
                                   f"memory.budget={memory}").stdout
            for key in keys:
                (line,) = [c for c in chosen["choices"] if c.startswith(key)]
                print(f"  {memory}: {line}")
                self.check_sentence(f"plan.choice/{key} in {memory}", line, "any")
                self.assertIn(line, text)
        refusal = plan("memory.fit=true", "memory.budget=700 MiB", expect=71)
        self.assertRegex(
            refusal,
            r"\b(forward|loss|backward) of [\w.]+ .* [\d.]+ MiB .*\bbatch.micro_batch_size 1\b")
        self.check_sentence("plan.nothing_fits", refusal, "any")
        ranks = plan("parallel.world_size=4", "memory.budget=3 GiB", "batch.micro_batch_size=8")
        self.assertEqual(ranks["mode"][:4], "zero")
        self.assertTrue(
            any(c.startswith(f"parallel.mode {ranks['mode']}: ") for c in ranks["choices"]),
            ranks["choices"])

    def test_chosen_ranks_of_a_batch_come_with_the_price_of_others(self):
        recipe = self.recipe(
            "model: {type: gpt2, size: 350m}\ndata: {type: stories, sequence_length: 1024}\nprecision: bf16\nbatch: {global_batch_size: 32}\nparallel: {mode: ddp, world_size: 4, tensor: auto, context: auto}\n",
            "degrees.yaml")

        def plan(*settings, expect=0):
            done = self.run_trainx("plan", recipe, "--gpu", "h100", "--json", *settings,
                                   expect=expect)
            return json.loads(done.stdout) if expect == 0 else json.loads(done.stdout)["message"]

        def told(planned, key):
            (line,) = [c for c in planned["choices"] if c.startswith(f"{key} ")]
            return line

        roomy = plan()
        self.assertNotIn("tensor_ranks", roomy)
        text = self.run_trainx("plan", recipe, "--gpu", "h100").stdout
        for key in ("parallel.tensor", "parallel.context"):
            print(f"  {told(roomy, key)}")
            self.check_sentence(f"plan.degrees/{key}", told(roomy, key), "any")
            self.assertIn(told(roomy, key), text)
        tight = plan("memory.budget=5900 MiB", "batch.micro_batch_size=1")
        print(f"  {told(tight, 'parallel.tensor')}")
        ranks = tight["tensor_ranks"]
        self.assertGreater(ranks, 1)
        self.assertLessEqual(tight["total_bytes"], tight["budget_bytes"])
        written = plan("memory.budget=5900 MiB", "batch.micro_batch_size=1",
                       f"parallel.tensor={ranks}", "parallel.context=1")
        for what in ("step_ms", "total_bytes", "exchanges", "grad_accum_steps"):
            self.assertEqual(tight.get(what), written.get(what), what)
        shown = self.run_trainx("show", recipe).stdout
        self.assertRegex(shown, r"tensor: 1 +# planned")
        others = plan("parallel.tensor=1", "parallel.context=1", "--alternatives")["alternatives"]
        self.assertEqual(others[0]["changes"], {})

    def test_which_attention(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"

        def plan(*settings, expect=0):
            return self.run_trainx("plan", recipe, "data.train=none",
                                   "batch={global_batch_size: 16, micro_batch_size: 16}", *settings,
                                   "--gpu", "h200", expect=expect)

        for kind in ("auto", "cudnn", "flash", "efficient", "math"):
            told = plan(f"model.attention={kind}").stdout
            line = re.findall(r"^ *attention +(.*)", told, re.M)[0]
            self.check_sentence(f"plan.attention/{kind}", line, "any")
            self.assertRegex(told,
                             r"fused attention +" + ("none" if kind == "math" else r"\d+ forward"))
        self.check_sentence(
            "plan.attention/fp32",
            re.search(r"^ *attention +(.*)",
                      plan("precision=fp32").stdout, re.M)[1], "any")
        self.refused("plan", recipe, "precision=fp32", "model.attention=flash", "--gpu", "h200",
                     key="model.attention", names="precision.compute")

    def test_predicted_memory_of_attention_by_math(self):
        recipe = self.recipe(
            tiny(steps=6, every=100).replace("hidden_size: 32", "hidden_size: 128").replace(
                "num_heads: 2", "num_heads: 4"))
        plan = json.loads(self.run_trainx("plan", recipe, "model.attention=math", "--json").stdout)
        self.assertTrue(plan["attention"].startswith("math: "))
        self.run_trainx("train", recipe, "model.attention=math", "run.name=math")
        predicted, measured = plan["arena_bytes"] + plan["library_bytes"], self.metrics(
            "math")[-1]["peak_memory_bytes"]
        print(f"  predicted {predicted}, measured {measured}")
        self.assertLessEqual(measured, predicted)
        self.assertLess(predicted - measured, 0.1 * predicted)

    def test_predictions_of_what_was_measured_on_an_h200(self):
        """Steps of `trainx bench step`; the name of a row says of which recipe."""
        rows = read_measured("h200/steps.jsonl")
        self.assertGreater(len(rows), 9)
        for row in rows:
            name = row["row"]
            model, size, shape, *more = name.split("-")
            batch, length = shape.split("x")
            plan = json.loads(
                self.run_trainx(
                    "plan", ROOT / "configs" / "bench" / f"{model}.yaml", f"model.size={size}",
                    f"batch.global_batch_size={batch}", f"batch.micro_batch_size={batch}",
                    f"data.sequence_length={length}", "data.train=none", "--gpu", "h200", "--json",
                    *(f"run.{word}=true" for word in more),
                    "model.attention=cudnn").stdout)  # measured before there was another
            of_time, of_memory = plan["time"]["step_ms"] / row["step_time_ms"] - 1, plan[
                "total_bytes"] / row["device_memory_bytes"] - 1
            print(
                f"  {name}: {plan['time']['step_ms']:.2f} ms predicted, {row['step_time_ms']:.2f} measured ({of_time:+.1%}); memory {of_memory:+.2%}"
            )
            self.assertLess(abs(of_time), 0.08, name)
            self.assertLess(abs(of_memory), 0.03, name)
            # What trainx itself allocates, without the CUDA context and the kernels, which the
            # driver counts too.
            self.assertLess(
                abs((plan["arena_bytes"] + plan["library_bytes"]) / row["peak_memory_bytes"] - 1),
                0.001, name)

    def test_advice_on_sizes(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"

        def plan(*settings):
            return json.loads(
                self.run_trainx("plan", recipe, "data.train=none", *settings, "--gpu", "h200",
                                "--json").stdout)

        self.assertEqual(
            plan("batch.global_batch_size=64", "batch.micro_batch_size=64")["advice"], [])
        settings = ["batch.global_batch_size=72", "batch.micro_batch_size=9"]
        before = plan(*settings)
        gains = [a["gain_ms"] for a in before["advice"]]
        self.assertEqual(gains, sorted(gains, reverse=True))
        first = before["advice"][0]
        self.assertGreater(first["gain_share"], 0.01)
        after = plan(*settings, *(f"{key}={value}" for key, value in first["better"].items()))
        self.assertAlmostEqual(before["time"]["step_ms"] - after["time"]["step_ms"],
                               first["gain_ms"], delta=0.02 * first["gain_ms"])
        text = self.run_trainx("plan", recipe, "data.train=none", *settings, "--gpu", "h200").stdout
        self.assertIn("batch.micro_batch_size 9 -> ", text)
        self.assertIn("50257, computed as 50304", text)
        cpu = self.run_trainx("plan", self.recipe(tiny()), "run.device=cpu", "--json").stdout
        self.assertEqual(json.loads(cpu)["advice"], [])

    def test_advice_on_levers_that_nothing_needs(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"

        def plan(*settings, gpu="h200"):
            return json.loads(
                self.run_trainx("plan", recipe, "data.train=none",
                                "batch={global_batch_size: 64, micro_batch_size: 64}", *settings,
                                "--gpu", gpu, "--json").stdout)

        plain = plan()
        for key, value in (("memory.activation_checkpoint", "full"),
                           ("memory.optimizer_offload", "cpu"), ("memory.parameter_offload",
                                                                 "cpu")):
            with self.subTest(key=key):
                written = plan(f"{key}={value}")
                (advice,) = [a for a in written["advice"] if key in a["better"]]
                self.assertEqual((advice["now"], advice["better"], advice["changes_training"]),
                                 ({key: value}, {key: "none"}, False))
                self.assertAlmostEqual(advice["gain_ms"],
                                       written["time"]["step_ms"] - plain["time"]["step_ms"],
                                       delta=0.01)
                self.assertEqual(advice["more_bytes"],
                                 plain["total_bytes"] - written["total_bytes"])
        tight = plan("memory.activation_checkpoint=full",
                     f"memory.budget={plain['total_bytes'] - 1} B")
        self.assertEqual(
            [a for a in tight["advice"] if "memory.activation_checkpoint" in a["better"]], [])
        unmeasured = plan("memory.optimizer_offload=cpu",
                          gpu="h100")  # how fast copies are was not measured there
        (advice,) = [a for a in unmeasured["advice"] if "memory.optimizer_offload" in a["better"]]
        self.assertIsNone(advice["gain_ms"])

    def test_a_row_for_each_gpu(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"
        settings = ("data.train=none", "batch={global_batch_size: 64, micro_batch_size: 8}",
                    "precision=bf16", "run.duration=1000 steps")

        def plan(*words):
            return json.loads(
                self.run_trainx("plan", recipe, *settings, *words, "--json").stdout)

        rows = plan("--gpu", "all", "--world", 2, "--price", "2.5")["gpus"]
        by_name = {row["gpu"]: row for row in rows}
        self.assertLessEqual({"h100", "h200", "a100", "rtx4090", "t4"}, set(by_name))
        fitting = [row for row in rows if row["fits"]]
        self.assertGreater(len(fitting), 5)
        self.assertEqual(rows[:len(fitting)], fitting)
        speeds = [row["tokens_per_second"] for row in fitting]
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        for gpu in ("h200", "rtx4090"):
            row, alone = by_name[gpu], plan("--gpu", gpu, "--world", 2, "--price", "2.5")
            self.assertEqual(row["step_ms"], alone["time"]["step_ms"])
            self.assertEqual(row["total_bytes"], alone["total_bytes"])
            self.assertEqual(row["run"], alone["run"])
        run = by_name["h200"]["run"]
        self.assertAlmostEqual(run["gpu_hours"], 2 * run["seconds"] / 3600, places=9)
        self.assertAlmostEqual(run["cost_eur"], 2.5 * run["gpu_hours"], places=9)
        self.assertEqual(run["tokens"], 1000 * 64 * 1024)
        self.assertGreater(by_name["h200"]["tokens_per_joule"], 0)
        self.assertIsNone(by_name["rtx4090"]["tokens_per_joule"])
        # its tensor cores have no bf16
        self.assertIn("precision.compute", by_name["t4"]["refusal"])
        text = self.run_trainx("plan", recipe, *settings, "--gpu", "all").stdout
        self.assertEqual({line.split()[0] for line in text.splitlines()[1:]}, set(by_name))
        self.assertNotIn("EUR", text)

    def test_gpus_without_the_memory_say_so(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"
        settings = ("data.train=none", "model.size=1558m", "precision=bf16",
                    "batch={global_batch_size: 8, micro_batch_size: 8}")
        done = self.run_trainx("plan", recipe, *settings, "--gpu", "all", "--json")
        rows = {row["gpu"]: row for row in json.loads(done.stdout)["gpus"]}
        self.assertTrue(rows["h200"]["fits"])
        for row in rows.values():
            alone = self.run_trainx("plan", recipe, *settings, "--gpu", row["gpu"], expect=None)
            self.assertEqual(alone.returncode == 0, row["fits"], row)
            self.assertEqual("refusal" in row, not row["fits"])
        self.assertIn(71, [self.run_trainx("plan", recipe, *settings, "--gpu", gpu,
                                           expect=None).returncode for gpu in ("t4", "rtx3090")])

    def test_what_is_wrong_with_the_recipe_or_the_options_is_said_once(self):
        recipe = self.recipe(tiny())
        self.refused("plan", recipe, "batch.micro_batch_size=3", "--gpu", "all",
                     key="batch.global_batch_size")
        self.refused("plan", recipe, "--gpu", "all", "--program", code=2, names="--program")
        self.refused("plan", recipe, "--price", "2", "run.device=cpu", code=2, names="--price")
        self.run_trainx("plan", recipe, "--gpu", "h100", "--price", "0", expect=2)

    def test_fp32_is_told_with_its_cost(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"

        def plan(*settings, gpu="h100"):
            return json.loads(
                self.run_trainx("plan", recipe, "data.train=none",
                                "batch={global_batch_size: 64, micro_batch_size: 64}", *settings,
                                "--gpu", gpu, "--json").stdout)

        fp32, bf16 = plan("precision=fp32"), plan("precision=bf16")
        (advice,) = [a for a in fp32["advice"] if "precision.compute" in a["better"]]
        self.assertEqual(advice["better"], {"precision.compute": "bf16"})
        self.assertAlmostEqual(advice["gain_ms"],
                               fp32["time"]["step_ms"] - bf16["time"]["step_ms"], delta=0.01)
        self.assertEqual(advice["more_bytes"], bf16["total_bytes"] - fp32["total_bytes"])
        no_bf16 = plan("precision=fp32", "memory.budget=1 TiB", gpu="t4")
        for planned in (bf16, plan("precision=tf32"), no_bf16):
            self.assertFalse([a for a in planned["advice"] if "precision.compute" in a["better"]])

    def test_a_gpu_that_no_build_has_kernels_for(self):
        recipe = self.recipe(tiny(precision="fp16"))
        for gpu, alone in (("t4", True), ("h100", False)):
            notes = json.loads(self.run_trainx("plan", recipe, "--gpu", gpu,
                                               "--json").stdout)["notes"]
            self.assertEqual(any("8.0 or later" in note for note in notes), alone, notes)

    def test_tokens_of_rows_that_may_be_padded_are_at_most(self):
        (self.folder / "lines.jsonl").write_text('{"input_ids": [1, 2, 3]}\n' * 8)
        for data, at_most in (("type: stories", False), ("type: jsonl, train: lines.jsonl", True)):
            recipe = self.recipe(
                "run: {name: r, duration: 2 steps}\n"
                "model: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 32}}\n"
                f"data: {{{data}, sequence_length: 32}}\nbatch: {{global_batch_size: 8}}\n"
                "optimizer: {type: adamw}\n")
            plan = json.loads(self.run_trainx("plan", recipe, "--json").stdout)
            self.assertEqual(plan["run"]["counts_padding"], at_most)
            self.assertEqual(plan["run"]["tokens"], 2 * 8 * 32)
            text = self.run_trainx("plan", recipe).stdout
            self.assertEqual("at most 512" in text, at_most, text)

    def test_train_tells_what_nothing_needs(self):
        recipe = self.recipe(tiny(steps=5))
        needless = "memory.activation_checkpoint=full"
        plan = json.loads(self.run_trainx("plan", recipe, needless, "--json").stdout)
        (advice,) = plan["advice"]
        self.assertEqual(advice["better"], {"memory.activation_checkpoint": "none"})
        line = "memory.activation_checkpoint full -> none"
        for name, words, told in (("a", (needless,), True), ("b", (), False),
                                  ("c", (needless, "-q"), False)):
            done = self.run_trainx("train", recipe, f"run.name={name}", *words)
            self.assertEqual(line in done.stderr, told, done.stderr)

    def test_trained_weights_without_a_learning_rate_are_warned_of(self):
        self.run_trainx("train", self.recipe(tiny(steps=5)))
        text = "\n".join(line for line in tiny(steps=5).splitlines()
                         if not line.startswith(("optimizer", "schedule", "model")))
        recipe = self.recipe(text + "\nmodel: {init_from: outputs/tiny/latest}\n", "tuned.yaml")
        for command in ("plan", "validate"):
            told = json.loads(self.run_trainx(command, recipe, "--json").stdout)
            (warning,) = told["warnings"]
            self.assertIn("optimizer.lr", warning)
            told = json.loads(self.run_trainx(command, recipe, "optimizer.lr=1e-4",
                                              "schedule.type=cosine", "--json").stdout)
            self.assertEqual(told["warnings"], [])
        done = self.run_trainx("train", recipe, "run.name=tuned", "--json")
        warnings = [e["message"] for e in map(json.loads, done.stdout.splitlines())
                    if e["event"] == "warning"]
        self.assertEqual(len([w for w in warnings if "optimizer.lr" in w]), 1, warnings)

    def test_checkpoints_that_the_run_does_not_write_take_no_room(self):
        recipe = self.recipe(tiny(steps=5, every=100))
        plan = json.loads(self.run_trainx("plan", recipe, "checkpoint.keep_last=1000000",
                                          "--json").stdout)
        self.assertLessEqual(plan["checkpoints"]["most"], 5)
        done = self.run_trainx("train", recipe, "checkpoint.keep_last=1000000", "--json")
        events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
        self.assertNotIn("warning", events, done.stdout)

    def test_alignment_is_advised_for_an_h100_too(self):
        settings = (
            "model={type: bert, options: {num_layers: 4, hidden_size: 750, num_heads: 6, mask_token: 1, special_tokens: [0, 1]}}",
            "precision=fp16", "batch={global_batch_size: 32, micro_batch_size: 32}",
            "data={type: stories, sequence_length: 128}")
        recipe = self.recipe("run: {name: x}\n", "x.yaml")
        times = {}
        for gpu in ("h100", "h200"):
            planned = json.loads(
                self.run_trainx("plan", recipe, *settings, "--gpu", gpu, "--json").stdout)
            self.assertTrue(
                any("model.options.hidden_size" in a["better"] for a in planned["advice"]),
                (gpu, planned["advice"]))
            times[gpu] = planned["time"]["step_ms"]
        self.assertLess(abs(times["h100"] / times["h200"] - 1), 0.5)

    def test_links_that_were_not_measured_are_taken_from_the_data_sheet(self):
        recipe = ROOT / "configs" / "bench" / "gpt2.yaml"

        def plan(*settings):
            return json.loads(
                self.run_trainx("plan", recipe, "data.train=none",
                                "batch={global_batch_size: 64, micro_batch_size: 4}",
                                "precision=fp32", *settings, "--gpu", "h200", "--json").stdout)

        alone, ddp, dp = plan(), plan("parallel={world_size: 16, mode: ddp}"), plan(
            "parallel={world_size: 16, mode: dp}")
        one, by_ddp, by_dp = (p["time"]["step_ms"] for p in (alone, ddp, dp))
        print(f"  one GPU {one:.2f} ms, 16 ranks by ddp {by_ddp:.2f}, by dp {by_dp:.2f}")
        self.assertGreater(by_ddp, one / 16)
        self.assertNotEqual(by_ddp, by_dp)
        self.assertNotIn("assumed_link_bytes_per_s", alone)
        self.assertGreater(ddp["assumed_link_bytes_per_s"], 0)

    def test_bytes_between_hosts_follow_from_the_exchanges(self):
        recipe = self.recipe("""\
run: {name: hosts}
model: {type: qwen2, size: 7b}
data: {type: stories, sequence_length: 1024}
batch: {global_batch_size: 256, micro_batch_size: 4}
optimizer: {type: adamw, lr: 1e-4}
precision: bf16
parallel: {mode: zero3}
""")

        def plan(*more):
            return json.loads(self.run_trainx("plan", recipe, "--gpu", "h100", "--world", "64",
                                              *more, "--json").stdout)

        def exchanged(planned, name):
            return sum(e["bytes"] for e in planned["exchanges"] if e["name"] == name)

        hybrid, one = plan("--hosts", "8"), plan()
        wide = plan("--hosts", "8", "parallel.shard_ranks=64")
        self.assertEqual(hybrid["shard_ranks"], 8, "by itself within a host")
        self.assertNotIn("host_traffic", one)
        traffic, scalars = hybrid["host_traffic"], exchanged(hybrid, "losses summed")
        moved = exchanged(hybrid, "weights gathered") + exchanged(hybrid, "gradients scattered")
        summed = exchanged(hybrid, "gradients of shards summed")
        self.assertEqual(traffic["hosts"], 8)
        self.assertAlmostEqual(traffic["within_bytes"], 8 * 7 / 8 * moved, delta=7 * 2 * scalars)
        self.assertAlmostEqual(traffic["network_bytes"], 8 * 2 * 7 / 8 * summed, delta=2 * scalars)
        seconds = traffic["network_bytes"] / (8 * traffic["assumed_network_bytes_per_s"])
        self.assertAlmostEqual(traffic["network_ms"] / 1e3, seconds, delta=1e-5)
        # without groups all weights and gradients go from host to host
        moved = exchanged(wide, "weights gathered") + exchanged(wide, "gradients scattered")
        self.assertAlmostEqual(wide["host_traffic"]["network_bytes"], 63 / 64 * moved, delta=1e6)
        self.assertGreater(wide["host_traffic"]["network_bytes"], traffic["network_bytes"])
        self.refused("plan", recipe, "--world", "64", "--hosts", "7", code=2, names=("--hosts",))

    def test_a_missing_driver_is_called_missing(self):
        if pathlib.Path("/proc/driver/nvidia/version").exists():
            self.skipTest("there is a driver")
        told = self.run_trainx("train", self.recipe(tiny()), "run.device=gpu", expect=69).stderr
        self.assertIn("no NVIDIA driver", told)
        self.assertNotIn("too old", told)

    def test_program_is_printed_and_json_is_one_object(self):
        recipe = self.recipe(tiny())
        text = self.run_trainx("plan", recipe, "--program",
                               "memory.activation_checkpoint=full").stdout
        for word in ("fetch_batch", "recompute", "grad_norm", "advance_applied"):
            self.assertIn(word, text)
        plan = json.loads(self.run_trainx("plan", recipe, "--program", "--json").stdout)
        self.assertEqual(plan["global_batch_size"], 8)
        self.assertEqual(sum(c["bytes"] for c in plan["memory"]), plan["total_bytes"])


class Commands(Trainx):
    forks = True

    def test_the_graph_is_printed_after_each_pass(self):
        recipe = self.recipe(tiny())

        def graph(after, *more, expect=0):
            return self.run_trainx("plan", recipe, "--graph", after, *more, expect=expect)

        built, fused = graph("none").stdout, graph("all").stdout
        self.assertNotEqual(built, fused)
        self.assertEqual(built.count(" linear "), fused.count(" linear "))
        self.assertIn("(h.0.attn.c_proj.weight h.0.attn.c_proj.bias)", built)
        self.assertNotIn("(h.0.attn.c_proj.weight h.0.attn.c_proj.bias)", fused)
        told = json.loads(graph("fuse_bias", "--json").stdout)
        self.assertEqual(told["after"], "fuse_bias")
        self.assertNotIn("(h.0.attn.c_proj.weight h.0.attn.c_proj.bias)", told["graph"])
        frozen = self.run_trainx("plan", recipe, "--graph", "all", "optimizer.groups="
                                 "[{match: transformer.h.0.mlp.*, freeze: true}]").stdout
        self.assertIn("frozen:h.0.mlp.c_fc.weight", frozen)
        self.assertIn("fuse_bias", graph("fuse_biass", expect=2).stderr)

    def test_a_run_can_be_shown_evaluated_generated_from_and_pruned(self):
        recipe = self.recipe(tiny(steps=20, every=5).replace("keep_last: 2", "keep_last: 4"))
        self.run_trainx("train", recipe)
        run = pathlib.Path("outputs/tiny")
        self.assertIn("command line", self.run_trainx("show", recipe, "run.seed=3").stdout)
        evaluated = json.loads(self.run_trainx("eval", run, "--json").stdout.splitlines()[-1])
        logged = [
            json.loads(line)
            for line in (self.folder / run / "metrics.jsonl").read_text().splitlines()
            if "eval_loss" in line
        ][-1]
        self.assertAlmostEqual(evaluated["eval_loss"], logged["eval_loss"],
                               delta=1e-6 * logged["eval_loss"])
        first = self.run_trainx("generate", run, "--prompt", "Once", "--max-tokens", "12", "--seed",
                                "5").stdout
        self.assertTrue(first.startswith("Once"))
        self.assertEqual(
            first,
            self.run_trainx("generate", run, "--prompt", "Once", "--max-tokens", "12", "--seed",
                            "5").stdout)
        self.assertIn("checkpoint-10", self.run_trainx("ckpt", "ls", run).stdout)
        self.run_trainx("ckpt", "verify", run)
        self.run_trainx("ckpt", "prune", run)
        self.assertIn(
            "TRAINX_SET",
            self.run_trainx("show", recipe, env=self.environment(TRAINX_SET="run.seed=7")).stdout)

    def test_events_are_one_json_object_a_line(self):
        done = self.run_trainx("train", self.recipe(tiny(steps=6, every=3)), "--json")
        events = [json.loads(line) for line in done.stdout.splitlines()]
        names = [e["event"] for e in events]
        self.assertEqual(names[0], "start")
        self.assertEqual(names.count("step"), 6)
        self.assertIn("checkpoint", names)
        self.assertEqual(names[-1], "done")

    def test_init_makes_recipes_that_validate(self):
        for name in ("quickstart", "gpt2", "text"):
            self.assertIn(name, self.run_trainx("init", "--list").stdout)
            text = self.run_trainx("init", name, "--output", "-").stdout
            self.assertGreater(text.count("#"), 20)
            recipe = self.recipe(text, f"{name}.yaml")
            self.run_trainx("validate", recipe)


if __name__ == "__main__":
    main()
