#!/usr/bin/env python3
"""One page of a training step on a GPU: what each pass changed, launches with predicted time, roofs, liveness.

    tessera plan data.csv --device cuda --json > plan.json
    plan_page.py plan.json [ncu.csv] > plan.html        with a file of ncu, as for predict.py, also what launches took

Self-contained, in the report page's style; arrow keys go from launch to launch.
"""
import html
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import predict  # noqa: E402

COLORS = {"latency": "real", "launch": "soft", "issue": "synthetic", "shared memory": "plus", "L2": "minus",
          "tensor cores": "fair", "not predicted": "line"}
STYLE = """
.launch:focus-visible{outline:none}
.launch:focus-visible .row{fill:var(--link);fill-opacity:.18}
.row{fill:transparent}
.alive{fill:var(--real);fill-opacity:.35;stroke:var(--real)}
.alive.on{fill:var(--synthetic);fill-opacity:.8}
.ends{stroke:var(--text);stroke-opacity:.6}
.roof,.took{stroke:var(--text);fill:none}
.least{stroke:var(--poor);stroke-dasharray:5 4}
figure.whole,figure.whole svg{max-width:none}
figure.roofs,figure.roofs svg{max-width:760px}
td:first-child{white-space:nowrap}
output{position:sticky;bottom:0;background:var(--card);border-top:1px solid var(--line)}
"""
SCRIPT = """
var output = document.querySelector('output');
document.querySelectorAll('svg').forEach(function (svg) {
  var all = Array.from(svg.querySelectorAll('.launch'));
  all.forEach(function (one, i) {
    function show() {
      output.textContent = one.getAttribute('aria-label');
      document.querySelectorAll('.alive').forEach(function (box) {
        var at = Number(one.dataset.at);
        box.classList.toggle('on', Math.min(at - box.dataset.first, box.dataset.last - at) >= 0);
      });
    }
    one.addEventListener('focus', show);
    one.addEventListener('pointerenter', show);
    one.addEventListener('keydown', function (event) {
      var by = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
      var next = by ? all[i + by] : null;
      if (next) { event.preventDefault(); next.focus(); }
    });
  });
});
"""


def table(head, rows):
    cell = lambda tag, text: (f'<{tag} class="n">' if isinstance(text, (int, float)) or text[:1] == "\0" else f"<{tag}>") + (
        f"{text:,}" if isinstance(text, int) else f"{text:.2f}" if isinstance(text, float) else html.escape(text.lstrip("\0"))
    ) + f"</{tag}>"
    body = "".join("<tr>" + "".join(cell("td", x) for x in row) + "</tr>" for row in rows)
    return ('<div class="scroll"><table><thead><tr>' + "".join(cell("th", x) for x in head) + "</tr></thead><tbody>" + body +
            "</tbody></table></div>")


def passes(plan):
    def change(p):
        return ", ".join(f"{n:+} {kind}".replace("-", "−") for kind, n in sorted(p["change"].items())) or "nothing here"
    rows = [(p["pass"], p["what"], p["ops_before"], p["ops_after"], p["flops_before"] / 1e6, p["flops_after"] / 1e6, change(p))
            for p in plan["passes"]]
    return table(("pass", "what it does", "\0ops", "\0after", "\0MFLOP", "\0after", "changed"), rows)


class Launch:
    def __init__(self, number, group):
        self.number, self.group = number, group
        self.us, self.low, self.high, self.binds = predict.predict_launch(group) or (0, 0, 0, "not predicted")
        self.ops = " | ".join(" · ".join(chain["ops"]) + f" by {chain['cut']}" for chain in group["chains"])
        self.took = None

    def mark(self, inner):
        said = (f"Launch {self.number}: predicted {self.us:.1f} µs ({self.low:.1f} to {self.high:.1f}), {self.binds}" +
                (f", measured {self.took:.1f}" if self.took else "") + f". {self.ops}")
        said = html.escape(said, quote=True)
        return (f'<g class="launch" tabindex="0" role="img" data-at="{self.number}" aria-label="{said}"><title>{said}</title>'
                f"{inner}</g>")

    def fill(self):
        return f'style="fill:var(--{COLORS.get(self.binds, "line")})"'


def svg(width, height, label, inner):
    return f'<svg viewBox="0 0 {width} {height}" role="group" aria-label="{label}">{inner}</svg>'


def text(x, y, what, anchor="start", kind="small"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(what)}</text>'


