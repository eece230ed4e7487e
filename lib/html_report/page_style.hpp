// How the page looks, and the little that moves on it.
#pragma once

namespace trainx::html_report {

inline constexpr const char* page_style = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --raised: #f6f8fa; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --bad: #cf222e; --good: #1a7f37 }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --raised: #161b22; --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --c0: #4493f8; --c1: #f0883e; --c2: #3fb950; --bad: #f85149; --good: #3fb950 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1560px; padding: 24px; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 19px; margin: 36px 0 12px }
code, pre { font: 13px/1.5 ui-monospace, monospace } pre { background: var(--raised); padding: 12px; border-radius: 8px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; margin: 12px 0 }
.soft { color: var(--soft) } .bad { color: var(--bad) } .good { color: var(--good) } .state { font-weight: 600 }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 12px; margin: 20px 0 }
.tile { background: var(--raised); border-radius: 8px; padding: 12px 16px } .tile b { display: block; font-size: 21px; font-variant-numeric: tabular-nums } .tile span { color: var(--soft); font-size: 13px }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(640px, 100%), 1fr)); gap: 20px }
figure { margin: 0; background: var(--raised); border-radius: 8px; padding: 12px 12px 4px; position: relative } figcaption { padding: 0 4px 6px }
.key { float: right; margin-left: 16px; font-size: 13px; color: var(--soft) } .key::before { content: ''; display: inline-block; width: 16px; height: 0; border-top: 3px solid currentColor; margin-right: 6px; vertical-align: middle }
.key.c0::before { border-color: var(--c0) } .key.c1::before { border-color: var(--c1) } .key.c2::before { border-color: var(--c2) } .key.level::before { border-top: 2px dashed var(--soft) }
svg { display: block; width: 100%; height: auto } svg text { fill: var(--soft); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums }
.grid { stroke: var(--line); stroke-width: 1; opacity: .6 } .axis { stroke: var(--soft) } .level { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4 }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round } .curve.c0 { stroke: var(--c0) } .curve.c1 { stroke: var(--c1) } .curve.c2 { stroke: var(--c2) }
.dot.c0 { fill: var(--c0) } .dot.c1 { fill: var(--c1) } .dot.c2 { fill: var(--c2) } .spot { fill: var(--ground); stroke: var(--text); stroke-width: 2 }
.tip { position: absolute; pointer-events: none; background: var(--text); color: var(--ground); border-radius: 6px; padding: 3px 8px; font-size: 13px; white-space: nowrap; transform: translate(-50%, -130%) }
.bars { display: grid; grid-template-columns: max-content minmax(60px, 1fr) max-content; gap: 6px 14px; align-items: center; max-width: 900px }
.track { background: var(--raised); border-radius: 4px; height: 16px } .bar { display: block; background: var(--c0); border-radius: 4px; height: 16px; min-width: 1px } .number { text-align: right; font-variant-numeric: tabular-nums }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: 14px } th, td { text-align: left; padding: 4px 20px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top } th { color: var(--soft); font-weight: 500 }
summary { cursor: pointer; color: var(--soft); margin: 8px 0 }
)css";

/// Shows the point of a curve that is nearest to the pointer.
inline constexpr const char* page_script = R"js(
for (const svg of document.querySelectorAll('svg[data-spots]')) {
  const curves = JSON.parse(svg.dataset.spots), figure = svg.parentNode, tip = document.createElement('div'), spot = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
  tip.className = 'tip'; tip.hidden = true; figure.append(tip);
  spot.setAttribute('r', 4); spot.setAttribute('class', 'spot'); spot.setAttribute('visibility', 'hidden'); svg.append(spot);
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), unit = box.width / svg.viewBox.baseVal.width, x = (event.clientX - box.left) / unit, y = (event.clientY - box.top) / unit;
    let best = null, distance = Infinity;
    for (const [name, points] of curves) for (const point of points) {
      const d = Math.abs(point[0] - x) + Math.abs(point[1] - y) / 8;
      if (d < distance) distance = d, best = [name, point];
    }
    const [name, [px, py, text]] = best;
    spot.setAttribute('cx', px); spot.setAttribute('cy', py); spot.setAttribute('visibility', 'visible');
    tip.hidden = false; tip.textContent = curves.length > 1 ? name + ', ' + text : text;
    tip.style.left = Math.min(Math.max(svg.offsetLeft + px * unit, 70), figure.clientWidth - 70) + 'px'; tip.style.top = svg.getBoundingClientRect().top - figure.getBoundingClientRect().top + py * unit + 'px';
  });
  svg.addEventListener('pointerleave', () => { tip.hidden = true; spot.setAttribute('visibility', 'hidden'); });
}
)js";

}  // namespace trainx::html_report
