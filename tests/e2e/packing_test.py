"""Documents packed into rows as a user does it: the losses of documents one by one, in fewer
rows. tests/equality/packing.yaml cuts, recomputes and spreads packed rows."""
import json
import math
import struct

from packed_documents import LENGTH, PackedDocuments
from support import main


class Packing(PackedDocuments):
    def test_packed_documents_have_the_losses_of_documents_one_by_one(self):
        rows = self.prepare()
        count = 24
        self.train("alone", batch=count, micro=4, more=f", pad_to: [{LENGTH}]")
        alone = self.numbers("alone")
        packed = rows[""]["rows"]
        self.train("packed", batch=packed)
        whole = self.numbers("packed")
        self.close(whole, alone, 1e-5)
        self.assertLess(whole[5], whole[0], "it learns")
        answer = json.loads(
            self.run_trainx("eval", "outputs/packed", "--json").stdout.splitlines()[-1])
        self.close([answer["eval_loss"]] * 7, [whole[-1]] * 7, 1e-6)

    def test_packed_rows_have_less_padding(self):
        length = 256
        mixed = [
            min(length, 2 + int(-math.log(1 - (k + 0.5) / 64) * length / 4)) for k in range(64)
        ]  # as documents() draws them, but always the same: what is gained hangs on them
        self.random.shuffle(mixed)
        self.write("alone", self.documents_of(mixed))
        about = self.pack("alone", "packed", length)
        self.assertLess(about["padding_share"] + 0.3, about["padding_share_unpacked"])

    def test_mistakes(self):
        self.prepare()
        for train, settings, code, says in (("packed", [
                "data.packed=false"
        ], 65, "packed.jsonl:1: "), ("packed", [
                "run.device=gpu", "model.attention=flash", "precision=bf16"
        ], 78, "model.attention"), ("packed", ["data.truncate=true"], 78, "truncate"), ("packed", [
                "data.sequence_length=32"
        ], 65, "data.sequence_length")):
            with self.subTest(str(settings)):
                done = self.train(train, *settings, batch=2, expect=code)
                self.assertIn(says, done.stderr)
        (self.folder /
         "packed.jsonl").write_text('{"input_ids": [1, 2], "document_lengths": [3]}\n')
        self.assertRegex(
            self.train("packed", batch=1, expect=65).stderr,
            r"packed.jsonl:1: .*\bdocument_lengths\b.*\b3\b.*\b2\b")
        for option in (["--end-of-text", "x"], ["--tokenizer", "tok"]):
            refused = self.run_trainx("data", "pack", "alone.jsonl", "--sequence-length", 64,
                                      "--out", "x.jsonl", *option, expect=2).stderr
            self.assertIn(option[0], refused)
            self.assertIn("alone.jsonl", refused)
        self.assertIn(
            "--end-of-text",
            self.run_trainx("data", "inspect", "alone.jsonl", "--end-of-text", "x",
                            expect=2).stderr)
        (self.folder / "m.bin").write_bytes(struct.pack(
            "<5H", 1, 2, 3, 4, 5))  # Megatron's: documents of 2 and 3 tokens
        (self.folder /
         "m.idx").write_bytes(b"MMIDIDX\0\0" +
                              struct.pack("<QBQQ2i2q3q", 1, 8, 2, 3, 2, 3, 0, 4, 0, 1, 2))
        for command in (["pack", "m.bin", "--sequence-length", 64, "--out",
                         "x.jsonl"], ["inspect", "m.bin"]):
            self.assertIn("m.bin",
                          self.run_trainx("data", *command, "--end-of-text", "x", expect=2).stderr)
        self.assertIn(
            "2 documents",
            self.run_trainx("data", "pack", "m.bin", "--sequence-length", 64, "--out",
                            "x.jsonl").stderr)
        self.assertIn(
            "--sequence-length",
            self.run_trainx("data", "pack", "alone.jsonl", "--out", "x.jsonl", expect=2).stderr)
        self.assertIn(
            "packed_eval.jsonl",
            self.run_trainx("data", "pack", "alone.jsonl", "--out", "packed_eval.jsonl",
                            "--sequence-length", 64, expect=73).stderr)


if __name__ == "__main__":
    main()
