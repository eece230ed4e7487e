"""The generator of mutations and who runs them: on lines that are written here, without a build."""
import collections
import dataclasses
import io
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import loaded_scripts
from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "mutation"))
import generator  # noqa: E402
import reaching  # noqa: E402
import running  # noqa: E402


def afters(line, kind=None):
    """What the line may become, in the middle of a function."""
    return {after.strip() for number, of, after in generator.sites(f"int f() {{\n{line}\n}}")
            if number == 2 and kind in (None, of)}


class Sites(unittest.TestCase):
    def test_each_kind_changes_what_it_says(self):
        for line, kind, wanted in (
            ("x = a < b;", "comparison", {"x = a <= b;"}),
            ("x = a == b && c;", "comparison", {"x = a != b && c;"}),
            ("x = a && b;", "logic", {"x = a || b;"}),
            ("x = a + b * c;", "arithmetic", {"x = a - b * c;", "x = a + b + c;"}),
            ("x += a;", "arithmetic", {"x -= a;"}),
            ("x = std::min(a, b);", "bound", {"x = std::max(a, b);"}),
            ("x = std::ranges::any_of(a, f);", "quantifier", {"x = std::ranges::all_of(a, f);"}),
            ("x = std::ranges::none_of(a, f);", "quantifier", {"x = std::ranges::any_of(a, f);"}),
            ("x = true;", "constant", {"x = false;"}),
            ("x = a[2];", "constant", {"x = a[3];", "x = a[1];"}),
            ("x = a[0];", "constant", {"x = a[1];"}),
            ("x = !a.empty();", "negation", {"x = a.empty();"}),
            ("if (a) {", "condition", {"if (!(a)) {"}),
            ("} else if (f(a)) {", "condition", {"} else if (!(f(a))) {"}),
            ("if (a) return b;", "condition", {"if (!(a)) return b;"}),
            ("if (a) continue;", "early return", {";"}),
            ("return;", "early return", {";"}),
        ):
            with self.subTest(line=line):
                self.assertEqual(afters("  " + line, kind), wanted)

    def test_what_is_no_code_stays(self):
        for line in ("// a < b", "/* a < b */", 'x = "a < b";', "x = '1';", "#if A < 1",
                     "template <class T = int, int n = 1>", "static_assert(a < b);",
                     "using A = B<1>;", "enum class E { a = 1 };",
                     "std::vector<std::pair<A, B>> x;", "case 1:", "const T& x = f<0>(y);",
                     "std::get<0>(x);", "T* x;", "f(T&& x);", "x->y();",
                     "constexpr auto x = 1'000;", "if (auto x = f(); x) {", "if (T* x = f()) {"):
            with self.subTest(line=line):
                self.assertEqual(afters(line), set())

    def test_messages_stay(self):
        for line in ('throw UserError(1, "a" + b);', 'log::warn(1, "a");', 'x = "a" + b;',
                     'std::fprintf(stderr, "%d", 1);', 'plan.notes.push_back(f(1));'):
            with self.subTest(line=line):
                self.assertEqual(afters(line), set())
        of_two_lines = ("if (a < b)\n    throw UserError(code,\n"
                        "                    text(1));\nx = a < b;")
        changed = {number for number, *_ in generator.sites(of_two_lines)}
        self.assertEqual(changed, {4})

    def test_texts_and_comments_are_blanked_in_their_place(self):
        text = 'f("a // b", \'"\', 1\'000);  // c "d\nR"(x " y)" /* z\nw */ g(2)'
        blank = generator.blanked(text)
        self.assertEqual(len(blank), len(text))
        self.assertEqual(blank.replace("\0", ""), "f(, , 1'000);  \n \n g(2)")


