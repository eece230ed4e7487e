"""The guides' tables as an SVG: for each row speed and memory, beside the Trainer's where it was measured, in figures of their own where it was not."""
import html

from report import GIB, STYLE

LABEL, PANEL, GAP, BAR, ROW, TOP = 330, 300, 80, 9, 30, 44


def svg_of(found):
    relative = any(f["ratio"] for f in found)
    if relative:
        speed = [(f["ratio"], f["fitted_ratio"], f["goal_ratio"]) for f in found]
        memory = [(f["memory_ratio"], share(f, "as_fitted"), f["goal_bytes"] and f["goal_bytes"] / f["peak_bytes"]["peer"]) for f in found]
    else:
        speed = [(f["samples_per_second"]["as_asked"], f["samples_per_second"]["as_fitted"], None) for f in found]
        memory = [tuple(bytes_ and bytes_ / GIB for bytes_ in (f["peak_bytes"]["as_asked"], f["peak_bytes"]["as_fitted"])) + (None,) for f in found]
    titles = ("samples per second, over the Trainer's", "peak memory, of the Trainer's") if relative else ("samples per second", "peak memory [GiB]")
    width, height = LABEL + 2 * PANEL + 2 * GAP, TOP + ROW * len(found) + 30
    parts = [f'<text x="{LABEL - 8}" y="{TOP + ROW * i + 15}" text-anchor="end">{html.escape(f["title"])}</text>' for i, f in enumerate(found)]
    for number, (title, values) in enumerate(zip(titles, (speed, memory))):
        parts += panel(LABEL + number * (PANEL + GAP), title, values, relative, height)
    legend = [("ours", "as asked"), ("fitted", "as fitted")]
    for i, (kind, text) in enumerate(legend):
        parts.append(f'<rect class="{kind}" x="{10 + 90 * i}" y="8" width="12" height="{BAR}"/><text x="{26 + 90 * i}" y="17">{text}</text>')
    if relative:
        parts.append('<line class="goal" x1="196" y1="6" x2="196" y2="19"/><text x="204" y="17">goal</text>')
    style = STYLE + "  .fitted { fill: #54aeff } .one { stroke: #59636e } .goal { stroke-dasharray: none }\n"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="the guides\' methods, trainx beside the Trainer"><style>{style}</style>\n' + "\n".join(parts) + "\n</svg>\n")


def share(f, who):
    ours, peer = f["peak_bytes"][who], f["peak_bytes"]["peer"]
    return ours / peer if ours and peer else None


def panel(left, title, values, relative, height):
    largest = max([v for row in values for v in row if v], default=1)
    scale = PANEL / max(largest, 1)
    parts = [f'<text class="title" x="{left}" y="{TOP - 10}">{title}</text>']
    if relative:
        parts.append(f'<line class="one" x1="{left + scale:.1f}" y1="{TOP - 4}" x2="{left + scale:.1f}" y2="{height - 24}"/>')
    for i, (asked, fitted, goal) in enumerate(values):
        y = TOP + ROW * i
        for j, (kind, value) in enumerate((("ours", asked), ("fitted", fitted))):
            if value:
                parts.append(f'<rect class="{kind}" x="{left}" y="{y + 2 + j * (BAR + 1)}" width="{value * scale:.1f}" height="{BAR}" rx="2"/>')
        if goal:
            parts.append(f'<line class="goal" x1="{left + goal * scale:.1f}" y1="{y}" x2="{left + goal * scale:.1f}" y2="{y + 2 * BAR + 5}"/>')
        end = max([v for v in (asked, fitted, goal) if v], default=0)
        text = " / ".join(f"{v:.3g}" for v in (asked, fitted) if v) or "-"
        parts.append(f'<text class="soft" x="{left + end * scale + 6:.1f}" y="{y + 15}">{text}</text>')
    return parts
