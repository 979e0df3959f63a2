# SPDX-License-Identifier: BSL-1.0
"""The page of bench/history's points: docs/performance-history.md and its picture.

    page.py --check    exit code 1 when page or picture differ from those of the points
    page.py --write    writes both
"""

import pathlib
import sys

import measure

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import made_files

PAGE = measure.ROOT / "docs/performance-history.md"
PICTURE = measure.ROOT / "docs/pictures/performance-history.svg"
BEGIN, END = "<!-- points -->\n", "<!-- end of points -->"
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 300, 60, 40, 20
COLOURS = ("#2a6fbb", "#c2571a", "#3a8a4d")


def speeds(points):
    """{group: time relative to the first commit, after each point}, the product of the steps' ratios."""
    found = {}
    for point in points:
        for group, ratio in measure.ratios_of(point["rows"]).items():
            line = found.setdefault(group, [1.0])
            line.append(line[-1] * ratio)
    return found


def table(points):
    lines = ["| commit | date | against | group | rows | mean ratio | best row | worst row |", "|---|---|---|---|--:|--:|--:|--:|"]
    for point in points:
        for group, ratio in measure.ratios_of(point["rows"]).items():
            rows = sorted((row["ratio"], row["row"]) for row in point["rows"] if row["group"] == group)
            best, worst = (f"{value:.2f}, {name.replace('|', '/')}" for value, name in (rows[0], rows[-1]))
            lines.append(f"| `{point['commit'][:8]}` | {point['date']} | `{point['against'][:8]}` | {group} | {len(rows)} | {ratio:.2f} | `{best}` | `{worst}` |")
    return "\n".join(lines) + "\n"


def picture(points):
    """Lines over the points, on a scale from 0; text in the colour of the reader's theme."""
    lines = speeds(points)
    most = max(max(line) for line in lines.values()) * 1.05
    names = [points[0]["against"][:8], *(point["commit"][:8] for point in points)]

    def x_of(index):
        return LEFT + index * (WIDTH - LEFT - 150) / max(1, len(names) - 1)

    def y_of(value):
        return HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" font-size="12">',
        "<title>Time of the benchmarks relative to the first commit</title>",
        "<style>text{fill:#333}line{stroke:#999}@media(prefers-color-scheme:dark){text{fill:#ddd}line{stroke:#777}}</style>",
    ]
    for tick in (0, 0.5, 1, 1.5, 2):
        if tick <= most:
            parts.append(f'<line x1="{LEFT}" y1="{y_of(tick):.1f}" x2="{x_of(len(names) - 1):.1f}" y2="{y_of(tick):.1f}" stroke-width="0.5"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for index, name in enumerate(names):
        parts.append(f'<text x="{x_of(index):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{name}</text>')
    for number, (group, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dots = " ".join(f"{x_of(index):.1f},{y_of(value):.1f}" for index, value in enumerate(line))
        parts.append(f'<polyline points="{dots}" fill="none" stroke="{colour}" stroke-width="2"/>')
        height = TOP + 20 + 20 * number
        parts.append(f'<rect x="{WIDTH - 135}" y="{height - 9}" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - 115}" y="{height - 3}">{group} {line[-1]:.2f}</text>')
    return "\n".join([*parts, "</svg>\n"])


def page(points):
    text = PAGE.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + "\n" + table(points) + "\n" + text[end:]


def made():
    points = measure.points()
    return {PAGE: page(points), PICTURE: picture(points)}


if __name__ == "__main__":
    sys.exit(made_files.main(__doc__, made, "the points of bench/history", "bench/history/page.py"))
