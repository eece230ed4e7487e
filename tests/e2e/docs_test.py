#!/usr/bin/env python3
"""The documentation does what it says: every command of README.md and docs/ runs, recipes validate,
links and generated tables hold.

The blocks of a page run in order in one folder, with trainx on the PATH, so that a page is a story
that works. Prints how many commands were run, parsed and skipped.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import documentation  # noqa: E402
import forked  # noqa: E402
import support  # noqa: E402

PAGES = [
    support.ROOT / "README.md", support.ROOT / "CONTRIBUTING.md", *sorted(
        (support.ROOT / "docs").rglob("*.md"))
]
# What a recipe's fragment is completed by.
BASE = """\
run: {name: fragment, duration: 100 steps}
model: {type: gpt2, options: {num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 64}}
data: {type: stories, sequence_length: 32}
batch: {global_batch_size: 8}
optimizer: {type: adamw, lr: 1e-3}
"""
RECORDER = """\
import atexit, math, os
rows = []
atexit.register(lambda: print("logged", len(rows)))
def record(numbers, step):
    assert isinstance(step, int) and step >= 1 and all(isinstance(v, float) for v in numbers.values())
    assert step > (rows[-1] if rows else 0) or rows[-1] == step, (step, rows)
    rows.append(step)
"""
STUBS = {
    "mlflow": RECORDER + """
import contextlib
start_run = lambda run_name: contextlib.nullcontext()
log_metrics = lambda numbers, step: record(numbers, step)
def log_artifact(path): assert os.path.exists(path), path
""",
    "wandb": RECORDER + """
class Run:
    def log(self, numbers, step): record(numbers, step)
    def finish(self): pass
