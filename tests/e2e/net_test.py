"""The tool that compares what builds decide: on recordings that are written here, without a
build."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "net"))
import base_build  # noqa: E402
import comparing  # noqa: E402
import declaring  # noqa: E402
import history  # noqa: E402
import recording  # noqa: E402

SECTIONS = {"programs": "a\nb\nc\n", "memory": "plan {}\ntotal 100\n", "h200, time": "step 1\n",
            "losses": "loss 1 2.5", "checkpoint": "model 12"}


def net(processor="one", **cases):
    """A recording of `cases`: sections that differ from SECTIONS."""
    found = {name: SECTIONS | sections for name, sections in cases.items()}
    return {"processor": processor, "about": {}, "commit": "c", "cases": found}


def change(cases, sections):
    return {"cases": cases, "sections": sections, "why": "for a test alone"}


class Comparing(unittest.TestCase):
    def test_what_differs_is_named_with_its_first_lines(self):
        before, after = net(x={}, y={}), net(x={"programs": "a\nB\nc\n"}, y={})
        (found,) = comparing.between(before, after)
        self.assertEqual((found.case, found.section), ("x", "programs"))
        self.assertEqual(found.lines(4), ["-b", "+B"])
        self.assertEqual(found.lines(1), ["-b", "... 1 more"])
        self.assertIn("x: programs", comparing.said([found]))
        self.assertEqual(comparing.between(before, before), [])

    def test_sections_that_come_or_go_differ_and_new_cases_do_not(self):
        before = net(x={})
        gone = {k: v for k, v in SECTIONS.items() if k != "memory"}
        for after in ({"x": gone}, {"x": SECTIONS | {"choices": "more"}}):
            self.assertEqual(len(comparing.differences(before["cases"], after)), 1)
        self.assertEqual(comparing.between(before, net(x={}, new={})), [])
        (found,) = comparing.between(net(x={}, old={}), before)
        self.assertEqual((found.case, found.section), ("old", comparing.MISSING))

    def test_numbers_of_two_kinds_of_processors_are_not_compared(self):
        other = {"losses": "loss 1 2.6", "checkpoint": "model 13"}
        self.assertEqual(len(comparing.between(net(x={}), net(x=other))), 2)
        self.assertEqual(comparing.between(net(x={}), net("two", x=other)), [])

    def test_numbers_that_one_of_two_has_are_no_difference(self):
        plans = {k: v for k, v in SECTIONS.items() if k not in recording.NUMBERS}
        self.assertEqual(comparing.differences({"x": SECTIONS}, {"x": plans}), [])

    def test_a_hash_stands_for_its_text(self):
        text = "0\n256\n"
        written = {"x": {"placement": recording.hashed(text)}}
        self.assertEqual(comparing.differences(written, {"x": {"placement": text}}), [])
        (found,) = comparing.differences(written, {"x": {"placement": "0\n512\n"}})
        self.assertEqual(len(found.lines(4)), 1)

    def test_programs_may_differ_where_numbers_are_equal_and_memory_does_not_grow(self):
        def bad(**sections):
            found = comparing.between(net(x={}), net(x=sections))
            self.assertNotEqual(found, [])
            self.assertEqual(comparing.unwanted(found, False), found)
            return len(comparing.unwanted(found, True))

        self.assertEqual(bad(programs="z\n"), 0)
        self.assertEqual(bad(memory="total 90\n"), 0)
        self.assertEqual(bad(memory="total 110\n"), 1)
        self.assertEqual(bad(losses="loss 1 9"), 1)

    def test_what_is_written_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.xz"
            one = net(x={"h200, placement": "0\n"})
            recording.write(path, one)
            read = recording.read(path)
        self.assertEqual(comparing.between(one, read), [])
        self.assertTrue(read["cases"]["x"]["h200, placement"].startswith(recording.HASH))


class Declaring(unittest.TestCase):
    def setUp(self):
        self.found = comparing.between(
            net(a1={}, a2={}, b={}),
            net(a1={"programs": "z"}, a2={"programs": "z"}, b={"h200, time": "2"}),
        )
        self.assertEqual(len(self.found), 3)

    def test_patterns_cover_cases_and_sections_of_any_kind(self):
        def left(*changes):
            return len(declaring.undeclared(self.found, changes))

        self.assertEqual(left(), 3)
        self.assertEqual(left(change(["a*"], ["programs"])), 1)
        self.assertEqual(left(change(["a*"], ["time"])), 3)
        self.assertEqual(left(change(["b"], ["time"])), 2)
        self.assertEqual(left(change(["b"], ["h200, time"])), 2)
        self.assertEqual(left(change(["*"], ["programs", "time"])), 0)
        self.assertEqual(left(change(["a*"], ["programs"]), change(["b"], ["*"])), 0)

    def test_a_pattern_that_names_no_difference_is_refused(self):
        def sentences(*changes):
            return len(declaring.without_effect(self.found, changes))

        self.assertEqual(sentences(change(["a*", "b"], ["programs", "time"])), 0)
        self.assertEqual(sentences(change(["a*", "c"], ["programs"])), 1)
        self.assertEqual(sentences(change(["a*"], ["programs", "memory"])), 1)
        self.assertEqual(sentences(change(["c"], ["order"])), 2)

    def test_what_accept_declares_covers_all_and_nothing_else(self):
        made = declaring.declaration(self.found, "for a test alone")
        self.assertEqual(declaring.undeclared(self.found, made), [])
        self.assertEqual(declaring.without_effect(self.found, made), [])
        self.assertEqual(declaring.parse(declaring.text_of(made)), made)

    def test_a_malformed_file_is_refused(self):
        sound = declaring.text_of([change(["a"], ["b"])])
        for text in ("", "[]", "{}", '{"changes": [{}]}', sound.replace("for a test alone", "why"),
                     sound.replace('"a"', "1"), sound.replace('"cases"', '"case"')):
            with self.subTest(text=text), self.assertRaises(declaring.Malformed):
                declaring.parse(text)
        self.assertEqual(declaring.parse(declaring.text_of([])), [])


class History(unittest.TestCase):
    """Each test has a repository of its own, whose first commit is origin's main."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="trainx-net-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.email", "test@example.com")
        self.git("config", "user.name", "test")
        self.net = net(x={}, y={})
        self.write(self.net, [])
        self.first = self.commit()
        self.repository = history.Repository(self.folder)

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True,
                              check=True)
        return done.stdout.strip()

    def write(self, recorded=None, changes=None, **files):
        for name in (history.NET, history.CHANGES):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        if recorded:
            recording.write(self.folder / history.NET, recorded)
        if changes is not None:
            (self.folder / history.CHANGES).write_text(declaring.text_of(changes))
        for name, text in files.items():
            path = self.folder / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, **files):
        self.write(**files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "one more")
        return self.git("rev-parse", "HEAD")

    def problems(self):
        base = self.repository.base()
        return history.undeclared(self.repository, base), history.stale(self.repository)

    def test_the_base_is_where_the_branch_left_main_else_the_commit_before(self):
        self.assertIsNone(self.repository.base())
        self.commit()
        self.assertEqual(self.repository.base(), self.first)
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.repository.base(), self.first)      # HEAD is main
        main = self.repository.commit("HEAD")
        self.commit()
        self.commit()
        self.assertEqual(self.repository.base(), main)
        with tempfile.TemporaryDirectory() as other:
            self.assertIsNone(history.Repository(other).base())

    def test_layers_that_changed_count_with_what_is_not_committed(self):
        self.commit(lib__plan__a="1", lib__data__a="1")
        self.assertEqual(self.repository.changed_layers(self.first), ["lib/plan"])
        self.assertEqual(self.repository.changed_layers("HEAD"), [])
        self.write(lib__graph__new="2", lib__plan__a="2")
        self.assertEqual(self.repository.changed_layers("HEAD"), ["lib/graph", "lib/plan"])

    def test_a_change_of_the_net_must_be_declared_in_its_own_commit(self):
        other = net(x={"programs": "z"}, y={})
        self.write(other, [])
        self.assertEqual(len(self.problems()[0]), 2)       # not committed yet
        self.commit()
        undeclared, stale = self.problems()
        self.assertIn("x: programs", "\n".join(undeclared))
        self.assertEqual(stale, [])
        self.commit(changes=[change(["x"], ["programs"])])      # too late
        undeclared, stale = self.problems()
        self.assertEqual((undeclared, len(stale)), ([], 1))     # a base of one commit before
        self.git("update-ref", "refs/remotes/origin/main", self.first)
        self.assertEqual(len(self.problems()[0]), 2)

    def test_a_declaration_holds_for_its_commit_and_the_next_one_clears_it(self):
        other = net(x={"programs": "z"}, y={})
        self.git("update-ref", "refs/remotes/origin/main", self.first)
        self.write(other, [change(["x"], ["programs"])])
        self.assertEqual(self.problems(), ([], []))
        self.commit()
        self.assertEqual(self.problems(), ([], []))
        self.commit(README="of another thing")
        undeclared, stale = self.problems()
        self.assertEqual((undeclared, len(stale)), ([], 1))
        self.write(changes=[])
        self.assertEqual(self.problems(), ([], []))
        self.commit()
        self.assertEqual(self.problems(), ([], []))
        self.write(net(x={"programs": "zz"}, y={}), [change(["x"], ["programs"])])
        self.assertEqual(self.problems(), ([], []))

    def test_a_declaration_of_more_than_differs_is_refused(self):
        self.write(net(x={"programs": "z"}, y={}), [change(["x", "y"], ["programs"])])
        self.assertEqual(len(self.problems()[1]), 1)
        self.commit()
        self.assertEqual(len(self.problems()[1]), 1)

    def test_a_merge_has_the_net_of_one_of_its_parents(self):
        self.git("update-ref", "refs/remotes/origin/main", self.first)
        self.git("checkout", "--quiet", "-b", "branch")
        self.commit(recorded=net(x={"programs": "z"}, y={}), changes=[change(["x"], ["programs"])])
        self.commit(changes=[])
        self.git("checkout", "--quiet", "main")
        self.commit(README="beside it")
        self.git("merge", "--quiet", "--no-ff", "--no-edit", "branch")
        self.assertEqual(self.problems(), ([], []))

    def test_a_net_of_another_form_is_compared_with_nothing(self):
        old = dict(self.net)
        del old["about"]
        self.write(old)
        self.commit()
        self.assertIsNone(self.repository.net("HEAD"))
        self.write(net(x={"programs": "z"}, y={}))
        self.assertEqual(self.problems(), ([], []))


class BaseBuild(unittest.TestCase):
    def test_options_are_those_of_the_tree_with_its_paths_moved(self):
        cache = (
            "CMAKE_BUILD_TYPE:STRING=Release\nTRAINX_TORCH_DIR:PATH=/tree/.deps/torch\n"
            "TRAINX_WITH_CUDA:BOOL=ON\nTRAINX_EMPTY:STRING=\nTRAINX_xxhash_LIBRARY:FILEPATH=/l\n"
            "OTHER:BOOL=ON\n//TRAINX_COMMENT:BOOL=ON\n")
        self.assertEqual(
            base_build.options(cache, "/tree", "/tree/build/net-base"),
            ["-DCMAKE_BUILD_TYPE=Release",
             "-DTRAINX_TORCH_DIR=/tree/build/net-base/.deps/torch", "-DTRAINX_WITH_CUDA=ON"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
