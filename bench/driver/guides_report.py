"""The guides' tables as Markdown: the methods, the memory that fp16 saves, and what one needs to know to read them. A dash: not measured."""
import guides_figures
from guides_plot import svg_of
from report import GIB, number, short


def figures_of(rows):
    return {"rows": [guides_figures.of(row) for row in rows]}


def svg(rows):
    return svg_of(figures_of(rows)["rows"])


def markdown(rows):
    found = figures_of(rows)["rows"]
    parts = [methods(found)]
    if small := within_goal(found):
        parts.append(small)
    if pairs := memory_of_pairs(found):
        parts.append(pairs)
    return "\n\n".join([*parts, notes(rows, found)]) + "\n"


def table(head, rows, left=1):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * left + "---:|" * (len(head) - left)]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in rows)])


def against(goal, met):
    return "-" if goal is None else f"{goal}" + ("" if met is None else ", met" if met else ", **missed**")


def outcome(figure, who, name):
    value = figure["samples_per_second"][who]
    return short(value) if value else "out of memory" if figure["failures"].get(name) == "out of memory" else "failed" if name in figure["failures"] else "-"


def methods(found):
    head = ["methods", "samples/s", "Trainer", "ratio", "goal", "peak [GiB]", "Trainer", "ratio", "goal", "as fitted: samples/s", "over the Trainer", "peak [GiB]", "chosen"]
    rows = []
    for f in found:
        rates, peaks = f["samples_per_second"], f["peak_bytes"]
        rows.append([
            f["title"], outcome(f, "as_asked", guides_figures.OURS), outcome(f, "peer", "Trainer"), number(f["ratio"], 2),
            against(f["goal_ratio"] and f">= {f['goal_ratio']:g}", f["meets_ratio"]),
            number(peaks["as_asked"], 2, GIB), number(peaks["peer"], 2, GIB), number(f["memory_ratio"], 2),
            against(f["goal_bytes"] and f"<= {f['goal_bytes'] / GIB:.2f}", f["meets_memory"]),
            short(rates["as_fitted"]), number(f["fitted_ratio"], 2), number(peaks["as_fitted"], 2, GIB), f["fitted"] or "-"])
    return table(head, rows)


def within_goal(found):
    """The rows that take more memory than their goal as asked, with no more than that."""
    head = ["within the memory goal", "peak [GiB]", "goal", "samples/s", "over the Trainer", "goal", "of what it is as asked", "chosen"]
    rows = []
    for f in found:
        rates, peaks = f["samples_per_second"], f["peak_bytes"]
        if rates["within_goal"]:
            rows.append([f["title"], number(peaks["within_goal"], 2, GIB), against(f["goal_bytes"] and f"<= {f['goal_bytes'] / GIB:.2f}", f["within_meets_memory"]), short(rates["within_goal"]),
                         number(f["within_ratio"], 2), f["goal_ratio"] and f">= {f['goal_ratio']:g}" or "-", number(rates["within_goal"] / rates["as_asked"], 2) if rates["as_asked"] else "-", f["within"] or "-"])
    return table(head, rows) if rows else None


def memory_of_pairs(found):
    """The guides' table of what fp16 saves: peaks in MiB, of trainx and of the Trainer."""
    pairs = {(f["batch"], f["methods"]["precision"]): f["peak_bytes"] for f in found if f["table"] == "pairs"}
    rows = []
    for batch in sorted({batch for batch, _ in pairs}):
        cells = [str(batch)]
        for who in ("as_asked", "peer"):
            fp32, fp16 = (pairs.get((batch, precision), {}).get(who) for precision in ("fp32", "fp16"))
            cells += [number(fp32, 0, 2**20), number(fp16, 0, 2**20), number(fp32 - fp16 if fp32 and fp16 else None, 0, 2**20)]
        rows.append(cells)
    head = ["BERT-base, pairs: batch", "trainx fp32 [MiB]", "fp16", "saved", "Trainer fp32 [MiB]", "fp16", "saved"]
    return table(head, rows, left=0) if rows else None


def notes(rows, found):
    machines = {", ".join(str(x) for x in (m["gpu"] or "no GPU that NVML knows", m["driver"] and f"driver {m['driver']}") if x) for m in (r["machine"] for r in rows)}
    contestants = [(name, c) for row in rows for name, c in row["contestants"].items()]
    said = [c["done"].get("versions", {}) for name, c in contestants if name == "Trainer"]
    versions = {f"{key} {known[key]}" for known in said for key in ("torch", "transformers") if key in known}
    commits = sorted({str(c["done"]["commit"]) for _, c in contestants if c["done"].get("tool") == "trainx" and c["done"].get("commit")})
    days = sorted({row["measured"][:10] for row in rows})
    settings = {f"{s['rounds']} rounds of about {s['seconds_per_round']:g} s" for s in (row["settings"] for row in rows)}
    spreads = [c["spread"] for _, c in contestants if c.get("spread") is not None]
    lines = [
        f"Machine: {'; '.join(sorted(machines))}. Peer: Hugging Face Trainer, {', '.join(sorted(versions)) or 'not run'}. trainx: commit {', '.join(commits) or 'not known'}. Measured: {', '.join(days)}.",
        f"The contestants of a row share the machine and take turns ({'; '.join(sorted(settings))}); medians" +
        (f", rounds at most {100 * max(spreads):.1f} % apart." if spreads else "."),
        "As asked: every method of the row is applied. As fitted: the same samples a step, precision and optimizer, and trainx chooses the rest.",
        "Within the goal: as fitted with memory.budget at the memory goal.",
        "Peak: of the allocators. Goal: 0.7 of the Trainer's, or 1.1 of what weights, fp32 gradients and the optimizer's state take, whichever is more.",
        "BERT-large, two classes, random samples of 512 tokens; pairs: BERT-base, two sentences padded to 128 tokens; dropout 0.1 of hidden states and attention, as BERT is published."]
    if any(f["methods"]["tiny"] for f in found):
        lines[-1] = "--tiny: a model of two layers on samples of 32 tokens, which shows that the rows run; the figures mean nothing."
    lines += [f"{f['title']}, {name}: {sentence.rstrip('.')}." for f in found for name, sentence in f["failures"].items()]
    lines += [f"{f['title']}: unfinished." for f in found if not f["complete"]]
    return "\n".join(f"- {line}" for line in lines)
