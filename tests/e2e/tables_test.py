"""Parquet and Arrow files: the same tokens as JSON lines of the same rows."""
import json
import pathlib
import subprocess
import unittest

from support import ROOT, TRAINX, main
from tokenizer_cases import PYTHON, Tokenizers

LIBRARY = pathlib.Path(TRAINX).parent / "libtrainx_tables.so"
ARROW = ROOT / ".deps/arrow"
WRITER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import pyarrow as pa, pyarrow.parquet as pq
for job in json.load(sys.stdin):
    table = pa.Table.from_pylist(job["rows"])
    if job.get("json"):                     # a list of objects as datasets writes those of different keys
        texts = pa.array([[json.dumps(item) for item in row[job["json"]]] for row in job["rows"]], pa.list_(pa.string()))
        column = pa.ListArray.from_arrays(texts.offsets, pa.ExtensionArray.from_storage(pa.json_(), texts.values))
        table = pa.table({job["json"]: column})
    if job.get("type"):
        table = table.set_column(0, table.column_names[0], table.column(0).cast(eval(job["type"])))
    if job["path"].endswith(".parquet"):
        pq.write_table(table, job["path"], row_group_size=job.get("group", 1000), compression=job.get("compression", "snappy"))
    else:
        kind = pa.ipc.new_stream if job.get("stream") else pa.ipc.new_file
        with pa.OSFile(job["path"], "wb") as out, kind(out, table.schema) as writer:
            writer.write_table(table, max_chunksize=job.get("group", 1000))
