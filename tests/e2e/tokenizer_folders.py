"""Holds trainx against what reference_tokenizer_folders.py wrote of a folder."""
import collections
import dataclasses
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMS = {"json": "`tokenizer.json`", "merges": "`vocab.json` with `merges.txt`", "words": "`vocab.txt`", "pieces": "SentencePiece model",
         "unigrams": "SentencePiece model, Unigram", "tekken": "`tekken.json`", "tiktoken": "`tiktoken.model`"}
# Forms of vocabularies that docs/tokenizers.md says trainx refuses.
REFUSED = ("backend/tekken", "backend/tiktoken")


@dataclasses.dataclass
class Result:
    case: str
    texts: int = 0
    differ: int = 0
    example: str = ""
    refused: str = ""           # by trainx
    reference_refused: str = ""

    @property
    def form(self):
        return self.case.rsplit("/", 1)[0]

    @property
    def wrong(self):
        if self.refused and not self.refused.startswith(("65:", "66:")):
            return True
        may_refuse = self.reference_refused or self.form in REFUSED
        return self.differ > 0 or bool(self.refused and not may_refuse)


def compare(trainx, out, case, env=None):
    folder = out / case.replace("/", "-")
    wanted = json.loads((folder / "expected.json").read_text())
    result = Result(case, reference_refused=wanted.get("refused", "").replace(str(folder), "FOLDER"))
    lines = "".join(json.dumps(line) + "\n" for line in wanted["texts"])
    done = subprocess.run([str(trainx), "data", "tokenize", "-", "--tokenizer", str(folder)], input=lines.encode(), capture_output=True, env=env)
    if done.returncode:
        result.refused = f"{done.returncode}: {done.stderr.decode().strip()[:300]}"
        return result
    if result.reference_refused:
        return result
    got = [json.loads(line) for line in done.stdout.decode().rstrip("\n").split("\n")]
    for line, ids, types, ours in zip(wanted["texts"], wanted["ids"], wanted["types"], got, strict=True):
        result.texts += 1
        if ours["input_ids"] == ids and ours.get("token_type_ids", [0] * len(ids)) == types:
            continue
        result.differ += 1
        result.example = result.example or f"{line} ({wanted['class']}): {ours['input_ids'][:40]} {ours.get('token_type_ids', '')}, not {ids[:40]} {types[:40]}"
    return result


def classes_of_families():
    """The tokenizer class of transformers for each family of docs/models.md: {class: [type]}. Those
    that transformers has no class for are read by TokenizersBackend, or as their folder says."""
    rows = (ROOT / "docs/models.md").read_text().split("<!-- generated: models -->")[1].split("<!-- end generated -->")[0]
    by_type = dict(re.findall(r'\{"([\w-]+)", "(\w+)"\}', (ROOT / "lib/tokenizer/files/class_names.cpp").read_text()))
    out = collections.defaultdict(list)
    for model_type in re.findall(r"^\| `([\w-]+)` \|", rows, re.M):
        out[by_type.get(model_type, "TokenizersBackend")].append(model_type)
    return dict(out)


def known_class(name):
    """PreTrainedTokenizerFast is TokenizersBackend under its older name."""
    return "TokenizersBackend" if name == "PreTrainedTokenizerFast" else name


def by_form(results):
    rows = collections.defaultdict(list)
    for result in results:
        rows[result.form].append(result)
    return rows


def table(results, classes):
    """Rows of forms. `classes`: the tokenizer class by the name that begins a case."""
    def counts(some):
        numbers = [len(some), sum(r.texts for r in some), sum(r.differ for r in some), sum(bool(r.refused) for r in some), sum(bool(r.reference_refused) for r in some)]
        return " | ".join(f"{n:,}" for n in numbers)
    out = ["| Class | Vocabulary | Folders | Texts compared | Texts that differ | Folders trainx refuses | Folders transformers refuses |", "|---|---|---:|---:|---:|---:|---:|"]
    for form, some in by_form(results).items():
        name, _, kind = form.partition("/")
        out.append(f"| `{known_class(classes[name])}` | {FORMS[kind]} | {counts(some)} |")
    return "\n".join([*out, f"| all | | {counts(results)} |"])


def complaints(results):
    """What is wrong, a line each."""
    for result in results:
        if result.wrong:
            yield f"{result.case}: {result.refused or result.example}"
    for form, some in by_form(results).items():
        if form not in REFUSED and not any(r.texts for r in some):
            yield f"{form}: transformers reads none of its folders: {some[0].reference_refused}"


def refused_forms(results):
    """Forms of which trainx reads no folder."""
    return [form for form, some in by_form(results).items() if all(r.refused for r in some)]
