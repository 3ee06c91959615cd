#!/usr/bin/env python3
"""Draws the charts of docs/performance from the figures in docs/performance/data.

Writes docs/images/pass_cost*.svg (time of a pass by its rows, relative to a pass of one row) and
docs/images/cost_curve.svg (why a candidate tree stops growing). Needs nothing but Python.

usage: tools/draw_performance.py [ROOT]
"""
import argparse
import csv
import html
import math
import pathlib
import re

# Class names of the series in order, with colours that keep their contrast on a light and on a dark background.
SERIES = (("s1", "#0969da", "#58a6ff"), ("s2", "#bc4c00", "#f0883e"), ("s3", "#1a7f37", "#3fb950"),
          ("s4", "#8250df", "#bc8cff"), ("s5", "#bf3989", "#f778ba"))
STYLE = """text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328;
  stroke: #ffffff; stroke-width: 4px; paint-order: stroke }
.title { font-size: 15px; font-weight: 600 }
.soft { fill: #59636e }
.end { text-anchor: end }
.mid { text-anchor: middle }
.paper { fill: #ffffff }
.grid { stroke: #d1d9e0; fill: none }
.rule { stroke: #59636e; stroke-dasharray: 5 4; fill: none }
.curve { fill: none; stroke-width: 2 }
"""
DARK = """text { fill: #e6edf3; stroke: #0d1117 }
.soft { fill: #9198a1 }
.paper { fill: #0d1117 }
.grid { stroke: #3d444d }
.rule { stroke: #9198a1 }
"""


class Picture:
    """An SVG document that follows the reader's light or dark colour scheme."""

    def __init__(self, width, height, title, description):
        light = STYLE + "".join(f".{c} {{ stroke: {on_light} }} .{c}f {{ fill: {on_light} }}\n"
                                for c, on_light, _ in SERIES)
        dark = DARK + "".join(f".{c} {{ stroke: {on_dark} }} .{c}f {{ fill: {on_dark} }}\n"
                              for c, _, on_dark in SERIES)
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-labelledby="title desc">',
            f'<title id="title">{html.escape(title)}</title>',
            f'<desc id="desc">{html.escape(description)}</desc>',
            f"<style>\n{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
        ]

    def text(self, x, y, text, kind=""):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{html.escape(text)}</text>')

    def line(self, points, kind):
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.lines.append(f'<polyline class="{kind}" points="{joined}"/>')

    def dots(self, points, kind):
        self.lines += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]

    def write(self, path):
        path.write_text("\n".join(self.lines + ["</svg>"]) + "\n", encoding="utf-8")


class Axes:
    """A rectangle of a picture with a scale on either side, logarithmic to base 2 or linear."""

    def __init__(self, picture, box, x_range, y_range, logarithmic):
        self.picture, self.box, self.x_range, self.y_range = picture, box, x_range, y_range
        self.map = math.log2 if logarithmic else float

    def at(self, x, y):
        left, top, right, bottom = self.box
        share = [(self.map(v) - self.map(low)) / (self.map(high) - self.map(low))
                 for v, (low, high) in ((x, self.x_range), (y, self.y_range))]
        return left + share[0] * (right - left), bottom - share[1] * (bottom - top)

    def grid(self, x_ticks, y_ticks, x_title, y_title, y_unit=""):
        left, top, right, bottom = self.box
        for y in y_ticks:
            _, at = self.at(self.x_range[0], y)
            self.picture.line([(left, at), (right, at)], "grid")
            self.picture.text(left - 8, at + 4, f"{y}{y_unit}", "soft end")
        for x in x_ticks:
            self.picture.text(self.at(x, self.y_range[0])[0], bottom + 18, str(x), "soft mid")
        self.picture.text((left + right) / 2, bottom + 38, x_title, "soft mid")
        self.picture.text(left - 8, top - 12, y_title, "soft")

    def curve(self, points, series):
        at = [self.at(x, y) for x, y in points]
        self.picture.line(at, f"curve {SERIES[series][0]}")
        self.picture.dots(at, f"{SERIES[series][0]}f")