"""


def can_write():
    return PYTHON and LIBRARY.exists() and subprocess.run(
        [PYTHON, "-c", WRITER, ARROW], input=b"[]", capture_output=True).returncode == 0


class Tables(Tokenizers):
    def write(self, *jobs):
        done = subprocess.run([PYTHON, "-c", WRITER, ARROW], input=json.dumps(
            [{**job, "path": str(self.folder / job["path"])} for job in jobs]).encode(),
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def lines(self, path, rows):
        (self.folder / path).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def tokens(self, path, out, *more, expect=0):
        return self.run_trainx("data", "tokenize", path, "--tokenizer",
                               pathlib.Path(self.made.name) / "gpt2", "--out", out, *more,
                               expect=expect)

    @unittest.skipUnless(can_write(),
                         "needs trainx after scripts/setup, and a python that has its pyarrow")
    def test_json_columns_and_saved_folders(self):
        rows = [{
            "messages": [{"role": "user", "content": f"hi {i}"}, {
                "role": "assistant", "content": "yes", **({"note": "a\nb"} if i % 2 else {})
            }]
        } for i in range(5)]
        (self.folder / "saved").mkdir()
        self.write({"path": "m.parquet", "rows": rows, "json": "messages"}, {
            "path": "saved/data-00000-of-00001.arrow", "rows": rows, "json": "messages",
            "stream": True
        })
        for name in ("state.json", "dataset_info.json"):
            (self.folder / "saved" / name).write_text("{}")
        self.lines("rows.jsonl", rows)
        template = ("--chat-template", ROOT / "configs/smoke/questions.jinja")
        self.tokens("rows.jsonl", "want.jsonl", *template)
        for source in ("m.parquet", "saved", "saved/data-00000-of-00001.arrow"):
            with self.subTest(source):
                out = source.replace("/", "_") + ".jsonl"
                self.tokens(source, out, *template)
                self.assertEqual((self.folder / out).read_text(),
                                 (self.folder / "want.jsonl").read_text())

    @unittest.skipUnless(can_write(),
                         "needs trainx after scripts/setup, and a python that has its pyarrow")
    def test_equal_to_lines(self):
        texts = [
            "a \"quoted\" text\n\twith lines", "\u65e5\u672c\u8a9e \U0001f600", "", "x" * 3000
        ] * 70
        kinds = {
            "texts": ([
                {"text": t, "label": i % 3, "other": i / 7} for i, t in enumerate(texts) if t
            ], ()), "pairs": ([
                {"question": t + "?", "answer": f" {i}", "id": i} for i, t in enumerate(texts)
            ], ("--prompt", "question", "--completion", "answer")),
            "ids": ([{"input_ids": [i % 7, 5, 9], "labels": [-100, 5, 9]} for i in range(500)], ())
        }
        for kind, (rows, more) in kinds.items():
            self.write(
                *({"path": f"{kind}_{c}.parquet", "rows": rows, "group": 37, "compression": c}
                  for c in ("snappy", "zstd", "gzip", "none")),
                {"path": f"{kind}.arrow", "rows": rows, "group": 37},
                {"path": f"{kind}_stream.arrow", "rows": rows, "group": 37, "stream": True})
            self.lines(f"{kind}.jsonl", rows)
            self.tokens(f"{kind}.jsonl", f"{kind}.out.jsonl", *more)
            want = (self.folder / f"{kind}.out.jsonl").read_bytes()
            for path in sorted(self.folder.glob(f"{kind}*.parquet")) + sorted(
                    self.folder.glob(f"{kind}*.arrow")):
                with self.subTest(path.name):
                    self.tokens(path.name, f"{path.name}.out.jsonl", *more)
                    self.assertEqual((self.folder / f"{path.name}.out.jsonl").read_bytes(), want)
        self.tokens("texts.jsonl", "a.bin")
        self.tokens("texts_zstd.parquet", "b.bin")
        self.assertEqual((self.folder / "a.bin").read_bytes(), (self.folder / "b.bin").read_bytes())

    @unittest.skipUnless(can_write(),
                         "needs trainx after scripts/setup, and a python that has its pyarrow")
    def test_conversations(self):
        rows = [{
            "messages": [{"role": "user", "content": f"q {i}"},
                         {"role": "assistant", "content": f"a {i}"}]
        } for i in range(50)]
        (self.folder / "t.jinja").write_text(
            "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
        )
        self.write({"path": "c.parquet", "rows": rows, "group": 7})
        self.lines("c.jsonl", rows)
        for name in ("c.parquet", "c.jsonl"):
            self.tokens(name, f"{name}.out.jsonl", "--chat-template", "t.jinja")
        self.assertEqual((self.folder / "c.parquet.out.jsonl").read_bytes(),
                         (self.folder / "c.jsonl.out.jsonl").read_bytes())

    @unittest.skipUnless(can_write(),
                         "needs trainx after scripts/setup, and a python that has its pyarrow")
    def test_refusals(self):
        rows = [{"text": f"row {i}"} for i in range(20)]
        self.write({"path": "ok.parquet", "rows": rows, "group": 6},
                   {"path": "null.parquet", "rows": [*rows, {"text": None}], "group": 6},
                   {"path": "names.parquet", "rows": [{"body": "a"}]},
                   {"path": "bytes.parquet", "rows": rows, "type": "pa.binary()"},
                   {"path": "ids.parquet", "rows": [{"input_ids": [1]}, {"input_ids": [1, 10**6]}]})
        for name, says in (("null.parquet", "null.parquet:21: "), ("names.parquet", "'body'"),
                           ("bytes.parquet", "binary"), ("ids.parquet", "ids.parquet:2: ")):
            with self.subTest(name):
                self.assertIn(says, self.tokens(name, "out.jsonl", expect=65).stderr)
        whole = (self.folder / "ok.parquet").read_bytes()
        for i in range(60):                       # damaged anywhere: read, or refused in a sentence
            damaged = bytearray(whole)
            for _ in range(self.random.randrange(1, 4)):
                damaged[self.random.randrange(4, len(damaged) - 4)] = self.random.randrange(256)
            (self.folder / f"{i}.parquet").write_bytes(damaged)
            done = self.tokens(f"{i}.parquet", f"{i}.jsonl", expect=None)
            self.assertIn(done.returncode, (0, 65), f"seed {self.seed}, {i}: {done.stderr}")
        (self.folder / "cut.parquet").write_bytes(whole[:-40] + b"PAR1")
        self.tokens("cut.parquet", "cut.jsonl", expect=65)

    def test_without_arrow(self):
        """A trainx that has no library beside it says what to do."""
        (self.folder / "bin").mkdir()
        alone = self.folder / "bin/trainx"
        alone.write_bytes(pathlib.Path(TRAINX).read_bytes())
        alone.chmod(0o755)
        (self.folder / "a.parquet").write_bytes(b"PAR1" + bytes(200) + b"PAR1")
        (self.folder / "tok").mkdir()
        (self.folder / "tok/tokenizer.json").write_text(
            json.dumps({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]}}))
        done = subprocess.run(
            [alone, "data", "tokenize", "a.parquet", "--tokenizer", "tok", "--out", "a.jsonl"],
            cwd=self.folder, capture_output=True, text=True, env=self.environment())
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn("scripts/setup", done.stderr)


if __name__ == "__main__":
    main()
