"""Arithmetic of bench/parity: gaps between held-out losses of paired runs, and their bounds.

Bounds of an arm, against the baseline over the same seeds:
- the gap of the mean final loss is below the standard error of the baseline's seeds;
- it is below 0.25 % of the baseline's mean final loss;
- the gap's slope over the last half of training is not above zero.
Gaps are signed: an arm with a lower loss than the baseline has a negative gap.
"""
import json
import math
import pathlib
import statistics

LARGEST_GAP = 0.0025  # of the baseline's loss


def run_name(arm, seed):
    return f"{arm.replace(' ', '-')}-seed-{seed}"


def lines_of(folder):
    path = pathlib.Path(folder) / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def mark_finished(folder):
    (pathlib.Path(folder) / "parity_finished").touch()


def is_finished(folder):
    return (pathlib.Path(folder) / "parity_finished").exists()


def curve_of(folder):
    """[[step, held-out loss]] in order. A resumed run may repeat a step: the last line counts."""
    losses = {line["step"]: line["eval_loss"] for line in lines_of(folder) if "eval_loss" in line}
    return [[step, losses[step]] for step in sorted(losses)]


def collect(out):
    """All finished runs of a study's folder, as `bench/parity table --json` keeps them."""
    study = json.loads((out / "study.json").read_text())
    arms = {}
    for arm, settings in study["study"]["arms"].items():
        curves, step_ms, tokens = {}, [], 0
        prefix = run_name(arm, "")
        for folder in sorted((out / "runs").glob(prefix + "*")):
            seed = folder.name.removeprefix(prefix)
            if not seed.isdigit() or not is_finished(folder):
                continue
            curves[seed] = curve_of(folder)
            lines = [line for line in lines_of(folder) if "step_time_ms" in line]
            step_ms += [line["step_time_ms"] for line in lines]
            tokens = lines[-1]["tokens_seen"]
        arms[arm] = {"settings": settings, "tokens": tokens, "curves": curves}
        arms[arm]["step_ms"] = statistics.median(step_ms) if step_ms else None
    return {**study, "arms": arms}


def standard_error(values):
    """Of the mean; infinite for fewer than two values."""
    if len(values) < 2:
        return math.inf
    return statistics.stdev(values) / math.sqrt(len(values))


def slope(points):
    """Least squares, per unit of x."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def last_half(points):
    return [point for point in points if 2 * point[0] >= points[-1][0]]


def gap_curve(curve, baseline):
    """[[step, loss - baseline's loss]] at the steps that both have."""
    of_baseline = dict(map(tuple, baseline))
    return [[step, loss - of_baseline[step]] for step, loss in curve if step in of_baseline]


def mean_curve(curves):
    steps = set.intersection(*({step for step, _ in curve} for curve in curves))
    return [
        [step, statistics.fmean(dict(map(tuple, curve))[step] for curve in curves)]
        for step in sorted(steps)
    ]


def steps_to(curve, loss):
    """Where a curve first is at `loss` or below, between points by a straight line. None: never."""
    before = None
    for step, value in curve:
        if value <= loss:
            if before is None or before[1] == value:
                return step
            return before[0] + (step - before[0]) * (before[1] - loss) / (before[1] - value)
        before = (step, value)
    return None


def compare(result):
    """A row for each arm, of the seeds that all arms have finished."""
    arms = result["arms"]
    seeds = sorted(set.intersection(*(set(arm["curves"]) for arm in arms.values())), key=int)
    if not seeds:
        return []
    finals = {name: [arm["curves"][s][-1][1] for s in seeds] for name, arm in arms.items()}
    means = {name: mean_curve([arm["curves"][s] for s in seeds]) for name, arm in arms.items()}
    equal_loss = max(curve[-1][1] for curve in means.values())  # that all arms reach
    baseline = next(iter(arms))
    rows = []
    for name, arm in arms.items():
        row = {"arm": name, "seeds": len(seeds), "loss": statistics.fmean(finals[name])}
        row["standard_error"] = standard_error(finals[name])
        row["steps_to_equal_loss"] = steps_to(means[name], equal_loss)
        if arm.get("step_ms"):
            row["seconds_to_equal_loss"] = row["steps_to_equal_loss"] * arm["step_ms"] / 1e3
        if name != baseline:
            add_gap(row, arm, arms[baseline], seeds, rows[0])
        rows.append(row)
    return rows


def add_gap(row, arm, baseline, seeds, of_baseline):
    gaps = [gap_curve(arm["curves"][s], baseline["curves"][s]) for s in seeds]
    row["gap"] = statistics.fmean(gap[-1][1] for gap in gaps)
    row["gap_error"] = standard_error([gap[-1][1] for gap in gaps])
    row["gap_share"] = row["gap"] / of_baseline["loss"]
    slopes = [1000 * slope(last_half(gap)) for gap in gaps]  # per 1,000 steps
    row["slope"], row["slope_error"] = statistics.fmean(slopes), standard_error(slopes)
    row["bounds"] = {
        "below the standard error": row["gap"] < of_baseline["standard_error"],
        "below 0.25 %": row["gap_share"] < LARGEST_GAP,
        "slope not above zero": row["slope"] <= 0,
    }
    row["within"] = len(seeds) > 1 and all(row["bounds"].values())


def verdict(row):
    if "within" not in row:
        return ""
    if row["seeds"] < 2:
        return "too few seeds"
    failed = [name for name, held in row["bounds"].items() if not held]
    return "yes" if row["within"] else "no: not " + ", not ".join(failed)


def markdown(result, rows):
    if not rows:
        return "no seed is finished in all arms"
    out = [
        "| Arm | Seeds | Held-out loss | Gap | Gap, % | Slope of the gap, last half, per 1,000 steps"
        " | Steps to equal loss | Seconds to equal loss | Within bounds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["arm"], str(row["seeds"]), f"{row['loss']:.4f} ± {row['standard_error']:.4f}"]
        if "gap" in row:
            cells += [f"{row['gap']:+.4f} ± {row['gap_error']:.4f}", f"{100 * row['gap_share']:+.3f}"]
            cells += [f"{row['slope']:+.4f} ± {row['slope_error']:.4f}"]
        else:
            cells += [""] * 3
        cells += [f"{row['steps_to_equal_loss']:.0f}"]
        cells += [f"{row['seconds_to_equal_loss']:.0f}" if "seconds_to_equal_loss" in row else ""]
        cells += [verdict(row)]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)