def read_figures(data, file):
    """{what: value} of one data file."""
    with open(data / f"{file}.csv", encoding="utf-8", newline="") as f:
        return {row["what"]: float(row["value"]) for row in csv.DictReader(f)}


def curve_of(figures, pattern):
    """[(rows, value)] of the figures whose `what` matches, ROWS standing for the number of rows."""
    regex = re.compile("^" + re.escape(pattern).replace("ROWS", r"(\d+)") + "$")
    points = sorted((int(m[1]), value) for what, value in figures.items() if (m := regex.match(what)))
    if not points:
        raise SystemExit(f"no figure matches '{pattern}'")
    return points


def relative(points):
    return [(rows, value / points[0][1]) for rows, value in points]


DECODE = "pass; type={}; rows=ROWS; context=0"
PEERS = "engine=foretoken; type={}; pass; rows=ROWS; context=32"


def draw_costs(path, title, description, panels):
    """panels: [(heading, [(label, points)])], drawn side by side."""
    width = 720 if len(panels) == 1 else 960
    picture = Picture(width, 430, title, description)
    picture.text(20, 28, title, "title")
    room = width / len(panels)
    for index, (heading, curves) in enumerate(panels):
        left, right = index * room + 60, (index + 1) * room - 24
        box = (left, 112, right, 372)
        axes = Axes(picture, box, (1, 128), (0.9, 20), True)
        axes.grid((1, 2, 4, 8, 16, 32, 64, 128), (1, 2, 4, 8, 16), "rows in the pass", heading, "×")
        x = left
        for series, (label, points) in enumerate(curves):
            picture.line([(x, 58), (x + 18, 58)], f"curve {SERIES[series][0]}")
            picture.text(x + 24, 62, label)
            x += 44 + 7 * len(label)
            axes.curve(relative(points), series)
        picture.line([axes.at(1, 1), axes.at(20, 20)], "rule")
        picture.text(*[a + d for a, d in zip(axes.at(5.6, 7.2), (-8, 0))], "one row at a time", "soft end")
    picture.write(path)


def draw_all_costs(data, images):
    amx, intel, amd, avx2 = (read_figures(data, f) for f in ("amx", "avx512_vnni_intel", "avx512_vnni_amd", "avx2"))
    heading = "time of a pass over the time of one row"
    draw_costs(
        images / "pass_cost.svg", "What a pass of M rows costs, Q8_0, by instruction set",
        "Time of a target pass by its number of rows, as a multiple of a pass of one row: Q8_0 weights of the 1.1 B "
        "shape on two cores with AMX, with AVX-512 VNNI on Intel and on AMD Zen 4, and with AVX2 on the Zen 4 machine. "
        "AMX, Intel and AMD: foretoken bench decode; AVX2: bench/compare_peers.py.",
        [(heading, [("AMX", curve_of(amx, DECODE.format("Q8_0"))),
                    ("AVX-512 VNNI, Intel", curve_of(intel, DECODE.format("Q8_0"))),
                    ("AVX-512 VNNI, AMD Zen 4", curve_of(amd, DECODE.format("Q8_0"))),
                    ("AVX2", curve_of(avx2, PEERS.format("Q8_0")))])])

    def by_type(figures, types, pattern=DECODE):
        return [(t, curve_of(figures, pattern.format(t))) for t in types]

    draw_costs(images / "pass_cost_amx.svg", "What a pass of M rows costs with AMX, by weight format",
               "Time of a target pass by rows, as a multiple of a pass of one row; 1.1 B shape, two cores, "
               "foretoken bench decode.", [(heading, by_type(amx, ("Q8_0", "Q4_0", "Q4_K", "BF16")))])
    types = ("Q8_0", "Q4_0", "Q4_K", "Q6_K", "BF16")
    draw_costs(images / "pass_cost_avx512_vnni.svg", "What a pass of M rows costs with AVX-512 VNNI, by weight format",
               "Time of a target pass by rows, as a multiple of a pass of one row; 1.1 B shape, two cores, "
               "foretoken bench decode. Left: an Intel server; right: AMD Zen 4.",
               [("Intel: " + heading, by_type(intel, types)), ("AMD Zen 4: " + heading, by_type(amd, types))])
    draw_costs(images / "pass_cost_avx2.svg", "What a pass of M rows costs with AVX2, by weight format",
               "Time of a target pass by rows, as a multiple of a pass of one row; 1.1 B shape, two cores "
               "of the Zen 4 machine, bench/compare_peers.py --isa avx2.",
               [(heading, by_type(avx2, ("Q8_0", "Q4_0", "Q4_K"), PEERS))])


