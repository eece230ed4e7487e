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
    arms, commits = {}, set()
    for arm, settings in study["study"]["arms"].items():
        curves, step_ms, tokens = {}, [], 0
        prefix = run_name(arm, "")
        for folder in sorted((out / "runs").glob(prefix + "*")):
            seed = folder.name.removeprefix(prefix)
            if not seed.isdigit() or not is_finished(folder):
                continue
            curves[seed] = curve_of(folder)
            commits.add(json.loads((folder / "run.json").read_text())["commit"])
            lines = [line for line in lines_of(folder) if "step_time_ms" in line]
            step_ms += [line["step_time_ms"] for line in lines]
            tokens = lines[-1]["tokens_seen"]
        arms[arm] = {"settings": settings, "tokens": tokens, "curves": curves}
        arms[arm]["step_ms"] = statistics.median(step_ms) if step_ms else None
    return {**study, "commits": sorted(commits), "arms": arms}


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
    """A row for each arm that shares a seed with the baseline, over those seeds; the first is the baseline's, over all of its seeds."""
    arms = result["arms"]
    baseline = next(iter(arms))
    of_baseline = arms[baseline]["curves"]
    if not of_baseline:
        return []
    finals = [curve[-1][1] for curve in of_baseline.values()]
    rows = [{"arm": baseline, "seeds": len(finals), "loss": statistics.fmean(finals)}]
    rows[0]["standard_error"] = standard_error(finals)
    for name, arm in arms.items():
        seeds = sorted(set(arm["curves"]) & set(of_baseline), key=int)
        if name != baseline and seeds:
            rows.append(compare_arm(name, arm, arms[baseline], seeds))
    return rows


def compare_arm(name, arm, baseline, seeds):
    curves = [arm["curves"][s] for s in seeds]
    of_baseline = [baseline["curves"][s] for s in seeds]
    finals = [curve[-1][1] for curve in curves]
    gaps = [gap_curve(*pair) for pair in zip(curves, of_baseline, strict=True)]
    row = {"arm": name, "seeds": len(seeds), "loss": statistics.fmean(finals)}
    row["standard_error"] = standard_error(finals)
    row["gap"] = statistics.fmean(gap[-1][1] for gap in gaps)
    row["gap_error"] = standard_error([gap[-1][1] for gap in gaps])
    row["gap_share"] = row["gap"] / statistics.fmean(curve[-1][1] for curve in of_baseline)
    slopes = [1000 * slope(last_half(gap)) for gap in gaps]  # per 1,000 steps
    row["slope"], row["slope_error"] = statistics.fmean(slopes), standard_error(slopes)
    error = standard_error([curve[-1][1] for curve in of_baseline])
    row["bounds"] = {
        "below the standard error": row["gap"] < error,
        "below 0.25 %": row["gap_share"] < LARGEST_GAP,
        "slope not above zero": row["slope"] <= 0,
    }
    row["within"] = len(seeds) > 1 and all(row["bounds"].values())
    add_equal_loss(row, (baseline, mean_curve(of_baseline)), (arm, mean_curve(curves)))
    return row


def add_equal_loss(row, *arms):
    """Steps, and seconds by the median step time, of the baseline and the arm to the loss that both reach."""
    loss = max(curve[-1][1] for _, curve in arms)
    row["equal_loss"] = loss
    row["steps_to_equal_loss"] = [steps_to(curve, loss) for _, curve in arms]
    row["seconds_to_equal_loss"] = [
        steps * arm["step_ms"] / 1e3
        for (arm, _), steps in zip(arms, row["steps_to_equal_loss"], strict=True)
    ]


def verdict(row):
    if "within" not in row:
        return ""
    if row["seeds"] < 2:
        return "too few seeds"
    failed = [name for name, held in row["bounds"].items() if not held]
    return "yes" if row["within"] else "no: not " + ", not ".join(failed)


def markdown(rows):
    if not rows:
        return "no seed is finished"
    out = [
        "| Arm | Seeds | Held-out loss | Gap | Gap, % | Slope of the gap, last half, per 1,000 steps"
        " | Steps to equal loss, baseline / arm | Seconds | Within bounds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row["arm"], str(row["seeds"]), f"{row['loss']:.4f} ± {row['standard_error']:.4f}"]
        if "gap" in row:
            cells += [f"{row['gap']:+.4f} ± {row['gap_error']:.4f}", f"{100 * row['gap_share']:+.3f}"]
            cells += [f"{row['slope']:+.4f} ± {row['slope_error']:.4f}"]
            for key in ("steps_to_equal_loss", "seconds_to_equal_loss"):
                cells.append(" / ".join(f"{value:.0f}" for value in row[key]))
        else:
            cells += [""] * 5
        cells.append(verdict(row))
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)
