"""Low-rank adapters: the losses of PEFT + torch.optim from the same adapter on, however the global
batch is cut, whatever is recomputed and over ranks; folders that PEFT loads with the same tensors
and logits; merged models; runs that go on."""
import itertools
import json
import math
import os
import shutil
import unittest

import encoders_test
import reference
import saved_tensors
import seq2seq_test
import tiny_encoders
import tiny_families
import tiny_seq2seq
from support import Trainx, main, sampled, sha256, write_tokens

RECIPE = """\
run: {{name: hf, duration: 20 steps, device: cpu}}
model:
  init_from: {folder}
  adapter: {adapter}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
RUNS = {
    "cut-8": [], "cut-2": ["batch.micro_batch_size=2"],
    "full": ["batch.micro_batch_size=2", "memory.activation_checkpoint=full"],
    "mlp": ["batch.micro_batch_size=2", "memory.activation_checkpoint=mlp"],
    "ddp": ["batch.micro_batch_size=2", "parallel.world_size=2", "parallel.mode=ddp"],
    "zero3": ["batch.micro_batch_size=4", "parallel.world_size=2", "parallel.mode=zero3"],
}
SEED = 3                    # of a model
LOSSES = 1e-5
TRAINED = 1e-3              # of each tensor's largest value
LOGITS = {"seq2seq": 5e-3}  # a T5's scores are not scaled: what it attends to moves more
# PEFT adapts experts and routers of some families with all layers.
MIXTURES = [{"target_modules": ["q_proj", "o_proj"], "r": 4},
            {"target_modules": "all-linear", "r": 2, "lora_alpha": 4}]
EXPERTS = [{"target_modules": ["v_proj"], "r": 3, "lora_alpha": 4, "target_parameters": parameters}
           for parameters in (["experts.gate_up_proj", "experts.down_proj"],
                              ["experts.down_proj", "ROUTER"], ["experts.gate_up_proj"])]
SETTINGS = [
    {"target_modules": "all-linear", "r": 4, "lora_alpha": 16},
    {"target_modules": "all-linear", "r": 9, "lora_alpha": 6, "use_rslora": True},
    {"target_modules": "all-linear", "r": 3, "rank_pattern": {r".*\.1\..*": 5},
     "alpha_pattern": {"o_proj|down_proj|dense": 3.5}},
]

TOKENS = [tiny_families.FIRST_TOKEN + k for k in (4, 0, 9)]
# Embeddings, heads and single tokens; where both are one weight PEFT changes one alone.
TABLES = [
    {"target_modules": ["EMBEDDING", "LINEAR"], "r": 4},
    {"target_modules": ["EMBEDDING"], "r": 5, "lora_alpha": 3, "use_rslora": True},
    {"target_modules": ["HEAD", "EMBEDDING"], "r": 3},
    {"target_modules": ["LINEAR"], "modules_to_save": ["HEAD"], "r": 4},
    {"target_modules": ["LINEAR"], "modules_to_save": ["EMBEDDING"], "r": 4},
    {"target_modules": ["LINEAR"], "modules_to_save": ["EMBEDDING", "HEAD"], "r": 4},
    {"target_modules": ["LINEAR"], "trainable_token_indices": TOKENS, "r": 4},
    {"target_modules": ["LINEAR"], "r": 4,
     "trainable_token_indices": {"EMBEDDING": TOKENS, "HEAD": TOKENS[1:]}},
    {"target_modules": ["LINEAR", "EMBEDDING"], "r": 2,
     "trainable_token_indices": {"HEAD": TOKENS}},
]
# The file has the embedding's and the head's own weights, other ones than the folder.
MOVED = [settings | {"MOVED": True, "r": 4} for settings in (
    {"target_modules": ["LINEAR"]}, {"target_modules": ["EMBEDDING", "LINEAR"]},
    {"target_modules": ["HEAD"]}, {"target_modules": ["HEAD", "EMBEDDING"]})]


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Lora(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        self.random.seed(int(os.environ.get("TRAINX_TEST_SEED", 3)))
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [self.token() for _ in range(20 * 8 * 32 + 1)])

    def token(self):
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def ask(self, *commands):
        return reference.ask(self, "reference_lora.py", "all", asks=commands)

    def make(self, case, seed=SEED):
        reference.ask(self, "reference_decoder.py", "all",
                      asks=[["make", case, str(self.folder / case), seed]])

    def recipe_of(self, kind, base, data, adapter):
        if kind == "decoder":
            return RECIPE.format(folder=base, tokens=data, adapter=adapter)
        model = f"model: {{init_from: {base}"
        if kind == "seq2seq":
            text = seq2seq_test.RECIPE.format(folder=base, data=data)
        else:
            family, task, _ = tiny_encoders.CASES[kind]
            text = encoders_test.RECIPE.format(family=family, folder=base, lines=data,
                                               options=tiny_encoders.OPTIONS[task])
            model = f"model: {{type: {family}, init_from: {base}"
        self.assertIn(model, text)
        return text.replace(model, f"{model}, adapter: {adapter}")

    def train(self, case, run, adapter, *settings, kind="decoder", data=None, **how):
        recipe = self.recipe_of(kind, self.folder / case, data or self.tokens, adapter)
        done = self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}",
                               *settings, **how)
        return [m["loss"] for m in self.metrics(run)] if done.returncode == 0 else done

    def check_losses(self, name, got, want):
        self.assertEqual(len(got), len(want))
        self.assertTrue(all(map(math.isfinite, got)), got)
        worst = max(abs(g - w) / w for g, w in zip(got, want))
        print(f"  {name}: largest relative difference of losses {worst:.1e}")
        self.assertLess(worst, LOSSES)

    def check_adapter(self, kind, name, found):
        self.assertEqual((found["names"], found["shapes"], found["types"]),
                         ([], [], ["torch.float32"]), name)
        worst = max(found["tensors"], key=found["tensors"].get)
        self.assertTrue(all(map(math.isfinite, found["tensors"].values())), name)
        print(f"  {name}: tensors differ by {found['tensors'][worst]:.1e} of their largest value, "
              f"logits by {found['logits']:.1e}")
        self.assertLessEqual(found["tensors"][worst], TRAINED, worst)
        self.assertTrue(found["logits"] <= LOGITS.get(kind, TRAINED), found)

    @sampled
    def test_an_adapter_trains_as_in_peft(self):
        cases = [c for c in tiny_families.names() if not tiny_families.longrope_limit(c)]
        for case in self.drawn(cases, few=3, more=24):
            with self.subTest(case=case):
                self.make(case)
                runs = RUNS if not tiny_families.depends_on_cut(case) else {"cut-8": []}
                self.check_case("decoder", case, self.tokens, runs, self.random.choice(
                    MIXTURES if tiny_families.is_routed(case) else SETTINGS))

    @sampled
    def test_adapters_of_experts_train_as_in_peft(self):
        # Folders have experts in one tensor, which transformers has so or turned, or apart.
        for family in self.drawn(["gpt_oss", "granitemoe", "mixtral"], few=3):
            case, = self.random.sample([c for c in tiny_families.names() if c.startswith(family) and
                                        not tiny_families.depends_on_cut(c)], 1)
            with self.subTest(case=case):
                self.make(case)
                self.check_case("decoder", case, self.tokens, RUNS, self.random.choice(EXPERTS))

    @sampled
    def test_embeddings_heads_and_single_tokens_train_as_in_peft(self):
        cases = [c for c in tiny_families.names() if not tiny_families.longrope_limit(c) and
                 not tiny_families.is_routed(c) and not tiny_families.depends_on_cut(c)]
        for case in itertools.chain(["llama_tied"], self.drawn(cases, few=3, more=24)):
            with self.subTest(case=case):
                self.make(case)
                # PEFT leaves a head's bias out if it trains tokens of it.
                settings = self.random.choice(
                    [s for s in TABLES
                     if not ("trainable_token_indices" in s and "phi" in case)])
                self.check_case("decoder", case, self.tokens, RUNS, settings)

    @sampled
    def test_a_head_that_the_folder_names_otherwise_trains_as_in_peft(self):
        cases = [c for c in tiny_families.names() if "gpt_neox" in c]
        for case in self.drawn(cases, few=1, more=2):
            with self.subTest(case=case):
                self.make(case)
                self.check_case("decoder", case, self.tokens, RUNS, self.random.choice(
                    [s for s in TABLES if "HEAD" in json.dumps(s)]))

    @sampled
    def test_weights_of_the_base_in_an_adapters_file_count_as_in_peft(self):
        cases = [c for c in tiny_families.names() if not tiny_families.longrope_limit(c) and
                 not tiny_families.is_routed(c) and not tiny_families.depends_on_cut(c)]
        runs = {how: RUNS[how] for how in ("cut-8", "zero3")}
        for case in itertools.chain(["llama_tied", "gpt_neox"],
                                    self.drawn(cases, few=2, more=12)):
            for settings in self.random.sample(MOVED, 2):
                with self.subTest(case=case, settings=settings):
                    for made in (case, *(f"{case}{end}" for end in
                                         ("-adapter", "-peft", "-merged", "-alone")), "outputs"):
                        shutil.rmtree(self.folder / made, ignore_errors=True)
                    self.make(case)
                    self.check_case("decoder", case, self.tokens, runs, settings)
                    self.check_reading(case, f"outputs/{case}-cut-8")

    def check_reading(self, case, run):
        """An evaluation reads what export merged."""
        held_out = self.folder / "held_out.bin"
        write_tokens(held_out, [self.token() for _ in range(8 * 32 + 1)])
        told = self.run_trainx("eval", run, f"data.eval={held_out}", "--json").stdout
        recipe = RECIPE.format(folder=self.folder / f"{case}-merged", tokens=self.tokens,
                               adapter="{}").replace("  adapter: {}\n", "")
        self.run_trainx("train", self.recipe(recipe, "merged.yaml"), "run.name=merged",
                        "run.duration=1 steps", "optimizer.lr=0", f"data.eval={held_out}",
                        "eval.every=1 steps")
        lines = (self.folder / "outputs/merged/metrics.jsonl").read_text().splitlines()
        merged = [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m]
        self.check_losses(f"{case}, read", [json.loads(told.splitlines()[-1])["eval_loss"]],
                          merged[-1:])

    @sampled
    def test_an_adapter_of_an_encoder_decoder_trains_as_in_peft(self):
        data = self.folder / "pairs.jsonl"
        data.write_text("".join(json.dumps(
            {"input_ids": [self.token() for _ in range(self.random.randint(1, 32))],
             "labels": [self.token() for _ in range(self.random.randint(1, 20))]}) + "\n"
            for _ in range(20 * 8)))
        for case in self.drawn(tiny_seq2seq.names(), few=2, more=12):
            with self.subTest(case=case):
                reference.ask(self, "reference_seq2seq.py", "all",
                              asks=[["make", case, str(self.folder / case), 3]])
                # other cuts have values beside the kink of a relu
                runs = {how: RUNS[how] for how in ("cut-2", "full")}
                self.check_case("seq2seq", case, data, runs, self.random.choice(
                    [{"target_modules": "all-linear", "r": 4},
                     {"target_modules": ["q", "v", "q_proj", "v_proj"], "r": 3,
                      "lora_alpha": 9}]))

    @sampled
    def test_an_adapter_of_an_encoder_trains_as_in_peft(self):
        for case in self.drawn(list(tiny_encoders.CASES), few=2, more=20):
            with self.subTest(case=case):
                data = self.folder / f"{case}.jsonl"
                tiny_encoders.write_lines(data, case, 3)
                reference.ask(self, "reference_encoder.py",
                              asks=[["make", case, str(self.folder / case), 3]])
                runs = {how: RUNS[how] for how in ("cut-8", "full")}
                # PEFT trains a head of classes whole, which cannot have adapters inside
                masked = tiny_encoders.CASES[case][1] == "masked_lm"
                self.check_case(case, case, data, runs, {
                    "r": 4, "target_modules": "all-linear" if masked else
                    ["query", "value", "q_lin", "v_lin", "Wqkv",
                     *self.random.choice([[], ["EMBEDDING"]])]})

    def train_clearly(self, kind, case, settings, base, first, data, trained):
        """What PEFT says of training the first adapter in which rounding decides nothing; the base
        that is there already is tried before others."""
        for seed in range(SEED, SEED + reference.MODELS):
            if seed > SEED and kind == "decoder":
                self.make(case, seed)
            _, want = self.ask(["adapt", kind, base, first, seed + 2, settings],
                               ["train", kind, base, first, data, trained])
            if want["clear"]:
                return want
        return self.fail(f"{case}: in {reference.MODELS} models rounding decides")

    def check_case(self, kind, case, data, runs, settings):
        base, first, trained = (str(self.folder / f"{case}{end}")
                                for end in ("", "-adapter", "-peft"))
        print(f"  {case}: {settings}")
        want = self.train_clearly(kind, case, settings, base, first, str(data), trained)
        adapter = f"{{type: lora, init_from: {first}}}"
        for how, words in runs.items():
            with self.subTest(how=how):
                got = self.train(case, f"{case}-{how}", adapter, *words, kind=kind, data=data)
                self.check_losses(f"{case}, {how}", got, want["losses"])
        run = f"outputs/{case}-{next(iter(runs))}"
        self.run_trainx("export", run, f"{case}-merged", "--merge")
        self.run_trainx("export", run, f"{case}-alone")
        *found, merged = self.ask(
            *(["compare", kind, base, trained, str(self.folder / out), str(data)]
              for out in [*(f"outputs/{case}-{how}/latest" for how in runs), f"{case}-alone"]),
            ["merged", kind, base, trained, str(self.folder / f"{case}-merged"), str(data)])
        for how, answer in zip([*runs, "exported"], found):
            with self.subTest(adapter=how):
                self.check_adapter(kind, f"{case}, {how}", answer)
        print(f"  {case}: the merged model's logits differ by {merged:.1e}")
        self.assertTrue(merged <= LOGITS.get(kind, TRAINED), merged)

    def test_what_is_not_an_adapters_stays_and_is_not_saved(self):
        self.make("llama")
        self.train("llama", "run", "{type: lora, rank: 4, targets: [q_proj, v_proj]}")
        latest = self.folder / "outputs/run/latest"
        self.assertFalse((latest / "model.safetensors").exists())
        config = json.loads((latest / "adapter_config.json").read_text())
        self.assertEqual((config["r"], config["lora_alpha"], config["task_type"]),
                         (4, 8, "CAUSAL_LM"))
        self.assertEqual(sorted(config["target_modules"]), ["q_proj", "v_proj"])
        self.assertEqual(config["base_model_name_or_path"], str(self.folder / "llama"))
        self.assertEqual(self.run_trainx("ckpt", "verify", "outputs/run").returncode, 0)

    def test_new_adapters_are_drawn_as_in_peft(self):
        self.make("llama")
        self.train("llama", "new", "{type: lora, rank: 16}", "optimizer.lr=0",
                   "run.duration=1 steps")
        found, = self.ask(["drawn", str(self.folder / "outputs/new/latest")])
        self.assertTrue(found["b_is_zero"])
        self.assertEqual(len(found["a"]), 4 * 7)
        for name, (low, high, mean, deviation, rank, width) in found["a"].items():
            bound = width ** -0.5
            self.assertTrue(-bound <= low < -0.95 * bound and 0.95 * bound < high <= bound, name)
            # six standard errors of a uniform's mean and of its deviation
            numbers = rank * width
            self.assertLess(abs(mean), 6 * bound / math.sqrt(3 * numbers))
            self.assertLess(abs(deviation / (bound / math.sqrt(3)) - 1), 6 / math.sqrt(5 * numbers))

    def test_new_embeddings_and_tokens_begin_as_in_peft(self):
        self.make("llama_tied")
        self.train("llama_tied", "new", "{type: lora, rank: 16, targets: [embed_tokens]}",
                   "optimizer.lr=0", "run.duration=1 steps")
        found, = self.ask(["drawn", str(self.folder / "outputs/new/latest")])
        self.assertTrue(found["b_is_zero"])
        (low, high, mean, deviation, *dims), = found["a"].values()
        numbers = math.prod(dims)
        self.assertEqual(numbers, 64 * 16)
        self.assertTrue(-6 < low < -2 and 2 < high < 6)
        self.assertLess(abs(mean), 6 / math.sqrt(numbers))
        self.assertLess(abs(deviation - 1), 6 / math.sqrt(2 * numbers))
        # Rows of tokens begin as the embedding's, also as those of a vocabulary that grows.
        for run, more in (("rows", []), ("zero3", ["parallel.world_size=2", "parallel.mode=zero3",
                                                   "batch.micro_batch_size=4"])):
            self.train("llama_tied", run, "{type: lora, rank: 2, targets: [q_proj], "
                       "trainable_token_indices: [9, 4]}", "optimizer.lr=0",
                       "run.duration=1 steps", *more)
            rows = saved_tensors.in_folder(self.folder / f"outputs/{run}/latest", "adapter")
            table = saved_tensors.in_folder(self.folder / "llama_tied", "model")
            name = "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta"
            _, shape, trained = rows[name]
            _, (_, width), all_rows = table["model.embed_tokens.weight"]
            self.assertEqual(shape, [2, width])
            self.assertEqual(trained, b"".join(
                all_rows[4 * width * token:4 * width * (token + 1)] for token in (9, 4)))

    def test_a_tied_head_and_its_embedding_train_as_one_if_it_is_asked(self):
        self.make("llama_tied")
        self.train("llama_tied", "tied", "{type: lora, rank: 2, targets: [q_proj], "
                   "modules_to_save: [embed_tokens], ensure_weight_tying: true}",
                   "run.duration=2 steps")
        config = json.loads((self.folder / "outputs/tied/latest/adapter_config.json").read_text())
        self.assertTrue(config["ensure_weight_tying"])
        self.run_trainx("export", "outputs/tied", "merged", "--merge")
        self.assertTrue(json.loads((self.folder / "merged/config.json").read_text())
                        ["tie_word_embeddings"])

    def test_a_run_goes_on_to_the_bit(self):
        self.make("llama")
        for more in ("", ", targets: [embed_tokens, q_proj]",
                     ", targets: [q_proj], trainable_token_indices: {embed_tokens: [5, 4, 20], "
                     "lm_head: [5]}"):
            with self.subTest(more):
                self.check_going_on("{type: lora, rank: 4, dropout: 0.3%s}" % more)

    def check_going_on(self, adapter):
        for run in ("whole", "parts", "recomputed", "plain"):
            shutil.rmtree(self.folder / "outputs" / run, ignore_errors=True)
        whole = self.train("llama", "whole", adapter)
        self.train("llama", "parts", adapter, "run.duration=9 steps", "batch.micro_batch_size=2")
        recomputed = self.train("llama", "recomputed", adapter, "batch.micro_batch_size=2",
                                "memory.activation_checkpoint=full")
        parts = self.train("llama", "parts", adapter, "batch.micro_batch_size=2")
        self.assertEqual(parts, recomputed)
        self.check_losses("dropout of another cut", parts, whole)
        files = [self.folder / f"outputs/{run}/latest/adapter_model.safetensors"
                 for run in ("parts", "recomputed")]
        self.assertEqual(*map(sha256, files))
        plain = self.train("llama", "plain", adapter.replace("dropout: 0.3", "dropout: 0"))
        self.assertNotEqual(plain[3:], whole[3:])

    def test_commands_take_an_adapters_folder(self):
        for case, more in (("llama", ""), ("llama_tied", ", targets: [q_proj, embed_tokens]"),
                           ("llama_tied", ", targets: [q_proj], modules_to_save: [lm_head]"),
                           ("gpt2", ", targets: [c_attn], modules_to_save: [lm_head]"),
                           ("gpt2", ", targets: [c_attn], trainable_token_indices: [5, 6, 7, 9]")):
            with self.subTest(case=case, more=more):
                for made in (case, "outputs", "merged"):
                    shutil.rmtree(self.folder / made, ignore_errors=True)
                self.check_commands(case, "{type: lora, rank: 4, alpha: 64%s}" % more)

    def check_commands(self, case, adapter):
        self.make(case)
        held_out = self.folder / "held_out.bin"
        write_tokens(held_out, [self.token() for _ in range(8 * 32 + 1)])
        self.train(case, "run", adapter, "optimizer.lr=3e-2", f"data.eval={held_out}",
                   "eval.every=20 steps")
        self.run_trainx("export", "outputs/run", "merged", "--merge")
        texts = [json.loads(self.run_trainx(
            "generate", folder, "--prompt", "5 6 7", "--tokenizer", "none", "--temperature", "0",
            "--max-tokens", 20, "--ignore-eos", "--device", "cpu", "--json").stdout)["ids"]
            for folder in ("outputs/run", "outputs/run/latest", "merged", case)]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertNotEqual(texts[0], texts[3])
        told = json.loads(self.run_trainx("eval", "outputs/run", "--json").stdout.splitlines()[-1])
        lines = (self.folder / "outputs/run/metrics.jsonl").read_text().splitlines()
        evaluated = [m["eval_loss"] for m in map(json.loads, lines) if "eval_loss" in m][-1]
        self.assertAlmostEqual(told["eval_loss"], evaluated, places=5)

    def test_texts_during_training_are_the_adapted_models(self):
        for case, more in (("llama", ""), ("llama_tied", ", targets: [embed_tokens]"),
                           ("llama_tied", ", targets: [q_proj, v_proj], "
                            "trainable_token_indices: [5, 6, 7, 8, 9, 10]")):
            with self.subTest(case=case, more=more):
                for made in (case, "outputs", "merged"):
                    shutil.rmtree(self.folder / made, ignore_errors=True)
                self.check_texts(case, "{type: lora, rank: 4%s}" % more)

    def check_texts(self, case, adapter):
        self.make(case)
        text = ("optimizer.lr=3e-2", "generate.every=10 steps", "generate.prompt=5 6 7")
        self.train(case, "run", adapter, *text)
        lines = (self.folder / "outputs/run/samples.jsonl").read_text().splitlines()
        first, last = [json.loads(line)["text"] for line in lines]
        self.assertNotEqual(first, last)
        # the same weights, merged into a model that is trained no further
        self.run_trainx("export", "outputs/run", "merged", "--merge")
        for name, folder in (("merged", "merged"), ("adapted", "outputs/run/latest")):
            recipe = RECIPE.format(folder=self.folder / folder, tokens=self.tokens, adapter="{}")
            self.run_trainx("train",
                            self.recipe(recipe.replace("  adapter: {}\n", ""), f"{name}.yaml"),
                            f"run.name={name}", *text, "optimizer.lr=0", "run.duration=10 steps")
            line, = (self.folder / f"outputs/{name}/samples.jsonl").read_text().splitlines()
            self.assertEqual(json.loads(line)["text"], last, name)

    def test_what_cannot_be_is_refused(self):
        self.make("llama")
        for adapter, code, word in (
                ("{rank: 8}", 78, "model.adapter.type"),
                ("{type: lora, targets: [q_prj]}", 78, "q_proj"),
                ("{type: lora, targets: [q_proj, nothing]}", 78, "nothing"),
                ("{type: lora, rank: 0}", 78, "model.adapter.rank"),
                ("{type: lora, init_from: nowhere}", 66, "nowhere"),
                ("{type: lora, trainable_token_indices: []}", 78, "trainable_token_indices"),
                ("{type: lora, trainable_token_indices: [-1]}", 78, "trainable_token_indices"),
                ("{type: lora, trainable_token_indices: [128]}", 78, "128"),
                ("{type: lora, trainable_token_indices: {embed_tokns: [1]}}", 78, "embed_tokens"),
                ("{type: lora, trainable_token_indices: [1], modules_to_save: [embed_tokens]}", 78,
                 "modules_to_save"),
                ("{type: dora}", 78, "lora")):
            with self.subTest(adapter=adapter):
                done = self.train("llama", "refused", adapter, expect=code)
                self.assertIn(word, done.stderr)
        self.train("llama", "run", "{type: lora, rank: 2}", "run.duration=1 steps")
        done = self.train("outputs/run/latest", "refused", "{type: lora, rank: 2}", expect=78)
        self.assertIn("model.adapter.init_from", done.stderr)


if __name__ == "__main__":
    main()