def gantt(launches):
    total, at, rows = max(sum(max(x.us, x.took or 0) for x in launches), 1), 0, ""
    scale = lambda us: 40 + us / total * 860
    for i, x in enumerate(launches):
        y = 20 + 18 * i
        bar = (f'<rect class="row" x="0" y="{y}" width="1200" height="18"/>' + text(30, y + 13, str(x.number), "end") +
               f'<rect {x.fill()} x="{scale(at):.1f}" y="{y + 3}" width="{max(scale(at + x.us) - scale(at), 1):.1f}" height="12"/>'
               f'<path class="ends" d="M{scale(at + x.low):.1f} {y + 9}H{scale(at + x.high):.1f}"/>' +
               (f'<path class="took" d="M{scale(at + x.took):.1f} {y + 1}v16"/>' if x.took else ""))
        left = scale(at + max(x.high, x.took or 0)) < 780
        bar += text(scale(at + max(x.high, x.took or 0)) + 6 if left else scale(at) - 6, y + 13,
                    x.ops if len(x.ops) < 60 else x.ops[:59] + "…", "start" if left else "end")
        rows += x.mark(bar)
        at += max(x.us, x.took or 0)
    height = 30 + 18 * len(launches)
    step = 10 ** math.floor(math.log10(total))
    grid = "".join(f'<path class="grid" d="M{scale(us):.1f} 16V{height}"/>' + text(scale(us), 12, f"{us:g} µs", "middle")
                   for us in (i * step / 2 for i in range(int(2 * total / step) + 1)))
    kinds = [name for name in COLORS if any(x.binds == name for x in launches)]
    key = "".join(f'<rect style="fill:var(--{COLORS[name]})" x="{40 + 130 * i}" y="{height + 8}" width="16" height="10"/>' +
                  text(62 + 130 * i, height + 17, name) for i, name in enumerate(kinds))
    return f'<figure class="whole">{svg(1200, height + 26, "Launches in time", grid + rows + key)}</figure>'


def roofs(launches):
    card = predict.CARD
    cycles = card["multiprocessors"] * card["clock_mhz"]  # of all multiprocessors in a microsecond
    least = card["node_us"] + card["entry_us"]
    work = [max(x.group["flops"] / 256 / cycles, x.group["bytes"] / card["l2_bytes_a_cycle"] / cycles, 0.01) for x in launches]
    top = 2 * max(*(x.high for x in launches), *work, least)
    place = lambda us: (math.log10(max(us, 0.01)) + 2) / (math.log10(top) + 2)
    x_of, y_of = lambda us: 60 + 520 * place(us), lambda us: 400 - 370 * place(us)
    inner = "".join(f'<path class="grid" d="M{x_of(t):.1f} 30V400M60 {y_of(t):.1f}H580"/>' +
                    text(x_of(t), 415, f"{t:g}", "middle") + text(54, y_of(t) + 4, f"{t:g}", "end")
                    for t in (10.0 ** e for e in range(-2, math.ceil(math.log10(top)))))
    inner += (f'<path class="roof" d="M60 400L{x_of(top):.1f} {y_of(top):.1f}"/>'
              f'<path class="least" d="M60 {y_of(least):.1f}H580"/>' +
              text(578, y_of(least) + 13, f"an empty launch, {least:.1f} µs", "end") + text(560, 430, "µs of work at the roof", "end") +
              text(4, 18, "predicted µs"))
    for x, us in zip(launches, work):
        if x.us:
            inner += x.mark(f'<circle {x.fill()} cx="{x_of(us):.1f}" cy="{y_of(x.us):.1f}" r="5"/>')
    return f'<figure class="roofs">{svg(600, 440, "Work and predicted time", inner)}</figure>'


def liveness(plan):
    """Values of the arena from the launch that computes them to the last that reads them, or a view of them."""
    source = {out[0]: view["in"][0][0] for view in plan["views"] for out in view["out"] if view["in"]}
    parts = {out[0]: [v[0] for v in view["in"]] for view in plan["views"] for out in view["out"]}

    def seen(v):  # what a view shows
        return [x for part in parts[v] for x in seen(part)] if v in source else [v]
    first, last = {}, {}
    for number, group in enumerate(plan["groups"], 1):
        for values in (v for chain in group["chains"] for v in chain["values"]):
            for v, _, _ in values["out"]:
                first.setdefault(v, number), last.setdefault(v, number)
            for v, _, _ in values["in"]:
                for x in seen(v):
                    last[x] = number
    count, whole = len(plan["groups"]), max(plan["memory"]["activation_bytes"], 1)
    x_of, y_of = lambda n: 60 + (n - 1) / count * 1120, lambda b: 20 + b / whole * 360
    inner = "".join(text((x_of(n) + x_of(n + 1)) / 2, 14, str(n), "middle") for n in range(1, count + 1))
    inner += text(54, 28, "0", "end") + text(54, 380, f"{whole / 1e6:.1f} MB", "end")
    for v, begin, size in plan["arena"]:
        if v in first:
            box = f'x="{x_of(first[v]):.1f}" y="{y_of(begin):.2f}" width="{x_of(last[v] + 1) - x_of(first[v]):.1f}"'
            inner += (f'<rect class="alive" data-first="{first[v]}" data-last="{last[v]}" {box} '
                      f'height="{max(size / whole * 360, 0.5):.2f}"><title>value {v}: {size:,} bytes, launches {first[v]} to '
                      f"{last[v]}</title></rect>")
    return f'<figure class="whole">{svg(1200, 390, "Memory by launch", inner)}</figure>'


