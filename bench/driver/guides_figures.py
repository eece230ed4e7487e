"""What the guides' tables say of each measured row: rates, memory, goals, and what trainx chose."""
from figures import OURS
from guides import FITTED, WITHIN


def of(row):
    """None stands for what was not measured."""
    own, peer = row["contestants"].get(OURS), row["against"]
    ratio = row["ratios"].get(peer, {}).get("ratio")
    ours, fitted, within, theirs = (rate(row, name) for name in (OURS, FITTED, WITHIN, peer))
    peaks = {name: peak(row, name) for name in (OURS, FITTED, WITHIN, peer)}
    states = (own or {}).get("planned", {}).get("states_bytes")
    goal = max(row["goal_memory"]["share"] * peaks[peer], row["goal_memory"]["floor"] * states) if peaks[peer] and states else None
    return {
        "name": row["name"], "title": row["title"], "table": row["table"], "batch": row["batch"], "methods": row["methods"], "complete": row["complete"],
        "measured": row["measured"], "machine": row["machine"],
        "samples_per_second": {"as_asked": ours, "as_fitted": fitted, "within_goal": within, "peer": theirs},
        "ratio": ratio, "goal_ratio": row["goal_ratio"], "meets_ratio": ratio >= row["goal_ratio"] if ratio and row["goal_ratio"] else None,
        "fitted_ratio": fitted / theirs if fitted and theirs else None,
        "within_ratio": within / theirs if within and theirs else None,
        "peak_bytes": {"as_asked": peaks[OURS], "as_fitted": peaks[FITTED], "within_goal": peaks[WITHIN], "peer": peaks[peer]}, "states_bytes": states,
        "memory_ratio": peaks[OURS] / peaks[peer] if peaks[OURS] and peaks[peer] else None,
        "goal_bytes": goal, "meets_memory": peaks[OURS] <= goal if goal and peaks[OURS] else None,
        "within_meets_memory": peaks[WITHIN] <= goal if goal and peaks[WITHIN] else None,
        "fitted": choice(row, FITTED), "within": choice(row, WITHIN), "failures": {name: why(c["failure"]) for name, c in row["contestants"].items() if c["failure"]},
    }


def stands_for(row, name):
    """The contestant whose figures are those of `name`: itself, or one that came to the same run."""
    c = row["contestants"].get(name, {})
    return row["contestants"].get(c["same_as"], {}) if c.get("same_as") else c


def rate(row, name):
    return stands_for(row, name).get(f"{row['unit']}_per_second")


def peak(row, name):
    return stands_for(row, name).get("done", {}).get("peak_memory_bytes")


def choice(row, name):
    """What trainx chose where it was free to, in short."""
    c = row["contestants"].get(name, {})
    if c.get("same_as"):
        return "as asked"
    planned = c.get("planned", {})
    if "micro_batch_size" not in planned:
        return None
    key = "memory.activation_checkpoint "
    recomputed = next((text[len(key):].partition(":")[0] for text in planned["choices"] if text.startswith(key)), "none")
    return f"{planned['grad_accum_steps']} x {planned['micro_batch_size']}, " + ("nothing recomputed" if recomputed == "none" else f"recomputing {recomputed}")


def why(failure):
    """One sentence: what the contestant said last, where it said anything."""
    if failure["out_of_memory"]:
        return "out of memory"
    said = failure["stderr"][-1].strip().removeprefix("trainx: ") if failure["stderr"] else ""
    return f"{said} (exit code {failure['exit_code']})" if said and failure["exit_code"] else failure["why"]