init = lambda project, name: Run()
""",
}
counts = collections.Counter()
names = collections.defaultdict(list)


def tearDownModule():
    print(
        f"\ncommands run {counts['run']}, parsed {counts['parse']}, skipped {counts['skip']}; recipes validated {counts['yaml']}, skipped {counts['yaml skip']}; "
        f"scripts run {counts['python']}")
    for what in ("parse", "skip", "yaml skip"):
        for place in names[what]:
            print(f"  {what}: {place}")


class Pages(support.Timed):
    maxDiff = None

    def shell_folder(self, page):
        """A folder like a clone of the tree, where scripts/trainx starts what is built."""
        folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="trainx-docs-"))) / page.stem
        for name in ("configs", "examples", "bench", "include", "docs"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(support.ROOT / name)
        (folder / "scripts").mkdir()
        (folder / "bin").mkdir()
        for script in (support.ROOT / "scripts").iterdir():
            if script.name not in ("trainx", "setup", "test", "__pycache__"):
                (folder / "scripts" / script.name).symlink_to(script)
        shim = f'#!/bin/sh\nexec "{support.TRAINX}" "$@"\n'
        for path in (folder / "scripts" / "trainx", folder / "bin" / "trainx"):
            path.write_text(shim)
            path.chmod(0o755)
        return folder

    def environment(self, folder, settings=""):
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("TRAINX_", "SLURM_")) or k == "TRAINX_BUILD_DIR"
        }
        env.update(PATH=f"{folder / 'bin'}:{env['PATH']}", CUDA_VISIBLE_DEVICES="", NO_COLOR="1")
        if settings:
            env["TRAINX_SET"] = settings
        return env

    def shell(self, block, folder, want=0):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder,
                              capture_output=True, text=True, env=self.environment(
                                  folder, block.settings), stdin=subprocess.DEVNULL, timeout=300,
                              check=False)
        self.assertEqual(
            done.returncode, want,
            f"{block.place}\n{block.text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")

    def trainx(self, folder, *arguments, settings=""):
        return forked.run(support.MANY_COMMANDS, arguments, folder,
                          self.environment(folder, settings), seconds=120)

    def parse(self, block, folder):
        checked = 0
        for line in block.commands():
            for call in documentation.trainx_calls(line):
                done = self.trainx(folder, *call, "--help")
                self.assertEqual(done.returncode, 0, f"{block.place}: {line}\n{done.stderr}")
                checked += 1
                recipe = next(
                    (w for w in call[1:] if w.endswith(".yaml") and (folder / w).exists()), None)
                if recipe and "--worker" not in call:
                    overrides = [w for w in call if re.match(r"[a-z_.]+=", w)]
                    done = self.trainx(folder, "validate", recipe, *overrides,
                                       settings=block.settings)
                    self.assertEqual(
                        done.returncode, 0,
                        f"{block.place}: validate {recipe} {overrides}\n{done.stderr}")
            for word in line.split():
                if word.startswith(("scripts/", "configs/", "bench/", "examples/")):
                    self.assertTrue((support.ROOT / word).exists(), f"{block.place}: {word}")
                    checked += 1
        self.assertGreater(checked, 0, f"{block.place}: nothing here can be parsed; mark it skip")

    def validate(self, block, folder):
        keys = set(re.findall(r"^([a-z_]+):", block.text, re.MULTILINE))
        whole = {"model", "data"} <= keys or "extends" in keys
        path = folder / (block.rest if block.mark == "file" else "fragment.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        (folder / "base.yaml").write_text(BASE)
        path.write_text(block.text if whole else "extends: [base.yaml]\n" + block.text)
        done = self.trainx(folder, "validate", str(path.relative_to(folder)))
        self.assertEqual(done.returncode, 0, f"{block.place}\n{path.read_text()}\n{done.stderr}")

    def log_into_stubs(self, block, folder):
        """Scripts that log a run elsewhere: modules that count what they are given stand for mlflow
        and wandb."""
        stubs = folder / "stubs"
        stubs.mkdir(exist_ok=True)
        for name, text in STUBS.items():
            (stubs / f"{name}.py").write_text(text)
        done = subprocess.run([sys.executable, "-c", block.text], cwd=folder, capture_output=True,
                              text=True, env={**self.environment(folder), "PYTHONPATH": str(stubs)},
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, f"{block.place}\n{done.stderr}")
        self.assertRegex(done.stdout, r"^logged [1-9]", block.place)

    def tell(self, page):
        folder = self.shell_folder(page)
        for block in documentation.blocks(page):
            kind = block.mark or "run"
            if block.language == "yaml":
                what = "yaml skip" if kind == "skip" else "yaml"
                counts[what] += 1
                if kind == "skip":
                    names[what].append(f"{block.place} ({block.rest})")
                else:
                    self.validate(block, folder)
            elif block.language == "sh":
                what = "run" if kind == "exit" else kind
                counts[what] += len(block.commands())
                names[what] += [f"{block.place} ({block.rest}): {c[:90]}" for c in block.commands()]
                if kind == "parse":
                    self.parse(block, folder)
                elif kind in ("run", "exit"):
                    self.shell(block, folder, int(block.rest) if kind == "exit" else 0)
                else:
                    self.assertEqual(kind, "skip", block.place)
                    self.assertTrue(block.rest, f"{block.place}: skip says why")
            elif block.language == "python":
                counts["python"] += 1
                self.log_into_stubs(block, folder)
            else:
                self.assertIn(block.language, ("text", "cpp", "json", ""),
                              f"{block.place}: commands are `sh`, recipes `yaml`")


def add_page(page):
    name = "test_" + str(page.relative_to(support.ROOT)).removesuffix(".md").replace("/", "_")
    setattr(Pages, name, lambda self: self.tell(page))


for each in PAGES:
    add_page(each)


def generated_part(page, name):
    return re.search(rf"<!-- generated: {name} -->\n(.*?)<!-- end generated -->", page.read_text(),
                     re.DOTALL)[1]


class Form(unittest.TestCase):
    def test_readme_is_short(self):
        self.assertLess(len((support.ROOT / "README.md").read_text().splitlines()), 150)

    def test_generated_parts_are_fresh(self):
        done = subprocess.run([support.ROOT / "scripts" / "docs", "--check"], capture_output=True,
                              text=True, env={**os.environ, "TRAINX_BUILD_DIR": str(support.BUILD)},
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_stale_part_is_found(self):
        sys.path.insert(0, str(support.ROOT / "scripts"))
        import generated_tables
        page = "<!-- generated: exit-codes -->\nold\n<!-- end generated -->\n"
        fresh = generated_tables.fill(support.ROOT, None, page)
        self.assertIn("| 78 |", fresh)
        self.assertEqual(generated_tables.fill(support.ROOT, None, fresh), fresh)

    def test_every_model_is_in_the_table(self):
        listed = json.loads(
            subprocess.run([support.TRAINX, "list", "models", "--json"], capture_output=True,
                           text=True, check=True).stdout)
        table = generated_part(support.ROOT / "docs" / "models.md", "models")
        named = [m["name"] for m in listed if m["name"] != "exported"]   # has a section of its own
        self.assertEqual(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE), named)
        for line in table.strip().splitlines()[2:]:
            self.assertTrue(all(cell.strip() for cell in line.strip().strip("|").split(" | ")),
                            line)

    def test_links_outside_the_site_resolve(self):
        """mkdocs checks the links inside docs/; those of the files beside it are checked here."""
        for page in [*support.ROOT.glob("*.md")]:
            for target in re.findall(r"\]\(([^)\s]+)\)",
                                     documentation.outside_fences(page.read_text())):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = page.parent / path if path else page
                self.assertTrue(to.exists(), f"{page.name}: {target}")
                if anchor and to.suffix == ".md":
                    self.assertIn(anchor, documentation.anchors(to), f"{page.name}: {target}")

    def test_named_files_exist(self):
        """`bench/results/...` in code font is a source of figures, `lib/...` a place in the code:
        both must be there."""
        for page in PAGES:
            for name in re.findall(
                    r"`((?:bench|lib|apps|kernels|configs|scripts|tests|examples|include|cmake)/[\w./-]+)`",
                    page.read_text()):
                self.assertTrue((support.ROOT / name).exists(),
                                f"{page.relative_to(support.ROOT)}: {name}")

    def test_site_builds(self):
        with tempfile.TemporaryDirectory() as site:
            done = subprocess.run([support.ROOT / "scripts" / "docs", "--site", site],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 69:
                self.skipTest("mkdocs cannot be installed here")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue((pathlib.Path(site) / "recipe.html").exists())


if __name__ == "__main__":
    support.main()
