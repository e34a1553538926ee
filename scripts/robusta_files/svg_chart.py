"""Curves as an SVG picture, for where there is no matplotlib."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 960, 600
LEFT, RIGHT, TOP, BOTTOM = 80, 30, 50, 60
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")


def steps(least, most, about=8):
    """Round numbers from `least` to `most`."""
    span = (most - least) or 1
    unit = 10 ** math.floor(math.log10(span / about))
    unit *= next(factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= about)
    first = math.ceil(least / unit)
    return [index * unit for index in range(first, math.floor(most / unit + 1e-9) + 1)]


def chart(title, x_title, y_title, curves):
    """The picture as text. `curves`: name -> list of (x, y); points that are not finite are left out."""
    curves = {name: [p for p in points if all(map(math.isfinite, p))] for name, points in curves.items()}
    points = [point for curve in curves.values() for point in curve] or [(0, 0)]
    x_least, x_most = min(p[0] for p in points), max(p[0] for p in points)
    y_least, y_most = min(p[1] for p in points), max(p[1] for p in points)

    def x_at(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_least) / ((x_most - x_least) or 1)

    def y_at(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - y_least) / ((y_most - y_least) or 1)

    def text(x, y, words, anchor="middle", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" '
             'font-size="13">', '<rect width="100%" height="100%" fill="white"/>',
             text(WIDTH / 2, TOP / 2, title), text(WIDTH / 2, HEIGHT - 15, x_title),
             text(20, HEIGHT / 2, y_title, turned=True)]
    for x in steps(x_least, x_most):
        parts.append(f'<path d="M{x_at(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(text(x_at(x), HEIGHT - BOTTOM + 20, f"{x:g}"))
    for y in steps(y_least, y_most):
        parts.append(f'<path d="M{LEFT} {y_at(y):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(text(LEFT - 8, y_at(y) + 4, f"{y:g}", "end"))
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<rect x="{LEFT + 10}" y="{TOP + 8 + 18 * number}" width="12" height="4" fill="{colour}"/>')
        parts.append(text(LEFT + 28, TOP + 15 + 18 * number, name, "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"
