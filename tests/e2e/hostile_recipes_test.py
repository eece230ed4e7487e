"""Whatever a recipe says, `validate` and `plan` end within bounded CPU time and 500 MB, and never
crash.

Time is bounded by what the largest plain model takes on the same machine: what grows without bounds
is found, a slow
machine is not. Speed itself is for bench/.
"""
import json
import pathlib

from support import Trainx, main

DRAWN = 300
MOST_TIMES = 10  # as long as planning 1,000 plain layers, which is 0.4 to 1 s; the slowest answer takes two to three times as long
MOST_BYTES = 500_000_000
ANSWERS = {0, 2, 65, 66, 69, 71, 78}    # never 1 (a bug), never a signal

HUGE = (10**9, 2**30, 2**31, 2**53, 2**63 - 1, 2**63, 10**30, 1e300, -1, 0, 1, 2, 3, 7, 64, 1000,
        1024, 4096, 16384, 65536, 100_000, 1_000_003, 2**24)
TEXTS = ("", "none", "auto", "null", "../../../../etc/passwd", "a" * 5000, "\t", "é\u0000x",
         "${env:HOME}", "${model.type}", "1e400", "010", "-", "500 steps", "1e15 steps",
         "9007199254740993 tokens", "1e9 epochs", "0.0001 epochs", "10000000 steps", "3 h", "1 B",
         "1 KiB", "600 MiB", "8 GiB", "1e6 TiB")

# Each took seconds, gigabytes or a crash at some time, or stands for a bound of
# lib/plan/limits.hpp.
NASTY = (
    "batch.global_batch_size=1000000000 batch.micro_batch_size=16",
    "batch.global_batch_size=1073741824 batch.micro_batch_size=1",
    "batch={global_batch_size: 1073741824}",
    "batch={global_batch_size: 1000000007}",
    "batch={micro_batch_size: 1073741824, grad_accum_steps: 1073741824} parallel.world_size=65536",
    "batch={global_batch_size: 64000, micro_batch_size: 1}",
    "batch={global_batch_size: 16000, micro_batch_size: 1}",
    "batch={global_batch_size: 4096, micro_batch_size: 1} model={type: gpt2, size: 124m}",
    "batch={global_batch_size: 4096, micro_batch_size: 1} model={type: bert, size: large} precision=bf16",
    "model.options.num_layers=100000",
    "model.options.num_layers=9223372036854775807",
    "model.options.num_layers=1000",
    "model.options.num_layers=1000 batch={global_batch_size: 4096, micro_batch_size: 16}",
    "model.options.num_layers=1000 memory.activation_checkpoint=full memory.recompute_segment=1000",
    "model.options.num_layers=1000 memory.activation_checkpoint=auto memory.budget=2 GiB",
    "model.options.num_layers=1000 memory.fit=true memory.budget=300 MiB",
    "model.options.num_layers=1000 parallel={world_size: 8, mode: zero3}",
    "model.options.num_layers=96 memory.fit=true memory.budget=600 MiB batch={global_batch_size: 64}",
    "model.options.num_layers=48 memory.fit=true memory.budget=400 MiB parallel.world_size=8 batch={global_batch_size: 64}",
    "model.options.num_layers=1024 memory.optimizer_offload=cpu",
    "model.options.hidden_size=9223372036854775807 model.options.num_heads=1",
    "model.options.hidden_size=2147483648 model.options.num_heads=2147483648",
    "model.options.hidden_size=2147483647 model.options.num_heads=1",
    "model.options.vocab_size=9223372036854775807",
    "model.options.max_positions=9223372036854775807",
    "data.sequence_length=16777216 model.options.max_positions=16777216 batch={global_batch_size: 1024, micro_batch_size: 1024}",
    "parallel={world_size: 65536, mode: dp} batch={global_batch_size: 65536, micro_batch_size: 1}",
    "parallel={world_size: 512, mode: dp} batch={global_batch_size: 512, micro_batch_size: 1}",
    "parallel={world_size: 65536, mode: zero1} batch={global_batch_size: 65536, micro_batch_size: 1}",
    "parallel={world_size: 65536, mode: zero3} batch={global_batch_size: 65536, micro_batch_size: 1} optimizer.type=adafactor",
    "parallel={world_size: 65536, mode: zero2} batch={global_batch_size: 65536, micro_batch_size: 1} optimizer.type=adamw_8bit",
    "parallel={world_size: 8, mode: zero3} batch={global_batch_size: 65536, micro_batch_size: 1}",
    "parallel={world_size: 8, mode: zero1} batch={global_batch_size: 32768, micro_batch_size: 1}",
    "run.duration=9007199254740992 steps schedule.type=cosine",
    "run.duration=10000000 steps schedule={type: cosine, warmup: 10000000 steps}",
    "run.duration=9007199254740992 steps schedule={type: constant, warmup: 9007199254740992 steps}",
    "run.duration=1000000000 epochs schedule.type=linear",
    "schedule={type: cosine_restarts, cycles: 9223372036854775807}",
    "data.samples=9007199254740992",
    "optimizer={type: adafactor, options: {relative_step: true}} run.duration=9007199254740992 steps",
    "checkpoint={keep_last: 1048576}",
)


