"""Questions with answers: prompt and completion, and conversations by the tokenizer's own chat
template. Tokens and what is learned are those of transformers."""
import json
import os
import pathlib
import subprocess

import chat_templates
import jinja_cases
import random_text
import reference
from support import ROOT, TRAINX, main
from tokenizer_cases import NEEDS_PYTHON, PYTHON, Tokenizers

WORDS = [w for w in random_text.WORDS if not w.startswith("<")]


def phrase(random):
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, 9)))


class Instructions(Tokenizers):
    def reference(self, command, folder, job=None):
        return reference.ask(self, "reference_chat.py", command, *folder, asks=job)

    def made_folder(self, kind):
        folder = self.folder / kind
        self.reference("make", [pathlib.Path(self.made.name) / kind / "tokenizer.json", folder])
        return folder

    def template(self, folder, text):
        (folder / "chat_template.jinja").write_text(text)

    def conversations(self, count, system=True):
        return [chat_templates.conversation(self.random, phrase, system) for _ in range(count)]

    @NEEDS_PYTHON
    def test_templates(self):
        for kind in ("llama3", "gpt2", "llama2"):
            folder = self.made_folder(kind)
            jobs = [{
                "name": name, "template": text,
                "conversations": self.conversations(40, system=name != "gemma")
            } for name, text in {**chat_templates.PLAIN, **chat_templates.MARKED_ONES}.items()]
            for job, wanted in zip(jobs, self.reference("conversations", [folder], jobs),
                                   strict=True):
                with self.subTest(f"{kind} {job['name']}"):
                    self.template(folder, job["template"])
                    ours = self.trainx_lines(
                        folder,
                        [json.dumps({"messages": messages}) for messages in job["conversations"]])
                    for messages, o, w in zip(job["conversations"], ours, wanted, strict=True):
                        self.assertEqual(o, w, messages)
                        self.assertTrue(any(label >= 0 for label in w["labels"]))

    @NEEDS_PYTHON
    def test_the_first_token_of_a_word_has_its_tag(self):
        samples = []
        for _ in range(200):
            words = [self.random.choice([phrase(self.random).split()[0],
                                         "".join(phrase(self.random).split()[:3])])
                     for _ in range(self.random.randrange(1, 12))]
            samples.append([words, [self.random.choice([-100, 0, 1, 7]) for _ in words]])
        for kind in ("bert", "roberta", "xlmr"):
            with self.subTest(kind):
                folder = pathlib.Path(self.made.name) / kind
                wanted = self.reference("words", [folder], samples)
                ours = self.trainx_lines(
                    folder, [json.dumps({"words": words, "tags": tags}) for words, tags in samples])
                for sample, o, w in zip(samples, ours, wanted, strict=True):
                    self.assertEqual(o, w, sample)
                untagged = sum(label == -100 for w in wanted for label in w["labels"])
                self.assertGreater(untagged, len(samples) * 3)
                renamed = self.trainx_lines(
                    folder, [json.dumps({"tokens": words, "ner_tags": tags})
                             for words, tags in samples],
                    "--words", "tokens", "--tags", "ner_tags")
                self.assertEqual(renamed, ours)

    @NEEDS_PYTHON
    def test_completions(self):
        pairs = [(phrase(self.random) + self.random.choice(["", " ", "\n", "\n\n"]),
                  self.random.choice(["", " ", "\n"]) + phrase(self.random)) for _ in range(200)]
        pairs.append(("C++ ## ไทย", "עברית"))     # a token ends inside the prompt's last letter
        pairs.append(("▁ (x)", "\n🇩🇪"))          # a prompt that decodes to another text
        for kind in ("gpt2", "llama3", "llama2"):
            with self.subTest(kind):
                folder = self.made_folder(kind)
                wanted = self.reference("completions", [folder], pairs)
                ours = self.trainx_lines(
                    folder, [json.dumps({"prompt": p, "completion": c}) for p, c in pairs])
                for pair, o, w in zip(pairs, ours, wanted, strict=True):
                    self.assertEqual(o, w, pair)

    @NEEDS_PYTHON
    def test_template_places(self):
        """chat_template.jinja before tokenizer_config.json; --chat-template before both; of several
        templates the default one."""
        folder = self.made_folder("gpt2")
        line = json.dumps(
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        one = "{% for m in messages %}{{ m.content + 'X' }}{% endfor %}"

        def text():
            ids = self.trainx_lines(folder, [line])[0]["input_ids"]
            return self.trainx_lines(folder, [json.dumps({"input_ids": ids})],
                                     "--decode")[0]["text"]

        (folder / "tokenizer_config.json").write_text(json.dumps(
            {**settings, "chat_template": one}))
        self.assertEqual(text(), "aXbX")
        (folder / "tokenizer_config.json").write_text(
            json.dumps({
                **settings, "chat_template": [{"name": "tool_use", "template": "no"}, {
                    "name": "default", "template": one.replace("X", "Y")
                }]
            }))
        self.assertEqual(text(), "aYbY")
        self.template(folder, one.replace("X", "Z"))
        self.assertEqual(text(), "aZbZ")
        (self.folder / "mine.jinja").write_text(one.replace("'X'", "eos_token"))
        got = self.trainx_lines(folder, [line], "--chat-template", self.folder / "mine.jinja")[0]
        self.assertEqual(len(got["input_ids"]), 4)

    @NEEDS_PYTHON
    def test_training(self):
        """Lines, packed lines, and a run whose loss is that of the answers alone."""
        folder = self.made_folder("gpt2")
        self.template(folder, "{{ raise_exception('not this one') }}")
        more = folder / "additional_chat_templates/rag.jinja"
        more.parent.mkdir()
        more.write_text("for documents")
        (self.folder / "own.jinja").write_text(chat_templates.CHATML)
        (self.folder / "chats.jsonl").write_text("\n".join(
            json.dumps({"messages": m}) for m in self.conversations(30)) + "\n")
        self.run_trainx("data", "tokenize", "chats.jsonl", "--tokenizer", folder, "--chat-template",
                        "own.jinja", "--out", "chats_ids.jsonl")
        rows = [
            json.loads(line) for line in (self.folder / "chats_ids.jsonl").read_text().splitlines()
        ]
        self.assertEqual(len(rows), 30)
        about = json.loads((self.folder / "chats_ids.jsonl.json").read_text())
        self.assertEqual(len(about["chat_template"]), 32)
        learned = sum(label >= 0 for row in rows for label in row["labels"])
        inspected = json.loads(
            self.run_trainx("data", "inspect", "chats_ids.jsonl", "--json").stdout)
        self.assertEqual(inspected["tokens_in_loss"], learned)
        self.run_trainx("data", "pack", "chats_ids.jsonl", "--sequence-length", 256, "--out",
                        "packed.jsonl")
        packed = [
            json.loads(line) for line in (self.folder / "packed.jsonl").read_text().splitlines()
        ]
        self.assertEqual(sum(label >= 0 for row in packed for label in row["labels"]), learned)
        recipe = self.recipe(f"""\
run: {{name: r, duration: 2 steps, deterministic: true}}
model: {{type: gpt2, options: {{num_layers: 1, num_heads: 1, hidden_size: 16, max_positions: 256, vocab_size: {about["vocab_size"]}}}}}
data: {{type: jsonl, packed: true, train: packed.jsonl, sequence_length: 256}}
batch: {{global_batch_size: 2}}
optimizer: {{type: adamw, lr: 1e-3}}
metrics: {{every: 1 steps}}
""")
        self.run_trainx("train", recipe)
        # What the data were written by goes along.
        self.run_trainx("export", "outputs/r", "exported")
        for made in (self.folder / "outputs/r/latest", self.folder / "exported"):
            self.assertEqual((made / "chat_template.jinja").read_text(), chat_templates.CHATML)
            self.assertEqual((made / "additional_chat_templates/rag.jinja").read_text(),
                             "for documents")
        self.run_trainx("ckpt", "verify", "outputs/r")

    @NEEDS_PYTHON
    def test_difficult_templates(self):
        """Templates whose prompts are no prefix of the conversation, and conversations with calls,
        null keys, thoughts and parts: scripts/compare_templates."""
        for name, text in {
                **chat_templates.DIFFICULT, "qwen3": chat_templates.QWEN3,
                "marked": chat_templates.MARKED
        }.items():
            (self.folder / f"{name}.jinja").write_text(text)
        done = subprocess.run([
            PYTHON,
            str(ROOT / "scripts/compare_templates"),
            str(self.folder), "--packages", "none", "--show"
        ], env={**os.environ, "TRAINX": str(TRAINX)}, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"\b70 pairs\b", done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\b0 differ\b", done.stdout + done.stderr)

    @NEEDS_PYTHON
    def test_recorded_texts_are_those_of_jinja2(self):
        recorded = json.loads(jinja_cases.RECORDED.read_text())
        self.assertEqual(recorded["variables"], jinja_cases.VARIABLES)
        script = pathlib.Path(jinja_cases.__file__)
        done = subprocess.run([
            PYTHON, "-c",
            f"import sys, json; sys.path.insert(0, {str(script.parent)!r}); import jinja_cases; print(json.dumps(jinja_cases.rendered()))"
        ], capture_output=True, text=True, check=True)
        for now, before in zip(json.loads(done.stdout), recorded["cases"], strict=True):
            self.assertEqual((now["template"], now.get("text")),
                             (before["template"], before.get("text")))

    def refusal(self, lines, *more, code=65):
        (self.folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
        return self.run_trainx("data", "tokenize", "in.jsonl", "--tokenizer", self.folder / "gpt2",
                               "--out", "out.jsonl", *more, expect=code)

    @NEEDS_PYTHON
    def test_refusals(self):
        folder = self.made_folder("gpt2")
        good = {
            "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        }
        self.assertIn("no chat template", self.refusal([good]).stderr)
        self.assertIn("none.jinja",
                      self.refusal([good], "--chat-template", "none.jinja", code=66).stderr)
        self.template(folder, chat_templates.GEMMA)
        for line, says in (({"messages": []}, "no list"), ({"messages": "a"}, "no list"), ({
                "messages": [{"content": "a"}]
        }, "messages[0] has no role"), ({
                "messages": [{"role": "user", "content": "a"}]
        }, "nothing is learned"), ({
                "messages": [{"role": "system", "content": "s"}, *good["messages"]]
        }, "System role"), ({"prompt": "a", "completion": ""}, "nothing is learned"), ({
                "prompt": 1, "completion": "b"
        }, "not text"), ({"conversations": []}, "conversations"), ({
                "instruction": "a", "output": "b", "history": [["c", "d"]]
        }, "history"), ({**good, "tools": "f"}, "tools"),
                           ({**good, "chat_template_kwargs": {"messages": []}},
                            "chat_template_kwargs"), ({
                                "messages": [{
                                    "role": "user", "content": [{"type": "text", "text": "a"}]
                                }, good["messages"][1]]
                            }, "messages[0].content")):
            with self.subTest(line):
                done = self.refusal([good, line])
                self.assertIn("in.jsonl:2: ", done.stderr)
                self.assertIn(says, done.stderr)
        for text, says in (
            ("{% for m in", "Jinja"), ("{{ messages[", "Jinja"), ("{% generation %}a",
                                                                  "endgeneration"),
            ("{% include 'a' %}", "include"), ("{{ messages | urlize }}", "urlize"),
            ("{% generation %}a{% generation %}b{% endgeneration %}{% endgeneration %}",
             "inside one another"), ("no turns", "no answer"),
            ("{% generation %}{% endgeneration %}",
             "no answer"), ("a" * 300_000, "256 KiB"), ("{{ raise_exception('stop here') }}",
                                                        "stop here")):
            with self.subTest(text[:60]):
                self.template(folder, text)
                self.assertIn(says, self.refusal([good]).stderr)
        (self.folder / "in.jsonl").write_text(json.dumps(good) + "\n")
        done = self.run_trainx("data", "tokenize", "in.jsonl", "--tokenizer", folder, "--out",
                               "out.bin", expect=65)
        self.assertIn(".jsonl", done.stderr)

    @NEEDS_PYTHON
    def test_columns(self):
        """csv and tsv name the same columns; --prompt and --completion name others."""
        folder = self.made_folder("gpt2")
        want = self.trainx_lines(folder, [json.dumps({"prompt": "a b", "completion": " c"})])
        for name, text, more in (("a.csv", "prompt,completion\na b, c\n",
                                  ()), ("a.tsv", "question\tanswer\na b\t c\n",
                                        ("--prompt", "question", "--completion", "answer")),
                                 ("a.jsonl",
                                  json.dumps({"instruction": "a b", "output": " c"}) + "\n",
                                  ("--prompt", "instruction", "--completion", "output"))):
            with self.subTest(name):
                (self.folder / name).write_text(text)
                self.run_trainx("data", "tokenize", name, "--tokenizer", folder, "--out",
                                f"{name}.ids.jsonl", *more)
                self.assertEqual([
                    json.loads(line)
                    for line in (self.folder / f"{name}.ids.jsonl").read_text().splitlines()
                ], want)


if __name__ == "__main__":
    main()