class Picture:
    """A figure as a notebook shows it: one SVG, in the page's light colors."""

    def __init__(self, what, figure):
        self.what, self.figure = what, figure

    def __repr__(self):
        return f"<{self.what}>"

    def _repr_svg_(self):
        page = (ROOT / "models/report/page.css").read_text().splitlines()
        rules = [r.removeprefix("svg ") for r in page if r.startswith(("svg text", ".axis,.grid"))] + re.findall(
            r"^\..*(?:fill|stroke):.*", STYLE, re.MULTILINE)
        style = "".join(",".join(".plan " + x for x in r.split("{")[0].split(",")) + r[r.index("{"):] for r in rules)
        drawn = self.figure[self.figure.index("<svg"):self.figure.rindex("</svg>")]
        head, _, body = re.sub(r' (aria-label|role|tabindex|data-\w+)="[^"]*"', "", drawn).partition(">")
        colors = dict(re.findall(r"--(\w+):([^;}]+)", page[0]))
        return re.sub(r"var\(--(\w+)\)", lambda name: colors[name[1]],
                      head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" class="plan"') +
                      f'><style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{body}</svg>')


def launches_of(plan):
    return [Launch(number, group) for number, group in enumerate(plan["groups"], 1)]


def main(path, ncu=None):
    plan = json.loads(pathlib.Path(path).read_text())
    launches = launches_of(plan)
    for x, took in zip(launches, predict.measured(ncu) if ncu else []):
        x.took = took
    us, low, high = (sum(getattr(x, key) for x in launches) for key in ("us", "low", "high"))
    title = f"One step of {plan['method']}, preset {plan['preset']}, a batch of {plan['batch']}"
    tiles = [(f"{us:.0f} µs", f"predicted on an H100, {low:.0f} to {high:.0f}"), (plan["launches"], "launches"),
             (f"{sum(x.us for x in launches if x.binds in ('latency', 'launch')):.0f} µs", "in launches bound by latency"),
             (f"{plan['memory']['activation_bytes'] / 1e6:.1f} MB", "arena of activations")]
    if ncu:
        tiles.insert(1, (f"{sum(x.took or 0 for x in launches):.0f} µs", "measured"))
    sections = [
        ("passes", "Passes", "Ops before and after each pass, and which kinds it removed or added.", passes(plan)),
        ("launches", "Launches", "One after the other, by predicted time; a line goes from the low to the high end of the "
         "error bars, a stroke stands at what was measured. Colors say what takes most of a launch.", gantt(launches)),
        ("roofs", "Roofs", "Right: more work; up: more time. The diagonal is the roof: FLOPs at 256 a cycle and "
         "multiprocessor, or bytes at the rate of the second-level cache. The dashed line is what a launch without work "
         "takes: below it no work helps.", roofs(launches)),
        ("memory", "Memory", "Values of the arena, by address, from the launch that computes them to the last that reads "
         "them. Those alive in the launch in focus are marked.", liveness(plan))]
    style = (ROOT / "models/report/page.css").read_text() + STYLE
    print('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, '
          f'initial-scale=1"/><meta name="color-scheme" content="light dark"/><title>{html.escape(title)}</title><style>{style}'
          f'</style></head>\n<body><a class="skip" href="#main">Skip to the passes</a><header><h1>{html.escape(title)}</h1>'
          '<p class="soft">Predicted by bench/predict.py; ' + ("measured by ncu" if ncu else "nothing was measured") +
          '.</p><nav aria-label="Contents"><ul>' + "".join(f'<li><a href="#{s[0]}">{s[1]}</a></li>' for s in sections) +
          '</ul></nav></header>\n<main id="main"><div class="tiles">' +
          "".join(f'<div class="tile"><b>{n}</b><span>{what}</span></div>' for n, what in tiles) + "</div>")
    for key, head, said, body in sections:
        print(f'<section aria-labelledby="{key}"><h2 id="{key}">{head}</h2><p>{said}</p>{body}</section>')
    print(f'<output aria-live="polite"></output></main><script>{SCRIPT}</script></body></html>')


if __name__ == "__main__":
    main(*sys.argv[1:])
