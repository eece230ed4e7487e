"""Decoder families from Hugging Face folders: the losses of transformers + torch.optim however the
global batch is cut and whatever is recomputed, folders that transformers loads with the logits of
its own training, and its greedy text.

TRAINX_FAMILIES=llama,qwen3*    only these cases of tiny_families.py
"""
import concurrent.futures
import fnmatch
import json
import math
import os
import unittest

import reference
import tiny_families
from support import Trainx, main, sampled, write_tokens

RECIPE = """\
run: {{name: hf, duration: 20 steps, device: cpu}}
model: {{init_from: {folder}}}
data: {{type: tokens, train: {tokens}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
precision: fp32
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, eps: 1e-6, weight_decay: 0.1}}}}
schedule: {{type: constant}}
metrics: {{every: 1 steps}}
"""
RUNS = ((8, "none"), (2, "none"), (1, "none"), (2, "full"))     # micro-batch, what is recomputed
UNCUT = ((8, "none"), (8, "full"))
TOLERANCE = 1e-5            # of losses, and of the largest logit before training
# The rounding of gradients that are all but zero becomes steps, which later layers multiply.
TRAINED = 1e-4
# A logit that far above the next one, as a share of the largest, is not chosen by rounding: logits
# are found up to 3e-5 apart.
CLEAR = 1e-4
# Two logits that 16 bits move may change places: how far, in what transformers moves them by.
ROUNDED = 2
MOVED = 0.5                 # a share of the largest logit that says nothing more of the others
# Where experts are chosen by rounding, any token may follow: one in so many at most.
REROUTED = 8
PROMPTS = 3                 # of each length: the text with the most clear tokens is compared
JOBS = 2                    # runs at a time
# Settings that a folder keeps although these short texts may not show them.
SEEN_LATER = {"rope_parameters", "max_position_embeddings", "sliding_window", "layer_types",
              "tie_word_embeddings", "architectures", "model_type"}


def chosen():
    """The cases that TRAINX_FAMILIES names; without it all."""
    asked = [p for p in os.environ.get("TRAINX_FAMILIES", "").split(",") if p]
    for pattern in asked:
        if not fnmatch.filter(tiny_families.names(), pattern):
            raise SystemExit(f"TRAINX_FAMILIES: there is no case {pattern}; "
                             f"there are {' '.join(tiny_families.names())}")
    return [n for n in tiny_families.names()
            if not asked or any(fnmatch.fnmatch(n, p) for p in asked)]


