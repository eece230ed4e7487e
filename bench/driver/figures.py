"""What follows from the rounds that a row's contestants took. Nothing is told that was not measured."""
import os
import statistics

OURS = "trainx"
PEAK_FLOPS = {"H100": 989.4e12, "H200": 989.4e12}   # bf16, dense, by the maker's sheets: of MFU


def tokens_per_sample(row):
    """Of both texts, where a sample has two."""
    return row.get("tokens_per_sample") or row["length"]


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def as_typed(command, root, scratch):
    """A command as one types it at the top of the tree `root`: programs by their names, files from there; what was made in the folder `scratch` for one measurement by its name."""
    def typed(word):
        key, equals, path = word.rpartition("=")                        # data.train=FILE, --data=FILE, FILE
        folder = next((f"{f}/" for f in (scratch, root) if path.startswith(f"{f}/")), "")
        return key + equals + path[len(folder):]
    return [os.path.basename(command[0]), *map(typed, command[1:])]


def summary(row, c, gpu, command):
    """Everything raw of a contestant and what follows from it. `command`: as it is recorded."""
    answer = {"command": command, "interleaved": c.interleaved, "ready": c.ready, "ready_seconds": c.ready_seconds, "calibration": c.calibration,
              "rounds": c.rounds, "done": c.done, "device_memory_bytes": c.device_memory, "failure": c.failure}
    if c.plan:
        answer["planned"] = c.plan.facts
    if c.same_as:
        answer["same_as"] = c.same_as
    units = row["batch"] * (tokens_per_sample(row) if row["unit"] == "tokens" else 1)    # of each rank, or of all that share them
    sharing = c.ranks if row.get("shares_batch") else 1
    whole, said = units * c.ranks // sharing, c.done.get(f"{row['unit']}_per_step")
    if said is not None and said != whole and not c.failure:
        why = f"its steps are of {said} {row['unit']}, the row's of {whole}"
        answer["failure"] = c.failure = {"why": why, "exit_code": 0, "late": False, "out_of_memory": False, "stderr": []}
    if not c.rounds or c.failure:
        return answer
    seconds = [r["seconds"] / r["steps"] for r in c.rounds]
    step = median(seconds)
    answer |= {"step_time_ms": step * 1e3, f"{row['unit']}_per_second": whole / step, "spread": (max(seconds) - min(seconds)) / step}
    answer["joules_per_unit"] = median(sharing * r["joules"] / (r["steps"] * units) if r.get("joules") is not None else None for r in c.rounds)
    watts = [r["joules"] / r["seconds"] for r in c.rounds if r.get("joules") is not None]
    answer["watts"] = median(watts)
    peak = next((flops for name, flops in PEAK_FLOPS.items() if gpu and name in gpu), None)
    if peak and row.get("flops_per_token"):
        answer["mfu"] = row["flops_per_token"] * row["batch"] * tokens_per_sample(row) / step / peak / sharing
    return answer


def ratios(answers, peers, ours=OURS):
    """Ours over each peer: of the medians, and the lowest and highest of rounds taken one after the other."""
    ours, found = answers.get(ours, {}), {}
    for name in peers:
        peer = answers.get(name, {})
        if "step_time_ms" not in ours or "step_time_ms" not in peer:
            continue
        each = [(b["seconds"] / b["steps"]) / (a["seconds"] / a["steps"]) for a, b in zip(ours["rounds"], peer["rounds"])]
        found[name] = {"ratio": peer["step_time_ms"] / ours["step_time_ms"], "lowest": min(each), "highest": max(each),
                       "interleaved": ours["interleaved"] and peer["interleaved"]}
    return found
