"""Folders that a run starts from and that lack something: the head, tokens of the vocabulary."""
import json
import struct

import saved_tensors
from saved_tensors import tensors
from support import Trainx, main, write_tokens

HAD, TOKENS, WIDTH = 64, 72, 32
RECIPE = """
run: {{name: {name}, duration: 1 step, device: cpu}}
model: {{{model}}}
data: {{type: tokens, train: tokens.bin, sequence_length: 16}}
batch: {{global_batch_size: 2}}
precision: fp32
optimizer: {{type: sgd, lr: 0}}
metrics: {{every: 1 step}}
"""
SIZES = {
    "llama": "num_layers: 1, num_heads: 4, num_key_value_heads: 2, hidden_size: 32, "
             "intermediate_size: 48, max_positions: 32",
    "gpt2": "num_layers: 1, num_heads: 4, hidden_size: 32, max_positions: 32",
}
EMBEDDING = {"llama": "model.embed_tokens.weight", "gpt2": "wte.weight"}
HEAD = "lm_head.weight"


def floats(tensor):
    kind, shape, data = tensor
    assert kind == "F32", kind
    return shape, struct.unpack(f"<{len(data) // 4}f", data)


def change(path, to):
    """Writes a safetensors file again, as of another tool: `to` makes its tensors, by name, of those
    that it has."""
    saved_tensors.write(path, to(tensors(path)))
    (path.parent / "manifest.json").unlink(missing_ok=True)


class StartFolders(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        write_tokens(self.folder / "tokens.bin",
                     [self.random.randrange(HAD) for _ in range(100)])

    def train(self, name, model, **how):
        return self.run_trainx("train", self.recipe(RECIPE.format(name=name, model=model),
                                                    f"{name}.yaml"), **how)

    def made(self, kind):
        self.train(kind, f"type: {kind}, options: {{{SIZES[kind]}, vocab_size: {HAD}}}")
        self.run_trainx("export", f"outputs/{kind}", f"{kind}-folder")
        return self.folder / f"{kind}-folder"

    def check_rows(self, before, after):
        """Those that were there are; the new ones stand around their mean, each elsewhere."""
        shape, old = floats(before)
        self.assertEqual(shape, [HAD, WIDTH])
        shape, new = floats(after)
        self.assertEqual(shape, [TOKENS, WIDTH])
        self.assertTrue(new[:len(old)] == old)
        self.assertEqual(len({new[r * WIDTH:(r + 1) * WIDTH] for r in range(HAD, TOKENS)}),
                         TOKENS - HAD)
        for c in range(WIDTH):
            column, added = old[c::WIDTH], new[len(old) + c::WIDTH]
            mean = sum(column) / HAD
            deviation = (sum((x - mean) ** 2 for x in column) / HAD) ** 0.5
            for x in added:                     # noise of 3.2e-5 of the deviation, and rounding
                self.assertLess(abs(x - mean), 3e-4 * deviation)

    def test_a_vocabulary_grows(self):
        for kind in SIZES:
            with self.subTest(kind=kind):
                folder, run = self.made(kind), f"{kind}-grown"
                model = f"init_from: {folder}, options: {{vocab_size: {TOKENS}}}"
                self.train(run, model)
                latest = self.folder / "outputs" / run / "latest"
                before = tensors(folder / "model.safetensors")
                after = tensors(latest / "model.safetensors")
                self.assertEqual(list(before), list(after))
                for name, tensor in before.items():
                    if name in (EMBEDDING[kind], HEAD):
                        self.check_rows(tensor, after[name])
                    else:
                        self.assertTrue(tensor == after[name], name)
                config = json.loads((latest / "config.json").read_text())
                self.assertEqual(config["vocab_size"], TOKENS)
                self.train(f"{run}-again", model)            # the seed draws the rows
                again = self.folder / "outputs" / f"{run}-again" / "latest/model.safetensors"
                self.assertTrue(tensors(again) == after)
                fewer = RECIPE.format(name="fewer", model=f"init_from: {folder}, "
                                                          f"options: {{vocab_size: {HAD - 1}}}")
                self.refused("train", self.recipe(fewer), key="model.options.vocab_size")

    def test_a_decoder_without_its_head_gets_a_new_one(self):
        """With the names of the whole model, and with those of the base class."""
        folder = self.made("llama")
        weights = folder / "model.safetensors"
        config = json.loads((folder / "config.json").read_text()) | {"tie_word_embeddings": False}
        (folder / "config.json").write_text(json.dumps(config))
        change(weights, dict)
        want = tensors(weights)
        self.assertFalse(HEAD in want)
        for run in ("whole", "base"):
            done = self.train(run, f"init_from: {folder}")
            self.assertRegex(done.stderr, rf"warning.*{HEAD}")
            after = tensors(self.folder / "outputs" / run / "latest/model.safetensors")
            _, head = floats(after.pop(HEAD))
            self.assertTrue(after == want)
            self.assertGreater(max(map(abs, head)), 0)
            self.refused("generate", folder, "--prompt", "1", "--tokenizer", "none", code=65,
                         names=(HEAD, "model.init_from"))
            change(weights, lambda had: {n.removeprefix("model."): t for n, t in had.items()})

    def test_constant_buffers_are_passed_over_whatever_their_type(self):
        byte, number = bytes(4), bytes(16)
        buffers = {
            "gpt2": {"h.0.attn.bias": ("BOOL", [1, 1, 2, 2], byte),
                     "transformer.h.0.attn.masked_bias": ("F32", [], bytes(4))},
            "llama": {"model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", [4], number),
                      "model.rotary_emb.original_inv_freq": ("F64", [2], number),
                      "model.causal_mask": ("U8", [2, 2], byte),
                      "model.embed.position_ids": ("I64", [1, 2], number)}}
        for kind, more in buffers.items():
            folder = self.made(kind)
            weights = folder / "model.safetensors"
            own = tensors(weights)
            self.train(f"{kind}-plain", f"init_from: {folder}")
            change(weights, lambda had, more=more: had | more)
            self.train(f"{kind}-more", f"init_from: {folder}")
            losses = [self.metrics(f"{kind}-{of}")[0]["loss"] for of in ("plain", "more")]
            self.assertEqual(*losses)
            self.run_trainx("export", folder, f"{kind}-again")
            again = tensors(self.folder / f"{kind}-again" / "model.safetensors")
            self.assertEqual({name: again[name] for name in own}, own)

    def test_other_tensors_are_named(self):
        folder = self.made("llama")
        weights = folder / "model.safetensors"
        own = tensors(weights)
        weight = "model.layers.0.self_attn.q_proj.weight"
        others = {
            "optimizer.state.exp_avg": ("F32", [2], bytes(8)),
            f"{weight}_scale": ("F32", [1], bytes(4)),
            f"{weight}_scale_inv": ("F8_E8M0", [4], bytes(4)),
            "model.layers.0.mlp.gate.mask": ("BOOL", [4], bytes(4)),
            weight: ("I8", own[weight][1], bytes(len(own[weight][2]) // 4))}
        for name, tensor in others.items():
            with self.subTest(tensor=name):
                change(weights, lambda _, name=name, tensor=tensor: own | {name: tensor})
                text = RECIPE.format(name="other", model=f"init_from: {folder}")
                self.refused("train", self.recipe(text), code=65, names=(weights, name))
                if tensor[0] != "F32":      # which the header says
                    self.refused("validate", self.recipe(text), code=65, names=(weights, name))
                    self.refused("export", folder, "refused", code=65, names=(weights, name))


if __name__ == "__main__":
    main()
