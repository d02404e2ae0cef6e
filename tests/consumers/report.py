"""The pages of evaluate --report and fit --report as a browser and an XML parser see them. 77: there is no Chromium.

report.py <program> [folder for screenshots]
"""
import csv
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

WIDTHS = (360, 800, 1280)

# Runs after the page's own script and tells the frame around it what it found.
PROBE = """<script>
window.addEventListener('load', function () {
  var button = document.querySelector('button[data-key=name]');
  if (button) button.click();
  var names = Array.from(document.querySelectorAll('#column-cards > li')).map(function (c) { return c.dataset.name; });
  var sorted = names.slice().sort(function (a, b) { return a.localeCompare(b); });
  var all = function (what) { return Array.from(document.querySelectorAll(what)); };
  var reached = all('a[href], button, summary, [tabindex]').filter(function (e) { return e.checkVisibility(); });
  var wrong = [reached.filter(function (e) { e.focus(); return document.activeElement !== e; }),
    all('a[href^="#"]').filter(function (a) { return !document.getElementById(a.hash.slice(1)); }),
    all('svg').filter(function (s) { return !s.getAttribute('aria-label'); }),
    all('table').filter(function (t) { return !t.caption; }),
    all('[id]').filter(function (e) { return document.getElementById(e.id) !== e; }),
    all('img, iframe, object, embed')].flat().map(function (e) { return e.outerHTML.slice(0, 60).replace(/ /g, '_'); });
  parent.postMessage([document.documentElement.scrollWidth - window.innerWidth,
    String(names) === String(sorted), performance.getEntriesByType('resource').length, wrong.join(';') || 'none', reached.length].join(' '), '*');
});
</script></body>"""

# A window has a least width that is more than a phone's; a frame has none.
FRAME = """<!DOCTYPE html><html><body style="margin:0"><script>
addEventListener('message', function (event) { document.body.dataset.probe = event.data; });
</script><iframe src="probed.html" style="border:0;width:%dpx;height:%dpx"></iframe></body></html>"""
HEIGHT = 1600


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)] if len(colour) == 7 else [int(c * 2, 16) / 255 for c in colour[1:]]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_contrast(page):
    """WCAG AA: 4.5 for text, 3 for what is drawn, on both grounds of both themes."""
    for theme in re.findall(r":root\{(--ground.*?)\}", page, re.S):
        colours = dict(re.findall(r"--(\w+):(#[0-9a-f]+)", theme))
        for ground in ("ground", "card"):
            for name, least in [("text", 4.5), ("soft", 4.5), ("link", 4.5), ("good", 4.5), ("fair", 4.5), ("poor", 4.5),
                                ("real", 3), ("synthetic", 3), ("plus", 3), ("minus", 3), ("error", 3)]:
                if name in colours:
                    found = contrast(colours[name], colours[ground])
                    assert found >= least, f"{name} on {ground} has a contrast of {found:.2f}"


def browse(browser, folder, width, dark, shot):
    frame = folder / "frame.html"
    frame.write_text(FRAME % (width, HEIGHT), encoding="utf-8")
    line = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={max(width, 500)},{HEIGHT}", "--virtual-time-budget=3000"]
    if dark:
        line.append("--blink-settings=preferredColorScheme=0")
    if shot:
        subprocess.run(line + [f"--screenshot={shot}", frame.as_uri()], check=True, capture_output=True, timeout=120)
    seen = subprocess.run(line + ["--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=120)
    errors = [l for l in seen.stderr.splitlines() if "CONSOLE" in l]
    assert not errors, errors
    return re.search(r'data-probe="([^"]*)"', seen.stdout).group(1).split()


def check(seen, where):
    over, by_name, loaded, wrong, reached = map(str, seen)
    assert int(over) <= 0, f"{where}: {over} pixels too wide"
    assert by_name == "true", f"{where}: the columns are not in the order that was asked for"
    assert loaded == "0", f"{where}: it loads something"
    assert wrong == "none", f"{where}: not for a keyboard or a screen reader, or made of a name: {wrong}"
    assert int(reached) > 4, f"{where}: a keyboard reaches {reached} things"


def write_wide(path, columns):
    lines = [",".join(f"column_{k}" for k in range(columns))]
    lines += [",".join(str((row * (k + 3)) % 17) for k in range(columns)) for row in range(120)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


HOSTILE = ("<b>bold</b><script>alert(1)</script>", "\u05d4\u05e2\u05de\u05d5\u05d3\u05d4", "\U0001f469\u200d\U0001f680 & 'quotes'",
           "a_name_without_a_space_" * 8, "all missing", "same")


def write_hostile(path, rows, shift):
    with open(path, "w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(HOSTILE)
        for k in range(rows):
            texts = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "&amp;")
            lines.writerow((texts[k % 3], ("\u05d0\u05d3", "\u05db\u05d7")[k % 2], "\U0001f600\U0001f389"[k * 7 % 2],
                            (k * 37 + shift) % 101 * 1e4, "", "one"))


def write_visits(path, patients, shift):
    lines = ["patient,day,pulse,drug"]
    for p in range(patients):
        lines += [f"p{p},{t},{60 + (p * 7 + t * (3 + shift)) % 23},{'abc'[(p + t // 4) % 3]}" for t in range(6 + p % 9)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    shots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)

        def run(*words):
            subprocess.run([program, *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        run("example", "real.csv", "--rows", "600", "--seed", "1")
        run("example", "other.csv", "--rows", "500", "--seed", "2")
        run("example", "holdout.csv", "--rows", "400", "--seed", "3")
        run("evaluate", "real.csv", "other.csv", "--holdout", "holdout.csv", "--report", "report.html", "--json")
        run("evaluate", "real.csv", "other.csv", "holdout.csv", "--report", "several.html", "--json")
        run("fit", "real.csv", "--model", "m.tessera", "--epochs", "3", "--report", "fit.html")
        write_wide(folder / "wide.csv", 300)
        run("evaluate", "wide.csv", "wide.csv", "--without-distances", "--without-c2st", "--report", "wide.html", "--json")
        write_hostile(folder / "names.csv", 300, 0)
        write_hostile(folder / "others.csv", 240, 5)
        run("evaluate", "names.csv", "others.csv", "--report", "hostile.html", "--json")
        for k, name in enumerate(("visits", "first", "second")):
            write_visits(folder / f"{name}.csv", 80, k)
        visits = ("--method", "sequence", "--sequence-key", "patient", "--sequence-index", "day", "--judges", "0", "--json")
        run("evaluate", "visits.csv", "first.csv", *visits, "--report", "visits.html")
        run("evaluate", "visits.csv", "first.csv", "second.csv", *visits, "--report", "sequences.html")
        browser = shutil.which("chromium")
        pages = {"report": WIDTHS, "several": WIDTHS, "fit": WIDTHS, "wide": WIDTHS[:1], "hostile": WIDTHS[:2],
                 "visits": WIDTHS[:2], "sequences": WIDTHS[:2]}
        for name, widths in pages.items():
            page = (folder / f"{name}.html").read_text(encoding="utf-8")
            xml.etree.ElementTree.fromstring(page.split("\n", 1)[1])
            check_contrast(page)
            if browser is None:
                continue
            (folder / "probed.html").write_text(page.replace("</body>", PROBE), encoding="utf-8")
            for width in widths:
                for dark in (False, True):
                    shot = shots and shots / f"{name}_{width}_{'dark' if dark else 'light'}.png"
                    check(browse(browser, folder, width, dark, shot), f"{name}.html at {width}")
    if browser is None:
        print("skipped: there is no chromium (Debian: chromium)")
        return 77
    return 0


sys.exit(main())
