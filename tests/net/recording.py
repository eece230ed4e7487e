"""What a build decides and computes for the cases of the net, as text by case and section."""

import concurrent.futures
import hashlib
import json
import lzma
import os
import pathlib
import platform
import re
import subprocess
import tempfile

import cases

NUMBERS = ("losses", "checkpoint")  # sections that depend on the processor
MEASURED = "shapes"  # what a worker measured: given to a plan that is compared with a recorded one
# Recorded as hashes: their lines say little to people beside the program's; and of plans alone
# what is long.
HASHED, LONG = ("buffers", "placement"), 40_000
HASH = "sha256 "


class Failure(Exception):
    """A sentence: what a build could not do."""


def processor():
    found = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1) if found else platform.processor()


def environment(folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRAINX_", "SLURM_"))}
    return env | {
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def output(command, folder, seconds=None):
    try:
        done = subprocess.run(
            [str(c) for c in command],
            cwd=folder,
            capture_output=True,
            text=True,
            env=environment(folder),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{command[0]} took longer than {seconds} s") from error
    if done.returncode != 0:
        raise Failure(
            f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
    return done.stdout


def processors():
    return len(os.sched_getaffinity(0))


def kind_and_section(section):
    """ "h200, rank 1, programs" -> ("h200, rank 1, ", "programs")"""
    kind, comma, name = section.rpartition(", ")
    return kind + comma, name


# Plans


def plans_of(names, known):
    """By worker: lines for print_plan. `known`: a recording whose measured shapes are given."""
    by_worker = {}
    for name in names:
        case = cases.CASES[name]
        for kind, plan in case.plans():
            measured = known.get(name, {}).get(kind + MEASURED)
            if measured:
                plan["shapes"] = [json.loads(line) for line in measured.splitlines()]
            by_worker.setdefault(case.worker, []).append({"name": [name, kind]} | plan)
    return by_worker


def run_print_plan(build, worker, plans, folder, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", dir=folder) as lines:
        lines.writelines(json.dumps(plan) + "\n" for plan in plans)
        lines.flush()
        of_worker = ["--worker", build / "tests" / worker] if worker else []
        said = output(
            [build / "tests" / "print_plan", *of_worker, "--cases", lines.name], folder, seconds
        )
    about, *answers = map(json.loads, said.splitlines())
    return about, answers


def require_expected(name, kind, answer):
    """A case is refused if and only if it says so."""
    if "failed" in answer:
        raise Failure(f"{name}: {kind}the plan fails: {answer['failed']}")
    refused = answer["sections"].get("refused", "")
    if bool(refused) != cases.CASES[name].refused:
        raise Failure(f"{name}: {kind}{refused or 'this plan should be refused'}")


def record_plans(build, names, known=None, strict=True, seconds=None):
    """(what print_plan says of the build, sections by case). strict: a plan that fails, or is
    refused and should not be, is a Failure; else it is a section of its own."""
    with tempfile.TemporaryDirectory(prefix="trainx-net-") as place:
        folder = pathlib.Path(place)
        cases.write_data(folder)
        jobs = []
        for worker, plans in plans_of(names, known or {}).items():
            # one process for what a worker has; the others are dealt out
            parts = 1 if worker else processors()
            jobs += [(worker, plans[k::parts]) for k in range(parts) if plans[k::parts]]
        with concurrent.futures.ThreadPoolExecutor(processors()) as pool:
            done = list(pool.map(lambda job: run_print_plan(build, *job, folder, seconds), jobs))
    found = {name: {} for name in names}
    for _, answers in done:
        for answer in answers:
            name, kind = answer["name"]
            if strict:
                require_expected(name, kind, answer)
            sections = answer.get("sections") or {"failed": answer["failed"]}
            found[name] |= {kind + section: text for section, text in sections.items()}
    return done[0][0] if done else {}, found


# Losses and checkpoints


def numbers_of(run):
    """Losses as written, and hashes of what the last checkpoint holds."""
    losses = []
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        losses += [
            f"{key} {row['step']} {row[key]!r}"
            for key in ("loss", "grad_norm", "eval_loss")
            if row.get(key) is not None
        ]
    hashes = [
        f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        for file in sorted((run / "latest").resolve().iterdir())
        if file.suffix == ".safetensors"
    ]
    if len(losses) < cases.STEPS or not hashes:
        raise Failure(f"{run}: {len(losses)} losses, {len(hashes)} tensors' files")
    return {"losses": "\n".join(losses), "checkpoint": "\n".join(hashes)}


def train(build, name, seconds=None):
    case = cases.CASES[name]
    with tempfile.TemporaryDirectory(prefix="trainx-net-") as place:
        folder = pathlib.Path(place)
        cases.write_data(folder)
        (folder / "recipe.yaml").write_text(case.recipe())
        worker = ["--worker", build / "tests" / case.worker] if case.worker else []
        command = [build / "bin" / "trainx", *worker, "train", "recipe.yaml", *case.settings]
        try:
            output(command, folder, seconds)
            return numbers_of(folder / "outputs" / "run")
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from failure


def record_numbers(build, names, said=lambda done, of: None, seconds=None):
    """Sections by case, of those that train."""
    names = [name for name in names if cases.CASES[name].trains]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(processors()) as pool:
        for name, numbers in zip(names, pool.map(lambda n: train(build, n, seconds), names)):
            found[name] = numbers
            said(len(found), len(names))
    return found


# Files


def hashed(text):
    if text.startswith(HASH):
        return text
    return HASH + hashlib.sha256(text.encode()).hexdigest()[:16]


def is_hashed(name, section, text):
    if kind_and_section(section)[1] in HASHED:
        return True
    case = cases.CASES.get(name)
    return len(text) > LONG and case is not None and not case.trains


def write(path, recording):
    """With hashes in place of the sections of which is_hashed says so."""
    kept = {
        name: {
            section: hashed(text) if is_hashed(name, section, text) else text
            for section, text in sections.items()
        }
        for name, sections in recording["cases"].items()
    }
    text = json.dumps(recording | {"cases": kept}, indent=0, sort_keys=True)
    filters = [
        {"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": 1 << 26, "lc": 4, "lp": 0, "pb": 0}
        | {"nice_len": 273, "depth": 1000}
    ]
    path.write_bytes(lzma.compress(text.encode(), filters=filters))


def parse(data):
    return json.loads(lzma.decompress(data))


def read(path):
    return parse(path.read_bytes())