def sections(schema):
    """By dotted key the anyOf of each setting, those of every alternative of a section too."""
    out = {}

    def walk(node, path):
        for name, sub in node.get("properties", {}).items():
            key = f"{path}{name}"
            if not isinstance(sub, dict):
                continue                # `true`: anything, said elsewhere
            if sub.get("type") == "object":
                walk(sub, key + ".")
            else:
                out[key] = sub.get("anyOf", [sub])

    walk(schema, "")
    for name, sub in schema["$defs"].items():
        for section, where in (("data.", "data."), ("model.options.", "model.options."),
                               ("optimizer.options.", "optimizer.options."), ("schedule.",
                                                                              "schedule.")):
            if name.startswith(section):
                walk(sub, where)
    return out


class HostileRecipes(Trainx):
    most_seconds = 60

    def setUp(self):
        super().setUp()
        self.env = self.environment(XDG_CACHE_HOME=str(self.folder))
        plain = self.answers([("plan", self.base(), "model.options.num_layers=1000")] * 2)
        self.most_seconds = MOST_TIMES * max(seconds for _, seconds, _, _ in plain)

    def answers(self, cases):
        """What is wrong with each answer or "", its CPU seconds, resident bytes and exit code."""
        # the machine is safe whatever happens; resident memory is checked
        limits = {"processor_s": 2 * (int(self.most_seconds) + 1), "memory_bytes": 4 * MOST_BYTES}
        answers = self.run_many(cases, env=self.env, **limits)
        return [self.judged(case, answer) for case, answer in zip(cases, answers, strict=True)]

    def judged(self, case, answer):
        code, seconds, taken = answer["code"], answer["processor_s"], answer["memory_bytes"]
        problem = ""
        if code not in ANSWERS:
            problem = f"exit {code}"
        elif seconds > self.most_seconds:
            problem = f"{seconds:.2f} s"
        elif taken > MOST_BYTES:
            problem = f"{taken / 1e6:.0f} MB"
        elif code != 0 and not answer["err"].strip():
            problem = f"exit {code} without a word"
        if not problem:
            return "", seconds, taken, code
        command, recipe, *settings = case
        what = f"{command} {' '.join(settings)} {pathlib.Path(recipe).read_bytes()[:700]!r}"
        return f"{what}\n  {problem}, {seconds:.2f} s, {taken / 1e6:.0f} MB\n  {answer['err'][:600]}", seconds, taken, code

    def hold(self, cases):
        """All cases."""
        results = self.answers(cases)
        codes = {}
        for _, _, _, code in results:
            codes[code] = codes.get(code, 0) + 1
        print(
            f"  {len(results)} answers by exit code {codes}, bound {self.most_seconds:.1f} s; at most {max(r[1] for r in results):.2f} s and {max(r[2] for r in results) / 1e6:.0f} MB"
        )
        problems = [r[0] for r in results if r[0]]
        self.assertFalse(problems,
                         f"{len(problems)} of {len(results)}:\n" + "\n".join(problems[:20]))
        return codes

    def base(self):
        return self.recipe(
            "run: {name: hostile, duration: 100 steps}\nmodel: {type: gpt2, options: {num_layers: 4, num_heads: 4, hidden_size: 128, max_positions: 128}}\n"
            "data: {type: stories, sequence_length: 128}\nbatch: {global_batch_size: 64, micro_batch_size: 16}\n",
            "base.yaml")

    @staticmethod
    def words(line):
        """Settings, of which values hold blanks."""
        out = []
        for word in line.split(" "):
            if "=" in word:
                out.append(word)
            else:
                out[-1] += " " + word
        return out

    def test_sizes_beyond_all_bounds_are_refused_and_large_ones_planned(self):
        recipe = self.base()
        cases = [(command, recipe, *self.words(line))
                 for line in NASTY
                 for command in ("validate", "plan")]
        cases += [("plan", recipe, "--gpu", "h200", *self.words(line)) for line in NASTY]
        self.hold(cases)

    def test_what_real_runs_need_is_planned(self):
        recipe = self.base()
        for line in (
                "model.options.num_layers=1000",
                "batch={global_batch_size: 65536, micro_batch_size: 4}",
                "model={type: gpt2, size: 124m} batch={global_batch_size: 4096, micro_batch_size: 1}"
        ):
            plan = json.loads(
                self.run_trainx("plan", recipe, "--json", "memory.budget=1 TiB",
                                *self.words(line)).stdout)
            self.assertEqual(plan["global_batch_size"],
                             plan["micro_batch_size"] * plan["grad_accum_steps"])
        told = self.run_trainx("validate", recipe, "batch.global_batch_size=1000000000",
                               expect=78).stderr
        self.assertIn("62,500,000", told)

    def drawn(self, k):
        keys = self.keys
        recipe = {}
        for key in self.random.sample(sorted(keys), self.random.randrange(1, 9)):
            at = recipe
            *path, last = key.split(".")
            for part in path:
                at = at.setdefault(part, {})
                if not isinstance(at, dict):
                    break
            if isinstance(at, dict):
                at[last] = self.value(keys[key])
        for section, text in (("model", {"type": self.random.choice(("gpt2", "bert"))}), ("data", {
                "type": "stories"
        }), ("batch", {"global_batch_size": self.random.choice((8, 64, 4096, 10**6))})):
            if self.random.random() < 0.7 and isinstance(recipe.setdefault(section, {}), dict):
                for name, value in text.items():
                    recipe[section].setdefault(name, value)
        return self.recipe(json.dumps(recipe, ensure_ascii=False), f"drawn-{k}.yaml")

    def value(self, kinds):
        kind = self.random.choice(kinds)
        roll = self.random.random()
        if roll < 0.1:
            return self.random.choice(TEXTS)
        if roll < 0.15:
            return self.random.choice(
                ([], {}, [1] * 10_000, list(range(1, 3000)), None, True, {"a": {"b": {"c": 1}}}))
        if "const" in kind:
            return kind["const"]
        if "enum" in kind:
            return self.random.choice(kind["enum"])
        if kind.get("type") in ("integer", "number"):
            edges = [kind[e] for e in ("minimum", "maximum") if e in kind]
            return self.random.choice(
                edges) if edges and self.random.random() < 0.3 else self.random.choice(HUGE)
        if kind.get("type") == "array":
            items = kind["items"].get("anyOf", [kind["items"]])
            one = self.value(items)
            return [one] * self.random.choice(
                (1, 2, 12, 1000, 20_000)) if self.random.random() < 0.5 else sorted(
                    self.random.sample(range(1, 20_000), self.random.choice((1, 5, 64, 500))))
        if kind.get("type") == "boolean":
            return self.random.random() < 0.5
        if kind.get("type") == "null":
            return None
        return self.random.choice(TEXTS)

    def test_a_folder_whose_name_is_too_long(self):
        recipe = self.recipe(json.dumps({"model": {"init_from": "a" * 600},
                                         "data": {"type": "stories"}}), "long.yaml")
        self.assertNotIn(0, self.hold([("validate", recipe), ("plan", recipe)]))

    def test_drawn_recipes(self):
        schema = json.loads(self.run_trainx("schema").stdout)
        self.keys = sections(schema)
        self.assertGreater(len(self.keys), 80)
        recipes = [self.drawn(k) for k in range(DRAWN)]
        codes = self.hold([("validate", r) for r in recipes] + [("plan", r, "--gpu", "h200")
                                                                for r in recipes[::10]])
        self.assertGreater(codes.get(78, 0), 50)         # else nothing hostile was drawn

    def test_large_values_that_are_of_the_right_kind(self):
        """Recipes that the reader accepts: what is drawn reaches the planner."""
        recipes, draw = [], self.random.choice
        for k in range(60):
            lines = [
                f"run: {{name: r{k}, duration: {draw((1, 100, 100_000, 10_000_000))} steps}}",
                f"model: {{type: {draw(('gpt2', 'bert'))}, options: {{num_layers: {draw((1, 12, 24, 96, 200, 1000))}, num_heads: 4, hidden_size: {draw((64, 128, 768, 4096, 12288))}, max_positions: 65536}}}}",
                f"data: {{type: stories, sequence_length: {draw((1, 32, 1024, 65536))}}}",
                f"batch: {{global_batch_size: {8 * draw((1, 7, 720, 5040, 1_000_000, 134_217_728))}"
                + draw(("", ", micro_batch_size: 1", ", micro_batch_size: 8")) + "}",
                f"memory: {{budget: {draw(('auto', '300 MiB', '2 GiB', '80 GiB', '1000 TiB'))}, fit: {draw(('true', 'false'))}, activation_checkpoint: {draw(('none', 'selective', 'full', 'auto'))}}}",
                f"parallel: {{world_size: {draw((1, 1, 2, 8))}}}",
                f"precision: {draw(('fp32', 'bf16', 'fp16'))}",
                f"optimizer: {{type: {draw(('adamw', 'sgd', 'adafactor', 'adamw_8bit', 'lamb'))}}}"
            ]
            recipes.append(self.recipe("\n".join(lines) + "\n", f"kind-{k}.yaml"))
        self.hold([("validate", r) for r in recipes] + [("plan", r, "--gpu", draw(("h100", "h200")))
                                                        for r in recipes[::2]])

    def test_documents_that_are_no_recipes(self):
        deep = 100_000
        aliases = "x-0: &a0 [1]\n" + "".join(f"x-{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n"
                                             for k in range(1, 30))
        texts = {
            "brackets": "[" * deep, "closed": "[" * deep + "]" * deep, "maps": "{a: " * deep,
            "indents": "".join(" " * k + "a:\n" for k in range(2000)),
            "aliases": aliases + "run: *a29\n", "self": "x-a: &a {b: *a}\n",
            "long line": "run: {name: " + "a" * 10_000_000 + "}\n", "many keys": "".join(
                f"x-{k}: {k}\n" for k in range(100_000)), "wrong keys": "".join(
                    f"key{k}: {k}\n" for k in range(20_000)),
            "long list": "data: {pad_to: [" + ", ".join(map(str, range(1, 500_000))) + "]}\n",
            "levels": "memory: {activation_checkpoint: [" + "none, " * 200_000 + "none]}\n",
            "empty": "", "blanks": " " * 10_000_000, "comments": "# x\n" * 2_000_000,
            "tabs": "\t" * 1000, "mixture": "data: {type: mixture, sources: [" +
            "{type: stories, weight: 1}, " * 20_000 + "]}\n", "documents": "---\n" * 100_000,
            "anchors": "".join(f"x-{k}: &b{k} 1\n" for k in range(20_000)),
            "extends": "extends: [" + ", ".join(["base.yaml"] * 20_000) + "]\n",
            "extends itself": "extends: [extends itself.yaml]\n",
            "interpolations": "x-a: a\nrun: {name: " + "${x-a}" * 50_000 + "}\n",
            "number": "run: {seed: " + "9" * 1_000_000 + "}\n", "quotes": "run: {name: '" +
            "''" * 1_000_000 + "}\n", "keys of keys": "? " * 5000 + "a\n"
        }
        self.base()
        recipes = [self.recipe(text, name + ".yaml") for name, text in texts.items()]
        for name, data in (("binary", bytes(range(256)) * 4000), ("zeros", bytes(1_000_000)),
                           ("utf16", "run: {name: a}\n".encode("utf-16")),
                           ("invalid", b"run: {name: \xff\xfe}\n")):
            path = self.folder / (name + ".yaml")
            path.write_bytes(data)
            recipes.append(str(path))
        self.hold([("validate", r) for r in recipes])


if __name__ == "__main__":
    main()
