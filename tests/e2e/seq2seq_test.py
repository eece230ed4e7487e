"""Encoder-decoders from Hugging Face folders: the losses of transformers + torch.optim however the
global batch is cut, padded and recomputed, and folders that transformers loads with the logits of
its own training, and its greedy text.

TRAINX_SEQ2SEQ=t5,t5_*    only these cases of tiny_seq2seq.py
"""
import concurrent.futures
import fnmatch
import json
import math
import os
import subprocess
import unittest

import reference
import saved_tensors
import tiny_seq2seq
from families_test import JOBS, TOLERANCE, clear_tokens
from support import ROOT, Trainx, main, sampled

RECIPE = """\
run: {{name: pairs, duration: 20 steps, device: cpu}}
model: {{init_from: {folder}}}
data: {{type: jsonl, train: {data}, sequence_length: 32, target_length: 20, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
# A T5's scores are not scaled: rounding was seen to move logits by 2e-4 of the largest.
TRAINED = 5e-4
PROMPTS = (3, 17, 30)       # tokens of texts to read
TEXTS = 3                   # of each length: the one with the most clear tokens is compared
WRITTEN = 20                # tokens to write
# tests/equality/seq2seq.yaml holds that other cuts have the same losses.
RUNS = ((2, "none", "[7, 20, 32]"), (1, "none", "[32]"), (2, "full", "auto"))
# What a folder keeps although these short texts may not show it.
SEEN_LATER = {"architectures", "model_type", "max_position_embeddings", "decoder_start_token_id",
              "scale_decoder_outputs", "feed_forward_proj"}


def chosen():
    """The cases that TRAINX_SEQ2SEQ names; without it all."""
    asked = [p for p in os.environ.get("TRAINX_SEQ2SEQ", "").split(",") if p]
    for pattern in asked:
        if not fnmatch.filter(tiny_seq2seq.names(), pattern):
            raise SystemExit(f"TRAINX_SEQ2SEQ: there is no case {pattern}")
    return [n for n in tiny_seq2seq.names()
            if not asked or any(fnmatch.fnmatch(n, p) for p in asked)]


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Seq2Seq(Trainx):
    forks = True

    def reference(self, *commands):
        return reference.ask(self, "reference_seq2seq.py", "all", asks=commands)

    def setUp(self):
        super().setUp()
        self.model_seed = int(os.environ.get("TRAINX_TEST_SEED", 3))
        self.random.seed(self.model_seed)
        self.data = self.folder / "pairs.jsonl"
        self.data.write_text("".join(json.dumps(self.pair()) + "\n" for _ in range(20 * 8)))
        print(f"  models and data of seed {self.model_seed}")

    def token(self):
        first, end = tiny_seq2seq.FIRST_TOKEN + 3, tiny_seq2seq.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def pair(self):
        """Some of the targets are not to be learnt."""
        source, target = self.random.randint(1, 32), self.random.randint(1, 20)
        return {"input_ids": [self.token() for _ in range(source)],
                "labels": [self.token() if i == 0 or self.random.random() < 0.9 else -100
                           for i in range(target)]}

    def train(self, case, micro, recomputed, pad_to, *more, name=None):
        run = name or f"{case}-{micro}-{recomputed}"
        recipe = RECIPE.format(folder=self.folder / case, data=self.data)
        self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}",
                        f"batch.micro_batch_size={micro}", f"data.pad_to={pad_to}",
                        f"memory.activation_checkpoint={recomputed}", *more)
        return [m["loss"] for m in self.metrics(run)]

    def check_losses(self, name, got, want):
        self.assertEqual(len(got), len(want))
        self.assertTrue(all(map(math.isfinite, got)), got)
        worst = max(abs(g - w) / w for g, w in zip(got, want))
        print(f"  {name}: largest relative difference of losses {worst:.1e}")
        self.assertLess(worst, TOLERANCE)

    def check_folder(self, name, found, tolerance):
        self.assertEqual((found["missing"], found["unexpected"]), ([], []))
        self.assertEqual(found["type"], found["wanted_type"])
        share = found["difference"] / found["largest"]
        print(f"  {name}: largest difference of logits {share:.1e} of the largest")
        self.assertTrue(share <= tolerance, found)                 # NaN is not
        if found["config"]:
            print(f"  {name}: config.json differs in {found['config']}")
        self.assertFalse(SEEN_LATER & found["config"].keys(), found["config"])

    @sampled
    def test_a_family_is_that_of_transformers(self):
        for case in self.drawn(chosen(), few=2):
            with self.subTest(case=case):
                self.check_case(case)

    def check_text(self, folder, ids, want):
        count = len(want["gaps"])
        got = json.loads(self.run_trainx(
            "generate", folder, "--prompt", " ".join(map(str, ids)), "--tokenizer", "none",
            "--temperature", "0", "--max-tokens", count, "--ignore-eos", "--device", "cpu",
            "--json").stdout)
        clear = clear_tokens(want)
        self.assertEqual(len(got["ids"]), 1 + count)
        self.assertEqual(got["prompt_tokens"], len(ids))
        self.assertEqual(got["ids"][:1 + clear], want["ids"][:1 + clear])
        self.assertGreater(clear, count // 2)
        print(f"  {folder}: {clear} of {count} greedy tokens of {len(ids)} are equal")

    def check_case(self, case):
        folder, trained, talking = (self.folder / f"{case}{end}"
                                    for end in ("", "-trained", "-talking"))
        asked = [{"ids": [self.token() for _ in range(size)], "new": WRITTEN}
                 for size in PROMPTS for _ in range(TEXTS)]
        _, _, want, texts = self.reference(
            ["make", case, str(folder), self.model_seed],
            ["make", case, str(talking), self.model_seed, "talks"],
            ["train", str(folder), str(self.data), str(trained)],
            ["generate", str(talking), asked])
        self.assertTrue(all(map(math.isfinite, want["losses"])), want)
        self.assertLess(want["losses"][-1], want["losses"][0])
        self.run_trainx("export", case, f"{case}-start")            # without it nothing is
        kept = [("at its start", folder, f"{case}-start", 0)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            hows = ((8, "none", "auto"), self.random.choice(RUNS))
            runs = {how: pool.submit(self.train, case, *how) for how in hows}
            for how, run in runs.items():
                with self.subTest(micro_batch_size=how[0], recomputed=how[1]):
                    got, name = run.result(), "-".join(map(str, (case, *how[:2])))
                    kept.append((name, trained, f"outputs/{name}/latest", TRAINED))
                    self.check_losses(name, got, want["losses"])
        found = self.reference(*(["compare", str(of), str(self.folder / out), str(self.data)]
                                 for _, of, out, _ in kept))
        for (name, _, _, tolerance), answer in zip(kept, found):
            with self.subTest(logits=name):
                self.check_folder(f"{case}, {name}", answer, tolerance)
        for size in PROMPTS:
            question, text = max((pair for pair in zip(asked, texts) if len(pair[0]["ids"]) == size),
                                 key=lambda pair: clear_tokens(pair[1]))
            with self.subTest(prompt_tokens=size):
                self.check_text(talking.name, question["ids"], text)

    @sampled
    def test_a_search_with_beams_finds_what_that_of_transformers_finds(self):
        ends, ended, count = list(range(7, 128, 6)), 0, 0
        asked = [{"ids": [self.token() for _ in range(size)], "new": new, "ends": e, "beams": beams,
                  "penalty": penalty}
                 for size, new, beams in ((3, 20, 2), (17, 12, 5), (30, 1, 3))
                 for penalty, e in ((1.0, []), (1.0, ends), (2.5, ends), (-1.0, ends))]
        every = len(asked)
        asked = self.drawn(asked, few=6)[:]
        for case in ("t5", "mbart_scaled"):
            folder = self.folder / f"{case}-talking"
            _, want = self.reference(["make", case, str(folder), self.model_seed, "talks"],
                                     ["beams", str(folder), asked])
            (folder / "generation_config.json").unlink()    # it would name other ends
            config = folder / "config.json"
            plain = json.loads(config.read_text())
            for question, ids in zip(asked, want, strict=True):
                with self.subTest(case=case, **question):
                    ends = {"eos_token_id": question["ends"] or None, "forced_eos_token_id": None}
                    config.write_text(json.dumps(plain | ends))
                    got = json.loads(self.run_trainx(
                        "generate", folder.name, "--prompt", " ".join(map(str, question["ids"])),
                        "--tokenizer", "none", "--max-tokens", question["new"], "--device", "cpu",
                        "--beams", question["beams"], "--length-penalty", question["penalty"],
                        *([] if question["ends"] else ["--ignore-eos"]), "--json").stdout)
                    self.assertEqual(got["ids"], ids)
                    ended += got["ended_by"] == "end_of_text"
                    count += 1
        if len(asked) == every:
            self.assertGreater(ended, 4)
            self.assertLess(ended, count - 4)

    @sampled
    def test_first_and_last_tokens_that_a_folder_forces_are_those_of_transformers(self):
        """By generation_config.json, else by config.json; the last of those that are asked for."""
        sources = [[self.token() for _ in range(size)] for size in (3, 17)]
        for case in ("bart", "mbart"):
            folder = self.folder / f"{case}-forced"
            self.reference(["make", case, str(folder), self.model_seed, "talks"])
            plain, own = (json.loads((folder / name).read_text())
                          for name in ("config.json", "generation_config.json"))
            self.assertEqual(plain.pop("forced_eos_token_id"), 2)
            no_end = {"eos_token_id": None}     # else it may end before the last
            asked, every = [], 0
            for forced in ({}, {"forced_eos_token_id": 2}, {"forced_bos_token_id": 11},
                           {"forced_bos_token_id": 11, "forced_eos_token_id": [9, 8]},
                           {"force_bos_token_to_be_generated": True, "bos_token_id": 4}):
                of_kind = []
                for files in (
                        {"config.json": plain | no_end | forced, "generation_config.json": None},
                        {"config.json": plain | no_end | {"forced_eos_token_id": 7},
                         "generation_config.json": own | {"forced_eos_token_id": None} | no_end
                                                   | forced}):
                    # the older key is one of config.json
                    if "force_bos_token_to_be_generated" in (files["generation_config.json"] or {}):
                        continue
                    for new, beams in ((1, 1), (2, 1), (6, 1), (5, 3)):
                        if beams > 1 and isinstance(forced.get("forced_eos_token_id"), list):
                            continue
                        of_kind.append({"ids": self.random.choice(sources), "new": new,
                                        "beams": beams, "files": files})
                every += len(of_kind)
                asked += self.drawn(of_kind, few=2)[:]
            want = self.reference(["forced", str(folder), asked])[0]
            seen = set()
            for question, ids in zip(asked, want, strict=True):
                with self.subTest(case=case, **question):
                    for name, contents in question["files"].items():
                        (folder / name).unlink(missing_ok=True)
                        if contents is not None:
                            (folder / name).write_text(json.dumps(contents))
                    how = (["--temperature", "0"] if question["beams"] == 1 else
                           ["--beams", question["beams"]])
                    got = json.loads(self.run_trainx(
                        "generate", folder.name, "--prompt", " ".join(map(str, question["ids"])),
                        "--tokenizer", "none", "--max-tokens", question["new"], "--device", "cpu",
                        *how, "--json").stdout)
                    self.assertEqual(got["ids"], ids)
                    seen.update((ids[1], ids[-1]))
            if len(asked) == every:
                self.assertLessEqual({2, 4, 8, 11}, seen)
            (folder / "config.json").write_text(json.dumps(plain | {"forced_bos_token_id": 999}))
            (folder / "generation_config.json").unlink(missing_ok=True)
            said = self.sentence_of(65, "generate", folder.name, "--prompt", "5", "--tokenizer",
                                    "none", "--max-tokens", "2", "--device", "cpu")
            self.assertIn("forced_bos_token_id", said)

    def make(self, case):
        self.reference(["make", case, str(self.folder / case), self.model_seed])

    def test_a_run_that_goes_on_has_the_losses_of_one(self):
        case = self.random.choice(["t5_gated", "mbart"])
        self.make(case)
        held_out = ("eval.every=10 steps", "data.held_out=16 samples",
                    "model={init_from: %s, type: %s, options: {dropout: 0.1}}"
                    % (self.folder / case, tiny_seq2seq.CASES[case][0]))
        whole = self.train(case, 2, "none", "auto", *held_out, name="whole")
        self.train(case, 2, "none", "auto", *held_out, "run.duration=10 steps", name="parts")
        parts = self.train(case, 8, "full", "auto", *held_out, name="parts")
        self.check_losses(f"{case} resumed", parts, whole)
        evals = [[m["eval_loss"] for m in map(json.loads, (
            self.folder / "outputs" / run / "metrics.jsonl").read_text().splitlines())
            if "eval_loss" in m] for run in ("whole", "parts")]
        self.assertEqual(len(evals[0]), 2, evals)
        self.check_losses(f"{case} held out", evals[1], evals[0])
        self.assertNotEqual(whole, self.train(case, 2, "none", "auto", *held_out, "run.seed=7",
                                              name="other"))

    def test_the_embedding_is_the_head_that_a_folder_lacks(self):
        """As for transformers, whatever config.json says of ties."""
        self.make("t5_gated")
        weights = self.folder / "t5_gated/model.safetensors"
        tensors = saved_tensors.tensors(weights)
        del tensors["lm_head.weight"]
        saved_tensors.write(weights, tensors)
        want = self.reference(["first_loss", str(weights.parent), str(self.data),
                               str(weights.parent / "config.json")])[0]
        got = self.train("t5_gated", 8, "none", "auto", "run.duration=1 step", name="lacks")
        self.check_losses("t5_gated without its head", got, want)
        saved = saved_tensors.tensors(self.folder / "outputs/lacks/latest/model.safetensors")
        self.assertNotIn("lm_head.weight", saved)
        self.run_trainx("generate", "outputs/lacks", "--prompt", "5 6", "--tokenizer", "none",
                        "--max-tokens", "2")

    def test_a_tiny_model_learns_to_answer(self):
        """configs/smoke/t5.yaml: from text to tokens, a model of new weights, and answers."""
        for part, count, *more in (("train", 4000), ("held_out", 100, "--held-out")):
            subprocess.run([ROOT / "scripts/make_text", "answers", f"answers/{part}.jsonl",
                            "--count", str(count), *more], cwd=self.folder, check=True)
            self.run_trainx("data", "tokenize", f"answers/{part}.jsonl",
                            "--tokenizer", "data/answers_bpe", "--out", f"data/answers_{part}.jsonl",
                            *(["--train-vocab", 512] if part == "train" else []))
        self.run_trainx("train", ROOT / "configs/smoke/t5.yaml")
        pairs = [json.loads(line) for line in
                 (self.folder / "answers/held_out.jsonl").read_text().splitlines()[:5]]
        answers = [self.run_trainx("generate", "outputs/smoke-t5", "--prompt", pair["text"],
                                   "--max-tokens", 20, "--temperature", 0).stdout.strip()
                   for pair in pairs]
        right = sum(a == pair["target"] for a, pair in zip(answers, pairs))
        print(f"  {right} of {len(pairs)} answers about facts that it was never told are right")
        self.assertGreaterEqual(right, 4, list(zip(answers, pairs)))

    def sentence_of(self, code, *words):
        """The one sentence that a command ends with."""
        said = self.run_trainx(*words, expect=code).stderr.strip().splitlines()
        self.assertEqual(len(said), 1, said)
        return said[0]

    def test_what_is_not_computed_is_refused(self):
        self.make("t5")
        recipe = self.recipe(RECIPE.format(folder=self.folder / "t5", data=self.data))
        for setting, key in (
                ("data.target_length=5", "target_length"),
                ("data.sequence_length=5", "sequence_length"),
                ("data.packed=true", "packed"),
                ("run.device=gpu", "gpu"),
                ("model.attention=math", "model.attention")):
            with self.subTest(setting=setting):
                done = self.run_trainx("train", recipe, setting, expect=None)
                self.assertIn(done.returncode, (65, 69, 78), done.stderr)
                self.assertIn(key, done.stderr)
        said = self.sentence_of(78, "train", recipe, "model={type: t5, options: {task: causal_lm}}",
                            "data={type: jsonl, train: %s}" % self.data)
        self.assertIn("model.options.task", said)
        lines = self.data.read_text().splitlines()
        for line, word in (('{"input_ids": [5, 6]}', "labels"),
                           ('{"input_ids": [5, 6], "labels": []}', "labels"),
                           ('{"input_ids": [5, 6], "labels": [128]}', "vocabulary"),
                           ('{"input_ids": [], "labels": [5]}', "input_ids")):
            with self.subTest(line=line):
                self.data.write_text("\n".join([*lines[:3], line, *lines[3:]]) + "\n")
                said = self.sentence_of(65, "train", recipe)
                self.assertIn(f"{self.data}:4", said)
                self.assertIn(word, said)
        config = self.folder / "t5/config.json"
        own = json.loads(config.read_text())
        self.data.write_text("\n".join(lines) + "\n")
        for change in ({"relative_attention_num_buckets": 3}, {"relative_attention_max_distance": 4},
                       {"dense_act_fn": "what"}, {"decoder_start_token_id": None},
                       {"decoder_start_token_id": 128}, {"is_decoder": True},
                       {"model_type": "t6"}):
            with self.subTest(change=change):
                config.write_text(json.dumps(own | change))
                self.assertIn(next(iter(change)), self.sentence_of(65, "train", recipe))
        config.write_text(json.dumps(own))


if __name__ == "__main__":
    main()
