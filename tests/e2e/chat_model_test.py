"""A chat model from a folder of transformers and back: its template, tools in the conversations, text, and held-out loss."""
import json
import unittest

import reference
from support import Trainx, main

PYTHON = reference.PYTHON
CLEAR = 1e-4        # a logit that far above the next one is not chosen by rounding
PORTS, TIMES = ["Sund", "Holm", "Vik", "Nes"], {"Sund": "noon", "Holm": "one", "Vik": "two", "Nes": "six"}
TOOLS = [{"type": "function", "function": {"name": "ferry", "description": "Time of a ferry", "parameters": {
    "type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}}]
RECIPE = """\
run: {name: chat, duration: 2 epochs, deterministic: true}
model: {init_from: qwen}
data: {type: jsonl, train: train_ids.jsonl, eval: held_out_ids.jsonl, sequence_length: 1024}
batch: {global_batch_size: 4, micro_batch_size: 2}
optimizer: {type: adamw, lr: 3e-3}
schedule: {type: cosine, warmup: 2 steps}
eval: {every: 1 epochs}
metrics: {every: 1 steps}
"""


@unittest.skipUnless(PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)")
class ChatModel(Trainx):
    forks = True

    def reference(self, *args, asks=None):
        return reference.ask(self, "reference_chat_model.py", *args, asks=asks)

    def chat(self):
        return self.chat_of(self.random.choice(PORTS), self.random.random() < 0.5,
                            self.random.random() < 0.7)

    @staticmethod
    def chat_of(port, system, calls):
        messages = [{"role": "system", "content": "You are a harbour clerk."}] if system else []
        messages.append({"role": "user", "content": f"When does the ferry leave {port}?"})
        if calls:
            call = {"type": "function", "function": {"name": "ferry", "arguments": {"port": port}}}
            messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                         {"role": "tool", "name": "ferry", "content": json.dumps({"leaves": TIMES[port]})}]
        return {"messages": [*messages, {"role": "assistant", "content": f"At {TIMES[port]}."}], "tools": TOOLS}

    def write(self, name, chats):
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
        self.run_trainx("data", "tokenize", f"{name}.jsonl", "--tokenizer", "qwen", "--out", f"{name}_ids.jsonl")
        return [json.loads(line) for line in (self.folder / f"{name}_ids.jsonl").read_text().splitlines()]

    def test_a_chat_model_goes_on_in_transformers(self):
        self.reference("make", self.folder / "qwen")
        # Each is another chat, and four call a tool: what is asked of some must hold of any draw.
        kinds = [(port, system) for port in PORTS for system in (True, False)]
        held_out = [self.chat_of(*kind, calls)
                    for calls, count in ((True, 4), (False, 2))
                    for kind in self.random.sample(kinds, count)]
        self.write("train", [self.chat() for _ in range(48)])
        lines = self.write("held_out", held_out)
        self.run_trainx("train", self.recipe(RECIPE))
        latest = self.folder / "outputs/chat/latest"
        losses = [m["loss"] for m in self.metrics("chat")]
        self.assertEqual(len(losses), 24)
        self.assertLess(losses[-1], losses[0] / 2)

        # The chat renders as the folder that it came from renders it, and as trainx tokenized it.
        want = self.reference("chats", self.folder / "qwen", asks=held_out)
        got = self.reference("chats", latest, asks=held_out)
        self.assertEqual(got, want)
        self.assertEqual([line["input_ids"] for line in lines], [one["ids"] for one in got])
        self.assertTrue(all("<tools>" in one["text"] for one in got))
        self.assertTrue(any("<tool_response>" in one["text"] for one in got))

        answers = self.reference("greedy", latest, asks=[{"text": one["prompt"], "new": 24} for one in got])
        compared = 0
        for one, answer in zip(got, answers, strict=True):
            if min(answer["gaps"]) < CLEAR:
                continue
            text = self.run_trainx("generate", "outputs/chat", "--prompt", one["prompt"], "--temperature", "0", "--max-tokens", "24", "--json").stdout
            said = json.loads(text)["text"]
            self.assertEqual(said[-len(answer["text"]):] if answer["text"] else "", answer["text"])
            compared += 1
        self.assertGreater(compared, 3)

        evaluated = json.loads(self.run_trainx("eval", "outputs/chat", "--json").stdout.splitlines()[-1])
        loss = self.reference("loss", latest, self.folder / "held_out_ids.jsonl")["loss"]
        print(f"  held-out loss {evaluated['eval_loss']:.7f}, of transformers {loss:.7f}")
        self.assertAlmostEqual(evaluated["eval_loss"], loss, delta=1e-6)


if __name__ == "__main__":
    main()