def draw_cost_curve(data, images):
    """Left: measured passes and their limit. Right, a sketch: expected tokens and tokens a second by nodes."""
    figures = read_figures(data, "avx512_vnni_amd")
    measured = curve_of(figures, DECODE.format("Q8_0"))
    over = dict(curve_of(figures, DECODE.format("Q8_0") + "; over the limit"))
    picture = Picture(
        960, 420, "Why a candidate tree stops growing",
        "Left: measured time of a target pass by rows, Q8_0 weights of the 1.1 B shape on two cores of AMD Zen 4, and "
        "the limit of the machine: flat while reading the weights takes longest, rising once multiplying does. Right, "
        "a sketch: expected tokens of a pass grow ever more slowly with the nodes of the tree, so tokens a second have "
        "a maximum; there the tree stops.")
    picture.text(20, 28, "Why a candidate tree stops growing", "title")

    left = Axes(picture, (60, 86, 470, 360), (0, 66), (0, 200), False)
    left.grid((1, 8, 16, 24, 32, 48, 64), (0, 50, 100, 150, 200), "rows in the pass", "measured: ms of a pass")
    left.picture.line([left.at(x, y / over[x]) for x, y in measured], "rule")
    left.curve(measured, 0)
    picture.text(*left.at(1.5, 74), "memory-bound:", "soft")
    picture.text(*left.at(1.5, 62), "a row costs little", "soft")
    picture.text(*left.at(33, 152), "compute-bound:", "soft end")
    picture.text(*left.at(33, 140), "every row costs its arithmetic", "soft end")
    picture.text(*left.at(63, 82), "limit of the machine", "soft end")

    # The sketch: the n-th likeliest node is accepted with a probability that falls exponentially; a pass takes what
    # was measured, interpolated.
    def seconds(rows):
        for (a, ms_a), (b, ms_b) in zip(measured, measured[1:]):
            if rows <= b:
                return ms_a + (ms_b - ms_a) * (rows - a) / (b - a)
        return measured[-1][1]

    rows = range(1, 65)
    tokens = [1 + 3 * (1 - math.exp(-(n - 1) / 10)) for n in rows]
    speed = [t / seconds(n) for n, t in zip(rows, tokens)]
    best = max(range(len(speed)), key=speed.__getitem__)
    right = Axes(picture, (530, 86, 900, 360), (0, 66), (0, 4.6), False)
    right.grid((), (), "nodes of the tree", "sketch, scales apart")
    right.picture.line([(530, 86), (530, 360), (900, 360)], "grid")
    height = 3.2 / max(speed)
    right.picture.line([right.at(n, t) for n, t in zip(rows, tokens)], f"curve {SERIES[2][0]}")
    right.picture.line([right.at(n, s * height) for n, s in zip(rows, speed)], f"curve {SERIES[1][0]}")
    stop = rows[best]
    right.picture.line([right.at(stop, 0), right.at(stop, speed[best] * height)], "rule")
    right.picture.dots([right.at(stop, speed[best] * height)], f"{SERIES[1][0]}f")
    picture.text(*right.at(64, 4.15), "expected tokens of a pass", "end")
    picture.text(*right.at(64, 1.9), "expected tokens a second", "end")
    picture.text(*right.at(stop + 1.5, 0.25), "the tree stops here", "soft")
    picture.write(images / "cost_curve.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the folder that has docs/performance (default: this repository)")
    root = parser.parse_args().root
    data, images = root / "docs/performance/data", root / "docs/images"
    draw_all_costs(data, images)
    draw_cost_curve(data, images)


if __name__ == "__main__":
    main()
