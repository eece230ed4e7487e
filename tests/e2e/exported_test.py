"""Models of transformers that scripts/trainx-export wrote: the losses of transformers + torch.optim
however the batch is cut, whatever is recomputed and among ranks; checkpoints that transformers
loads; folders that are damaged."""
import hashlib
import json
import math
import shutil
import unittest

import reference
from exported_models import NEEDS_REFERENCE, ExportedModels
from reference_exported_data import BATCH, LENGTH, VOCABULARY
from saved_tensors import tensors
from support import main, sampled, sha256, write_tokens


@unittest.skipUnless(reference.PYTHON, NEEDS_REFERENCE)
class Exported(ExportedModels):
    def test_a_decoder_trains_as_transformers_does(self):
        self.check_case("gpt2")

    def test_an_encoder_with_padded_rows_trains_as_transformers_does(self):
        self.check_case("bert", "fp32")

    @sampled
    def test_decoders_of_other_families_train_as_transformers_does(self):
        """Rotary positions and groups of heads; one that trainx has not; local attention; numbers
        without dims."""
        for case in self.drawn(("llama", "falcon", "gpt_neo", "apertus")):
            with self.subTest(case):
                self.begin_case()
                self.check_case(case, "fp32")
                if case == "apertus":
                    saved = tensors(self.weights("whole"))
                    self.assertEqual(saved["model.layers.0.mlp.act_fn.beta"][1], [])

    @sampled
    def test_encoders_with_decoders_train_as_transformers_does(self):
        """Relative positions; targets that wrap around; positions that are not trained."""
        for number, case in enumerate(self.drawn(("t5", "mbart", "marian"))):
            with self.subTest(case):
                self.begin_case()
                recipe = self.check_case(case, "fp32")
                if number == 0:
                    self.check_lengths(recipe)
                if case == "marian":
                    self.check_fixed("model.encoder.embed_positions.weight",
                                     "model.shared.weight")

    def begin_case(self):
        for name in ("model", "out", "outputs", "trained"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def check_fixed(self, fixed, trained):
        config = json.loads((self.folder / "out/config.json").read_text())
        self.assertIn(fixed, config["trainx_export"]["fixed"])
        before, after = tensors(self.folder / "out/model.safetensors"), tensors(self.weights("cut"))
        self.assertEqual(after[fixed], before[fixed])
        self.assertNotEqual(after[trained], before[trained])

    def check_lengths(self, recipe):
        """Targets longer than the export's, and an export that says wrong things of targets."""
        config = self.folder / "out/config.json"
        sound = config.read_text()
        most = json.loads(sound)["trainx_export"]["max_target_positions"]
        self.refused("train", recipe, f"data.target_length={most + 1}", code=78)
        self.refused("train", recipe, "model.options.task=masked_lm", code=78)
        (self.folder / "out/export.json").unlink()
        for key, value in (("target_shift", None), ("target_shift", {"start": 0, "pad": 0}),
                           ("target_shift", {"start": VOCABULARY, "pad": 0, "wraps": False}),
                           ("max_target_positions", 0), ("fixed", ["a", 1])):
            said = json.loads(sound)
            said["trainx_export"][key] = value
            config.write_text(json.dumps(said))
            self.refused("train", recipe, code=65)
        config.write_text(sound)
        self.train(recipe, "sound")

    def test_passes_change_no_bit_and_neither_does_a_stop(self):
        recipe = self.make("gpt2_dropout", "fp32")
        cut = ["batch.micro_batch_size=4"]
        want = self.train(recipe, "whole", *cut)
        for name, *how in (("recomputed", "memory.activation_checkpoint=full"),
                           ("states", "memory.optimizer_offload.where=cpu")):
            self.assertEqual(self.train(recipe, name, *cut, *how), want, name)
            self.assertEqual(sha256(self.weights(name)), sha256(self.weights("whole")), name)
        self.train(recipe, "parts", *cut, "run.duration=2 steps")
        shutil.move(self.folder / "out", self.folder / "elsewhere")     # the checkpoint is enough
        self.train(recipe, "parts", *cut)
        self.assertEqual([m["loss"] for m in self.metrics("parts")], want)
        self.assertEqual(sha256(self.weights("parts")), sha256(self.weights("whole")))
        self.assertNotEqual(self.train(recipe, "again", *cut,
                                       "model.init_from=elsewhere", "run.seed=9"), want)

    @sampled
    def test_ranks_compute_the_same(self):
        recipe = self.make("gpt2")
        want = self.train(recipe, "one", "batch.micro_batch_size=4")
        for mode in self.drawn(("zero3", "ddp", "zero1", "zero2")):
            got = self.train(recipe, mode, "batch.micro_batch_size=4", f"parallel.mode={mode}",
                             "parallel.world_size=2")
            self.check_losses(got, want)

    def test_bf16_has_a_graph_of_its_own(self):
        recipe = self.make("gpt2")
        want = self.train(recipe, "fp32")
        got = self.train(recipe, "bf16", "precision.compute=bf16")
        self.assertNotEqual(got, want)
        for g, w in zip(got, want):
            self.assertLess(abs(g - w), 0.02 * w)

    def test_a_checkpoint_is_trained_on_evaluated_and_exported(self):
        recipe = self.make("gpt2")
        first = self.train(recipe, "first")
        again = self.train(recipe, "again", "model.init_from=outputs/first/latest")
        self.assertLess(again[0], first[0])
        self.run_trainx("export", "outputs/first", "written")
        self.check_folder("outputs/first/latest", "written", 0)
        self.assertEqual(self.train(recipe, "third", "model.init_from=written"), again)
        write_tokens(self.folder / "other.bin", [self.random.randrange(3, VOCABULARY)
                                                 for _ in range(BATCH * LENGTH + 1)])
        answer = json.loads(self.run_trainx("--json", "eval", "outputs/first",
                                            "data.eval=other.bin").stdout.splitlines()[-1])
        self.assertTrue(math.isfinite(answer["eval_loss"]))

    def test_a_gradient_that_the_exporter_loses_is_refused(self):
        _, found = self.references(("make", "gpt2_short", "model"),
                                   ("export", "model", "out", "causal_lm", "fp32", "wrong"))
        self.assertIn("transformer.h.1.mlp", found.get("refused", ""))
        self.assertFalse((self.folder / "out").exists())

    def test_damaged_folders_are_refused(self):
        recipe = self.make("gpt2")
        graph, config = self.folder / "out/graph.json", self.folder / "out/config.json"
        sound = {p: p.read_bytes() for p in (self.folder / "out").iterdir()}

        def rehash():
            """Hashes of what is there, as a forger would write them."""
            found = hashlib.sha256(graph.read_bytes()).hexdigest()
            said = json.loads(config.read_text())
            said["trainx_export"]["sha256"]["graph.json"] = found
            config.write_text(json.dumps(said))
            (self.folder / "out/export.json").unlink(missing_ok=True)

        def changed(change):
            said = json.loads(sound[graph])
            change(said)
            graph.write_text(json.dumps(said))
            rehash()

        def node(said, k=0):
            return said["graphs"]["f32"]["modules"][1]["nodes"][k]

        def unknown_format():
            said = json.loads(sound[config])
            said["trainx_export"]["format"] = 2
            config.write_text(json.dumps(said))

        weights = self.folder / "out/model.safetensors"
        cases = {
            "hash": lambda: graph.write_bytes(sound[graph] + b" "),
            "weights": lambda: weights.write_bytes(sound[weights][:-1] + b"\1"),
            "version": unknown_format,
            "cut": lambda: (graph.write_bytes(sound[graph][:-9]), rehash()),
            "deep": lambda: (graph.write_bytes(b"[" * 100000), rehash()),
            "operator": lambda: changed(lambda g: node(g).update(op="aten::no_such")),
            "file": lambda: changed(lambda g: node(g).update(op="aten::from_file")),
            "in place": lambda: changed(lambda g: node(g).update(op="aten::add_")),
            "argument": lambda: changed(lambda g: node(g)["args"].append("text")),
            "order": lambda: changed(lambda g: node(g)["args"].__setitem__(0, {"value": 10**6})),
            "parameter": lambda: changed(lambda g: g["parameters"].clear()),
            "gone": (self.folder / "out/constants.safetensors").unlink}
        for name, damage in cases.items():
            with self.subTest(name):
                damage()
                code = 66 if name == "gone" else 65
                self.refused("train", recipe, f"run.name={name.replace(' ', '')}", code=code)
                for path, text in sound.items():
                    path.write_bytes(text)
        with self.subTest("shape"):
            changed(lambda g: g["parameters"].__setitem__("transformer.wpe.weight", [7, 32]))
            self.assertIn(self.run_trainx("train", recipe, expect=None).returncode, (65, 78))
        for path, text in sound.items():
            path.write_bytes(text)
        self.refused("train", recipe, "data.sequence_length=49", code=78)
        self.refused("train", recipe, "data.target_length=8", code=78)
        self.refused("train", recipe, "model.options.task=masked_lm", code=78)
        self.refused("train", recipe, "model.init_from=model", code=78)
        self.refused("train", recipe, "model.init_from=nowhere", code=66)
        self.train(recipe, "sound")


if __name__ == "__main__":
    main()
