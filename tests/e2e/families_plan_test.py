"""docs/models.md says of each family where it computes, whether rows hold several documents and
which tasks it learns; `trainx plan` says the same."""
import json
import re

from support import ROOT, Trainx, main, sampled

PAGE = ROOT / "docs" / "models.md"
REST = "every other family of the next table"
TASKS = ("causal_lm", "masked_lm", "classification", "token_classification", "seq2seq")


def tables(text):
    """Each table of the page: a list of rows, each a map from the column's head to the cell."""
    found, head = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells
            found.append([])
        elif not set(cells[0]) <= set("-: "):
            found[-1].append(dict(zip(head, cells)))
    return found


class FamiliesPlan(Trainx):
    forks = True

    def setUp(self):
        super().setUp()
        places, families, *_ = tables(PAGE.read_text())
        self.tasks = {row["`model.type`"].strip("`"): re.findall(r"`(\w+)`", row["Tasks"])
                      for row in families}
        said = {name: row for row in places for name in re.findall(r"`([\w-]+)`", row["Model"])}
        (rest,) = [row for row in places if row["Model"] == REST]
        self.said = {family: said.get(family, rest) for family in self.tasks}
        self.written = self.recipe(
            "run: {name: f}\nbatch: {global_batch_size: 1, micro_batch_size: 1}\n"
            "optimizer: {type: adamw}\nmemory: {budget: 500 TiB}\n")

    def plan(self, family, *settings, task=None, packed=False, gpu=False):
        task = task or self.tasks[family][0]
        options = [f"model.options.task={task}"] if task not in ("causal_lm", "seq2seq") else []
        if task == "classification":
            options.append("model.options.num_labels=3")
        if task == "token_classification":
            options.append("model.options.num_labels=3")
        if task == "masked_lm":
            options += ["model.options.mask_token=4", "model.options.special_tokens=[0]"]
        data = f"data={{type: jsonl, train: none.jsonl, sequence_length: 64, packed: {packed}}}"
        where = ["--gpu", "h100"] if gpu else ["run.device=cpu"]
        return self.run_trainx("plan", self.written, f"model.type={family}", data.lower(), *options,
                               *settings, *where, "--json", expect=None)

    def takes_gpu(self, done):
        memory = json.loads(done.stdout)["memory"]
        return any(row["category"] == "CUDA context and kernels" for row in memory)

    def test_every_family_is_listed(self):
        models = json.loads(self.run_trainx("list", "models", "--json").stdout)
        names = {model["name"] for model in models} - {"exported"}
        self.assertEqual(set(self.tasks), names)

    def test_cpu_and_gpu(self):
        for family, row in self.said.items():
            with self.subTest(family=family):
                on_cpu, on_gpu = self.plan(family), self.plan(family, gpu=True)
                self.assertEqual(on_cpu.returncode == 0, row["CPU"] == "yes", on_cpu.stderr)
                gpu = on_gpu.returncode == 0 and self.takes_gpu(on_gpu)
                self.assertEqual(gpu, row["GPU"] == "yes", on_gpu.stderr)

    @sampled
    def test_every_precision(self):
        cases = [(family, precision, gpu) for family in self.said for gpu in (False, True)
                 for precision in ("fp32", "bf16", "fp16", *(("tf32",) if gpu else ()))]
        for family, precision, gpu in self.drawn(cases, few=60):
            with self.subTest(family=family, precision=precision, gpu=gpu):
                done = self.plan(family, f"precision={precision}", gpu=gpu)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.takes_gpu(done), gpu)

    def test_packed_documents(self):
        for family, row in self.said.items():
            with self.subTest(family=family):
                done = self.plan(family, packed=True, gpu=True)
                self.assertEqual(done.returncode, 0 if row["Packed documents"] == "yes" else 78,
                                 done.stdout + done.stderr)

    def test_tasks(self):
        for family, tasks in self.tasks.items():
            for task in TASKS:
                with self.subTest(family=family, task=task):
                    if task in ("causal_lm", "seq2seq") and task not in tasks:
                        continue        # these families have no such key, or refuse the value
                    done = self.plan(family, task=task, gpu=True)
                    self.assertEqual(done.returncode, 0 if task in tasks else 78,
                                     done.stdout + done.stderr)

    def test_numbers_and_several_labels(self):
        for problem in ("regression", "multi_label_classification"):
            for gpu in (False, True):
                done = self.plan("bert", f"model.options.problem_type={problem}",
                                 task="classification", gpu=gpu)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.takes_gpu(done), gpu)


if __name__ == "__main__":
    main()