def prompt_sizes(case):
    """(tokens of a prompt, tokens to add): shorter and longer than the window, within the
    positions. Texts end where the factors of longrope would change."""
    limit = tiny_families.longrope_limit(case)
    if limit is None:
        return (3, 40), (20, 40)
    return ((limit // 2, limit // 2 - 1),)


def clear_tokens(text):
    """How many tokens come before the first one that rounding may have chosen."""
    gaps = text["gaps"]
    return next((i for i, gap in enumerate(gaps) if not gap >= CLEAR), len(gaps))


@unittest.skipUnless(reference.PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and "
                     "transformers (scripts/setup --reference installs one)")
class Families(Trainx):
    def reference(self, *commands):
        return reference.ask(self, "reference_decoder.py", "all", asks=commands)

    def setUp(self):
        super().setUp()
        # One model and one data set: others may have a value beside the kink of relu or of a
        # clip, where rounding decides about a gradient.
        self.model_seed = int(os.environ.get("TRAINX_TEST_SEED", 3))
        self.random.seed(self.model_seed)
        self.tokens = self.folder / "tokens.bin"
        write_tokens(self.tokens, [self.token() for _ in range(20 * 8 * 32 + 1)])
        print(f"  models and data of seed {self.model_seed}")

    def token(self):
        first, end = tiny_families.FIRST_TOKEN, tiny_families.SIZES["vocab_size"]
        return min(end - 1, first + int(self.random.expovariate(0.05)))

    def train(self, case, micro, recomputed):
        run = f"{case}-{micro}-{recomputed}"
        recipe = RECIPE.format(folder=self.folder / case, tokens=self.tokens)
        self.run_trainx("train", self.recipe(recipe, f"{run}.yaml"), f"run.name={run}",
                        f"batch.micro_batch_size={micro}",
                        f"memory.activation_checkpoint={recomputed}")
        return [m["loss"] for m in self.metrics(run)]

    def check_losses(self, name, got, want):
        self.assertEqual(len(got), 20)
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

    def text(self, folder, ids, count, precision):
        got = json.loads(self.run_trainx(
            "generate", folder, "--prompt", " ".join(map(str, ids)), "--tokenizer", "none",
            "--temperature", "0", "--max-tokens", count, "--ignore-eos", "--device", "cpu",
            "--precision", precision, "--json").stdout)["ids"]
        self.assertEqual((got[:len(ids)], len(got)), (ids, len(ids) + count))
        return got

    def check_text(self, folder, ids, want):
        prompt, count, clear = len(ids), len(want["gaps"]), clear_tokens(want)
        got = self.text(folder, ids, count, "fp32")
        self.assertEqual(got[prompt:prompt + clear], want["ids"][prompt:prompt + clear])
        self.assertGreater(clear, count // 2)
        print(f"  {folder}: {clear} of {count} greedy tokens after {prompt} are equal")

    def check_rounded_text(self, folder, ids, count, routers):
        got = self.text(folder, ids, count, "bf16")
        [[found]] = self.reference(["short", str(self.folder / folder),
                                    [{"ids": got, "prompt": len(ids)}]])
        short, rounded = found["short"], found["rounded"]
        print(f"  {folder}, bf16: a logit lies {max(short):.1e} below the highest, where those of "
              f"transformers move by {rounded:.1e}")
        self.assertEqual(len(short), count)
        if not routers:
            self.assertLess(rounded, MOVED)
        other = sum(not gap <= ROUNDED * rounded for gap in short)     # of NaN, too
        self.assertLessEqual(other, count // REROUTED if routers else 0, found)

    @sampled
    def test_a_family_is_that_of_transformers(self):
        for case in self.drawn(chosen(), few=4, more=24):
            with self.subTest(case=case):
                self.check_case(case)

    def check_case(self, case):
        folder, trained, talking = (self.folder / f"{case}{end}"
                                    for end in ("", "-trained", "-talking"))
        asked = [{"ids": [self.token() for _ in range(size)], "new": new}
                 for size, new in prompt_sizes(case) for _ in range(PROMPTS)]
        want = reference.train_clearly(self, case, folder, self.model_seed, str(self.tokens),
                                       str(trained))
        _, texts = self.reference(["make", case, str(talking), self.model_seed, "talks"],
                                  ["generate", str(talking), asked])
        self.assertTrue(all(map(math.isfinite, want["losses"])), want)
        self.assertLess(want["losses"][-1], want["losses"][0])

        self.run_trainx("export", case, f"{case}-start")            # without it nothing is
        kept = [("at its start", folder, f"{case}-start", 0)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            runs = {how: pool.submit(self.train, case, *how)
                    for how in (UNCUT if tiny_families.depends_on_cut(case) else RUNS)}
            for how, run in runs.items():
                with self.subTest(micro_batch_size=how[0], recomputed=how[1]):
                    got, name = run.result(), "-".join(map(str, (case, *how)))
                    kept.append((name, trained, f"outputs/{name}/latest", TRAINED))
                    self.check_losses(name, got, want["losses"])
        with self.subTest(export="of the run"):
            self.run_trainx("export", f"outputs/{case}-8-none", f"{case}-end")
            kept.append(("exported", trained, f"{case}-end", TRAINED))
        found = self.reference(*(["compare", str(of), str(self.folder / out), str(self.tokens)]
                                 for _, of, out, _ in kept))
        for (name, _, _, tolerance), answer in zip(kept, found):
            with self.subTest(logits=name):
                self.check_folder(f"{case}, {name}", answer, tolerance)
        pairs = list(zip(asked, texts))
        for first in range(0, len(pairs), PROMPTS):
            question, text = max(pairs[first:first + PROMPTS], key=lambda p: clear_tokens(p[1]))
            with self.subTest(prompt_tokens=len(question["ids"])):
                self.check_text(talking.name, question["ids"], text)
        with self.subTest(precision="bf16"):
            # of experts that talk rounding chooses others
            self.check_rounded_text(case if want["routers"] else talking.name, asked[-1]["ids"],
                                    asked[-1]["new"], want["routers"])


if __name__ == "__main__":
    main()
