"""The first commands that people type work on any number of ranks: the quickstart, the smoke recipes
and what `trainx init` writes on 1, 2, 3, 4 and 8, the other recipes and those of the docs on 1, 2,
4 and 8, or they are refused with sizes that work; `validate`, `plan` and `show` count ranks as
`train` does."""
import json
import re

import documentation
from support import ROOT, Refusal, Trainx, main

WORLDS = (1, 2, 3, 4, 8)
# The recipe of adapters begins from a folder, in whose place these stand.
IN_PLACE_OF_A_FOLDER = {"chat-lora": [
    "model.init_from=null",
    "model.options={num_layers: 2, num_heads: 2, hidden_size: 32, vocab_size: 512}"]}
BATCH_REFUSED = re.compile(r"global_batch_size|micro_batch_size|grad_accum_steps")


class FirstCommand(Trainx):
    forks = True

    def machine(self, gpus):
        """The environment of a machine with so many GPUs."""
        if not hasattr(self, "nvml"):
            self.nvml = self.fake_nvml()
        return self.environment(LD_LIBRARY_PATH=self.nvml, FAKE_GPUS=str(gpus),
                                CUDA_VISIBLE_DEVICES=",".join(map(str, range(gpus))),
                                XDG_CACHE_HOME=str(self.folder / "cache"))

    def initial_recipes(self):
        names = [entry["name"] for entry in
                 json.loads(self.run_trainx("init", "--list", "--json").stdout)]
        for name in names:
            self.run_trainx("init", name, "--output", f"{name}.yaml")
        self.assertIn("quickstart", names)
        return [self.folder / f"{name}.yaml" for name in names]

    def with_cuda(self):
        """A build without CUDA trains on no GPU, and starts one rank on the CPU."""
        if not hasattr(self, "has_cuda"):
            self.has_cuda = "no CUDA" not in self.run_trainx("version").stdout
        return self.has_cuda

    def planned_ranks(self, done):
        return json.loads(done.stdout)["world_size"]

    def test_recipes_to_begin_with_run_on_every_number_of_ranks(self):
        recipes = [ROOT / "configs" / "quickstart.yaml",
                   *sorted((ROOT / "configs" / "smoke").glob("*.yaml")), *self.initial_recipes()]
        for recipe in recipes:
            for world in WORLDS:
                settings = IN_PLACE_OF_A_FOLDER.get(recipe.stem, [])
                with self.subTest(recipe=recipe.name, world=world):
                    on_cpu = self.run_trainx("plan", recipe, "--world", world, "run.device=cpu",
                                             "--json", *settings)
                    self.assertEqual(self.planned_ranks(on_cpu), world)
                    on_gpu = self.run_trainx("plan", recipe, "--json", *settings,
                                             env=self.machine(world))
                    self.assertEqual(self.planned_ranks(on_gpu), world if self.with_cuda() else 1)

    def test_other_recipes_run_on_powers_of_two_or_name_sizes_that_do(self):
        recipes = [recipe for recipe in sorted((ROOT / "configs").glob("*.yaml"))
                   if self.is_planned(recipe)] + self.recipes_of_docs()
        refused = 0
        for recipe in recipes:
            for world in (1, 2, 4, 8):
                with self.subTest(recipe=recipe.name, world=world):
                    words = ("plan", recipe, "--world", world, "--gpu", "h200", "--json")
                    done = self.run_trainx(*words, expect=None)
                    if done.returncode == 0:
                        continue
                    self.assertEqual(done.returncode, 78, done.stderr)
                    message = Refusal(done).message
                    if not BATCH_REFUSED.search(message):
                        continue        # of what the recipe asks of ranks itself
                    refused += 1
                    (size, *_) = re.findall(r"the nearest that (?:is|are): ([0-9]+)", message)
                    self.run_trainx(*words, f"batch.global_batch_size={size}")
        print(f"  {len(recipes)} recipes; {refused} refused with the nearest size, which works")

    def is_planned(self, recipe):
        """Not one that begins from a folder that is not here."""
        done = self.run_trainx("plan", recipe, "--world", 1, "--gpu", "h200", expect=None)
        return done.returncode == 0

    def recipes_of_docs(self):
        """Those that stand there as files of their own."""
        found = []
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for block in documentation.blocks(page):
                keys = set(re.findall(r"^([a-z_]+):", block.text, re.MULTILINE))
                if block.language != "yaml" or not {"model", "data", "batch"} <= keys:
                    continue
                if block.mark == "skip" or "extends" in keys or "/" in block.rest:
                    continue
                path = self.folder / f"{page.stem}-{block.line}.yaml"
                path.write_text(block.text)
                if self.is_planned(path):
                    found.append(path)
        self.assertGreater(len(found), 5)
        return found

    def test_every_command_counts_ranks_as_train_does(self):
        recipe = self.recipe("run: {name: r, duration: 2 steps}\n"
                             "model: {type: gpt2, options: {num_layers: 1, num_heads: 2, "
                             "hidden_size: 32, max_positions: 32}}\n"
                             "data: {type: stories, sequence_length: 32}\n"
                             "batch: {global_batch_size: 16, micro_batch_size: 16}\n"
                             "optimizer: {type: adamw}\n")
        two, one = self.machine(2), self.machine(1)
        if not self.with_cuda():
            for command in ("validate", "plan", "show"):
                self.run_trainx(command, recipe, env=two)
            return
        for command in ("validate", "plan", "show", "train"):
            told = self.refused(command, recipe, key="batch.global_batch_size", env=two)
            self.assertIn("32", told.message, command)
        for command in ("validate", "plan", "show"):
            self.run_trainx(command, recipe, env=one)
            self.run_trainx(command, recipe, "run.device=cpu", env=two)
            self.run_trainx(command, recipe, "parallel.world_size=1", env=two)
        self.run_trainx("plan", recipe, "--world", 1, env=two)
        self.run_trainx("plan", recipe, "--gpu", "h100", env=two)
        self.assertFalse((self.folder / "outputs").exists())

    def test_the_quickstart_trains_on_three_ranks(self):
        self.run_trainx("train", ROOT / "configs" / "quickstart.yaml", "--nproc-per-node", 3,
                        "run.device=cpu", "run.duration=2 steps", "schedule.warmup=0 steps",
                        "metrics.every=1 steps", "eval.every=2 steps", "eval.batches=1")
        losses = [m["loss"] for m in self.metrics("quickstart") if "loss" in m]
        self.assertEqual(len(losses), 2)


if __name__ == "__main__":
    main()