class Draws(unittest.TestCase):
    FILES = {"b.cpp": "int f() {\n  x = a < b;\n  y = 1 + 2;\n}\n",
             "a.cpp": "int g() {\n  if (a) return 1;\n}\n"}

    def test_a_seed_draws_the_same_and_each_once(self):
        all_of = list(generator.drawn(self.FILES, 7))
        reordered = dict(reversed(self.FILES.items()))
        self.assertEqual(all_of, list(generator.drawn(reordered, 7)))
        self.assertEqual(len(all_of), len(set(all_of)))
        self.assertEqual(len(all_of), sum(len(list(generator.sites(t)))
                                          for t in self.FILES.values()))
        self.assertNotEqual(all_of, list(generator.drawn(self.FILES, 8)))

    def test_a_mutation_changes_its_line_alone(self):
        for m in generator.drawn(self.FILES, 7):
            before, after = self.FILES[m.file], generator.applied(self.FILES[m.file], m)
            changed = [k for k, (a, b) in enumerate(zip(before.split("\n"), after.split("\n"),
                                                        strict=True), 1) if a != b]
            self.assertEqual(changed, [m.line])
            with self.assertRaises(ValueError):
                generator.applied(after, m)

    def test_the_layers_have_enough_of_each_kind(self):
        files = {str(f): f.read_text() for layer in ("graph", "passes", "program", "plan")
                 for f in (ROOT / "lib" / layer).rglob("*.cpp")}
        drawn = itertools.islice(generator.drawn(files, 1), 400)
        kinds = collections.Counter(m.kind for m in drawn)
        self.assertEqual(len(kinds), 9, kinds)
        self.assertGreater(min(kinds.values()), 15, kinds)


