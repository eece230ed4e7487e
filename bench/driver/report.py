"""What bench/drive measured, as a Markdown table and an SVG plot. What is missing is a dash."""
import html
import json

from figures import OURS

GIB = 2**30


def load(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def short(value):
    """Three or four digits of a rate."""
    if value is None:
        return "-"
    if value >= 1e3:
        return f"{value / 1e3:.{0 if value >= 1e5 else 1}f}k"
    return f"{value:.{0 if value >= 100 else 1}f}"


def number(value, digits, scale=1):
    return "-" if value is None else f"{value / scale:.{digits}f}"


def beside(measured, predicted, digits, scale):
    """A measured figure with the prediction, where there is one, and how far that was off."""
    if measured is None or predicted is None:
        return number(measured, digits, scale)
    return f"{measured / scale:.{digits}f} (predicted {predicted / scale:.{digits}f}: {100 * (predicted / measured - 1):+.1f} %)"


def merge(folders, order):
    """The rows of several folders in `order`: the later folder wins, but no unfinished row takes a finished one's place."""
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            row = load(path)
            if not isinstance(row, dict) or "contestants" not in row:
                continue
            if row["complete"] or not found.get(row["name"], {}).get("complete"):
                found[row["name"]] = row
    return sorted(found.values(), key=lambda row: (order.index(row["name"]) if row["name"] in order else len(order), row["name"]))


def goal_memory(row):
    goal = row.get("goal_memory") or {}
    if "gib" in goal:
        return f"<= {goal['gib']:g}"
    if "share" not in goal:
        return "-"
    ours, peer = (row["contestants"].get(name, {}).get("done", {}).get("peak_memory_bytes") for name in (OURS, row["against"]))
    return f"<= {goal['share']:g} of {row['against']}" + (f" (is {ours / peer:.2f})" if ours and peer else "")


def outcome(row, name):
    """The rate, or what kept it from being measured."""
    c = row["contestants"][name]
    if c["failure"]:
        return "out of memory" if c["failure"]["out_of_memory"] else "no time" if c["failure"]["late"] else "failed"
    return short(c.get(f"{row['unit']}_per_second"))


def markdown(rows):
    head = ["work", "who", "per second", "goal", "ours over it", "goal", "ms a step", "memory [GiB]", "goal", "on the device [GiB]", "mJ per unit",
            "MFU", "first step [s]"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * 2 + "---:|" * (len(head) - 2)]
    for row in rows:
        for i, (name, c) in enumerate(row["contestants"].items()):
            ours, done, ratio = name == OURS, c["done"], row["ratios"].get(name)
            over = "-" if not ratio else f"{ratio['ratio']:.2f}{'' if ratio['interleaved'] else ' (alone)'}"
            rate = outcome(row, name) + (f" {row['unit']}" if "step_time_ms" in c else "")
            goal_ratio = f">= {row['goal_ratio']:g}" if name == row["against"] and row["goal_ratio"] else ""
            cells = [
                row["title"] if i == 0 else "", f"**{name}**" if ours else name, rate, short(row["goal"]) if ours else "", "" if ours else over,
                goal_ratio,
                beside(c.get("step_time_ms"), done.get("predicted_step_time_ms"), 2, 1),
                beside(done.get("peak_memory_bytes"), done.get("predicted_peak_memory_bytes"), 1, GIB), goal_memory(row) if ours else "",
                number(c["device_memory_bytes"], 1, GIB), number(c.get("joules_per_unit"), 3 if row["unit"] == "tokens" else 0, 1e-3),
                "-" if c.get("mfu") is None else f"{100 * c['mfu']:.1f} %", number(c["ready"].get("first_step_seconds"), 1)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *notes(rows)]) + "\n"


