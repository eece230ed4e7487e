"""Holds trainx against what reference_tokenizer_folders.py wrote of a folder."""
import collections
import dataclasses
import json
import subprocess


@dataclasses.dataclass
class Result:
    case: str
    texts: int = 0
    differ: int = 0
    example: str = ""
    refused: str = ""           # by trainx
    reference_refused: str = ""

    @property
    def wrong(self):
        return self.differ > 0 or bool(self.refused and not self.reference_refused)


def compare(trainx, out, case, env=None):
    folder = out / case.replace("/", "-")
    wanted = json.loads((folder / "expected.json").read_text())
    result = Result(case, len(wanted["texts"]), reference_refused=wanted.get("refused", ""))
    lines = "".join(json.dumps(line) + "\n" for line in wanted["texts"])
    done = subprocess.run([str(trainx), "data", "tokenize", "-", "--tokenizer", str(folder)], input=lines.encode(), capture_output=True, env=env)
    if done.returncode:
        result.refused = f"{done.returncode}: {done.stderr.decode().strip()[:300]}"
        return result
    if result.reference_refused:
        return result
    got = [json.loads(line) for line in done.stdout.decode().rstrip("\n").split("\n")]
    for line, ids, types, ours in zip(wanted["texts"], wanted["ids"], wanted["types"], got, strict=True):
        if ours["input_ids"] == ids and ours.get("token_type_ids", [0] * len(ids)) == types:
            continue
        result.differ += 1
        result.example = result.example or f"{line} ({wanted['class']}): {ours['input_ids'][:40]} {ours.get('token_type_ids', '')}, not {ids[:40]} {types[:40]}"
    return result


def report(results):
    rows = collections.defaultdict(list)
    for result in results:
        rows[result.case.rsplit("/", 1)[0]].append(result)
    out = ["class/form                folders    texts   differ  refused"]
    for form, all_of in rows.items():
        out.append(f"{form:24}{len(all_of):9}{sum(r.texts for r in all_of):9}{sum(r.differ for r in all_of):9}{sum(bool(r.refused) for r in all_of):9}")
    for result in results:
        if result.wrong:
            out.append(f"{result.case}: {result.refused or result.example}")
        elif result.reference_refused:
            out.append(f"{result.case}: transformers refuses it ({result.reference_refused[:120]}); trainx: {result.refused[:160] or 'reads it'}")
    out.append(f"{len(results)} folders, {sum(r.texts for r in results)} texts, {sum(r.differ for r in results)} differ")
    return "\n".join(out)