class Runs(unittest.TestCase):
    """`judge` says what becomes of a mutant: nothing is built."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="trainx-mutate-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "results.jsonl"
        self.mutations = list(generator.drawn(Draws.FILES, 7))
        self.judged = []

    def run_some(self, count, outcomes, seed="s", ends_at=float("inf")):
        def judge(mutation):
            self.judged.append(mutation)
            return outcomes[len(self.judged) % len(outcomes)], "a test"

        return running.run(self.mutations, count, running.Results(self.file, seed), [judge],
                           ends_at, said=lambda line: None)

    def test_those_that_are_no_mutants_are_drawn_anew(self):
        valid = self.run_some(3, ["same object", "noticed", "does not compile"])
        self.assertEqual([row["outcome"] for row in valid], ["noticed"] * 3)
        self.assertEqual(len(self.judged), 7)

    def test_a_run_goes_on_where_the_last_one_ended(self):
        first = self.run_some(2, ["noticed"])
        judged = list(self.judged)
        self.assertEqual(self.run_some(3, ["survived"])[:2], first)
        self.assertEqual(self.judged, judged + [self.mutations[2]])
        self.run_some(1, ["noticed"], seed="another")
        self.assertEqual(len(self.judged), 4)

    def test_what_survives_and_what_is_left_decide_the_exit_code(self):
        self.assertEqual(running.exit_code(self.run_some(2, ["noticed"]), 2), 0)
        self.assertEqual(running.exit_code(self.run_some(3, ["noticed"], ends_at=0), 3), 3)
        self.assertEqual(running.exit_code(self.run_some(3, ["survived"]), 3), 1)

    def test_judges_side_by_side_judge_the_same_mutants(self):
        alone = self.run_some(4, ["noticed", "same object", "survived"])
        order = [row["mutation"] for row in alone]
        outcomes = {tuple(row["mutation"].values()): row["outcome"]
                    for row in running.Results(self.file, "s").rows}

        def judge(mutation):
            key = tuple(dataclasses.asdict(mutation).values())
            time.sleep(0.001 * (mutation.line % 3))
            return outcomes.get(key, "noticed"), "a test"

        found = running.run(self.mutations, 4, running.Results(self.file, "t"), [judge] * 3,
                            float("inf"), said=lambda line: None)
        self.assertEqual([row["mutation"] for row in found], order)
        self.assertEqual([row["outcome"] for row in found], [row["outcome"] for row in alone])

    def test_a_judge_elsewhere_is_asked_by_lines(self):
        questions = io.StringIO("".join(json.dumps(dataclasses.asdict(m)) + "\n"
                                        for m in self.mutations[:2]))
        answers, seen = io.StringIO(), []
        running.serve(lambda m: (seen.append(m), ("noticed", m.file))[1], questions, answers)
        self.assertEqual(seen, self.mutations[:2])
        self.assertEqual([json.loads(line) for line in answers.getvalue().splitlines()],
                         [["noticed", m.file] for m in self.mutations[:2]])

    def test_a_killed_run_leaves_no_mutant(self):
        tree = self.file.parent / "tree"
        tree.mkdir()
        for name, text in Draws.FILES.items():
            (tree / name).write_text(text)
        copy = running.Tree(tree, tree / "build", Draws.FILES)
        copy.apply(self.mutations[0])
        path = tree / self.mutations[0].file
        self.assertNotEqual(path.read_text(), Draws.FILES[path.name])
        copy.restore()
        self.assertEqual(path.read_text(), Draws.FILES[path.name])

    def test_a_test_that_fails_without_the_mutant_notices_nothing(self):
        script = loaded_scripts.script("scripts", "mutate")
        mutation, mutated = self.mutations[0], []

        class Tree:
            def hashes(self, objects):
                return {o: len(mutated) for o in objects}

            def apply(self, m):
                mutated.append(m)

            def undo(self, m):
                mutated.clear()

            def ninja(self, *targets):
                return True

        class Reached:
            entries = ["broken", "blind", "sees"]

            def objects(self, file):
                return ["an.o"]

            def of(self, file):
                return self.entries

        class Entry(str):
            name = property(str)

        judge = script.TestsJudge.__new__(script.TestsJudge)
        judge.tree, judge.reach, judge.passes = Tree(), Reached(), {}
        judge.fails = lambda entry: entry == "broken" or (entry == "sees" and bool(mutated))
        Reached.entries = [Entry(e) for e in Reached.entries]
        self.assertEqual(judge(mutation), (running.NOTICED, "sees"))
        self.assertEqual(judge.passes, {"broken": False, "sees": True})
        Reached.entries = Reached.entries[:2]
        self.assertEqual(judge(mutation), (running.SURVIVED, ""))
        self.assertEqual(mutated, [])


class Reach(unittest.TestCase):
    def test_dependencies_of_objects_are_read(self):
        text = ("a.o: #deps 2, deps mtime 1 (VALID)\n    ../lib/x.cpp\n    ../lib/x.hpp\n\n"
                "b.o: #deps 1, deps mtime 1 (VALID)\n    ../lib/x.hpp\n\n")
        self.assertEqual(reaching.parse_deps(text), {"a.o": {"../lib/x.cpp", "../lib/x.hpp"},
                                                     "b.o": {"../lib/x.hpp"}})

    def test_entries_of_gpus_and_slow_ones_are_left_out(self):
        def test(name, *labels):
            return {"name": name, "command": [f"/b/tests/{name}"],
                    "properties": [{"name": "LABELS", "value": list(labels)},
                                   {"name": "ENVIRONMENT", "value": ["A=1"]}]}

        said = json.dumps({"tests": [test("unit.x", "unit"), test("gpu.y", "gpu"),
                                     test("e2e.z.slow", "e2e", "slow"),
                                     test("e2e.reference.start", "e2e")]})
        found = list(reaching.parse_entries(said, pathlib.Path("/b")))
        self.assertEqual([e.name for e in found], ["unit.x"])
        self.assertEqual((found[0].target, found[0].environment), ("tests/unit.x", ("A=1",)))

    def test_the_table_has_every_layer_and_names_scripts(self):
        table = json.loads(reaching.END_TO_END.read_text())
        layers = {p.name for p in (ROOT / "lib").iterdir()} - {"gpu"} | {"kernels"}
        self.assertEqual(set(table), layers)
        scripts = [p.stem.removesuffix("_test") for p in (ROOT / "tests/e2e").glob("*_test.py")]
        scripts += [f"equality/{p.stem}" for p in (ROOT / "tests/equality").glob("*.yaml")]
        for layer in layers:
            for pattern in table[layer]:
                with self.subTest(layer=layer, pattern=pattern):
                    self.assertTrue(reaching.scripts_of("x", scripts, {"x": [pattern]}))

    def test_options_are_checked(self):
        done = subprocess.run([ROOT / "scripts/mutate", "list"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        done = subprocess.run([ROOT / "scripts/mutate", "list", "net", "--count", "3"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.count("\n    + ")), (0, 3), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