def notes(rows):
    """What one needs to know to read the table."""
    each = [(row, name, c) for row in rows for name, c in row["contestants"].items()]

    def listed(values, between=", "):
        return between.join(sorted(set(values))) or "-"
    machines = []
    for m in (row["machine"] for row in rows):
        facts = [m["gpu"] or "no GPU that NVML knows", m["power_limit_watts"] and f"{m['power_limit_watts']:.0f} W",
                 m["driver"] and f"driver {m['driver']}"]
        machines.append(", ".join(fact for fact in facts if fact))
    versions = [f"{key} {c['done'].get('versions', {}).get(key)}" for _, name, c in each for key in ("torch", "transformers")
                if name != OURS and c["done"].get("versions", {}).get(key)]
    commits = [str(c["done"]["commit"]) for _, name, c in each if name == OURS and c["done"].get("commit")]
    settings = [f"{s['rounds']} rounds of about {s['seconds_per_round']:g} s, {s['caches']} caches" for s in (row["settings"] for row in rows)]
    spreads = [c["spread"] for _, _, c in each if c.get("spread") is not None]
    days = [row["measured"][:10] for row in rows]
    lines = [f"Machine: {listed(machines, '; ')}. Peers: {listed(versions)}. trainx: commit {listed(commits)}. Measured: {listed(days)}.",
             f"The contestants of a row share the machine and take turns ({listed(settings, '; ')}); medians over rounds" +
             (f", which lie at most {100 * max(spreads):.1f} % apart." if spreads else "."),
             "Memory: the allocator's peak; what the process takes, as the device shows it. mJ per unit: a token or a sample, by the GPU's counter.",
             f"MFU: {listed((row.get('flops_note') or '6 FLOPs a weight' for row in rows), '; ')}, a token, 12 LCT of attention, over the maker's dense bf16 peak. First step: since the start of the process."]
    if any(not c["interleaved"] for _, _, c in each):
        lines.append("(alone): did not fit beside the others and ran after them, not in turns.")
    lines += [f"{row['title']}: unfinished." for row in rows if not row["complete"]]
    lines += [f"{row['title']}, {name}: {c['failure']['why']}." for row, name, c in each if c["failure"]]
    return [f"- {line}" for line in lines]


STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 13px } .soft { fill: #59636e }
  .ours { fill: #0969da } .peer { fill: #afb8c1 } .goal { stroke: #bf3989; stroke-width: 2; stroke-dasharray: 4 2 } .goal-text { fill: #bf3989 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .soft { fill: #9198a1 } .ours { fill: #4493f8 } .peer { fill: #656c76 }
    .goal { stroke: #f778ba } .goal-text { fill: #f778ba } }
"""


def svg(rows):
    """Horizontal bars, a group for each row on a scale of its own; the goal as a dashed line."""
    left, width, bar, gap = 190, 430, 16, 5
    parts, y = [], 10
    for row in rows:
        rates = {name: c.get(f"{row['unit']}_per_second") for name, c in row["contestants"].items()}
        largest = max([r for r in [*rates.values(), row["goal"]] if r], default=None)
        unit = f'<tspan class="soft" font-weight="400"> - {row["unit"]} per second</tspan>'
        parts.append(f'<text class="title" x="10" y="{y + 13}">{html.escape(row["title"])}{unit}</text>')
        y += 24
        top = y
        for name, rate in rates.items():
            middle = y + bar - 4
            parts.append(f'<text x="{left - 8}" y="{middle}" text-anchor="end">{html.escape(name)}</text>')
            ratio, label = row["ratios"].get(name), outcome(row, name)
            if rate:
                extent = width * rate / largest
                parts.append(f'<rect class="{"ours" if name == OURS else "peer"}" x="{left}" y="{y}" width="{extent:.1f}" height="{bar}" rx="2"/>')
                label += f" (ours: x {ratio['ratio']:.2f}{'' if ratio['interleaved'] else ', alone'})" if ratio else ""
            parts.append(f'<text x="{left + width + 10}" y="{middle}">{label}</text>')
            y += bar + gap
        if row["goal"]:
            x = left + width * row["goal"] / largest
            parts.append(f'<line class="goal" x1="{x:.1f}" y1="{top - 3}" x2="{x:.1f}" y2="{y - gap + 3}"/>')
            parts.append(f'<text class="goal-text" x="{x:.1f}" y="{top - 7}" text-anchor="middle">goal {short(row["goal"])}</text>')
        y += 14
    total = left + width + 150
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{y}" viewBox="0 0 {total} {y}" role="img" '
            f'aria-label="training speed of trainx and its peers"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n")
