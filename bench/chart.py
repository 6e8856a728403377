"""Charts of times by size, for the benchmarks beside it."""

import html
import math

# A palette that people with colour blindness tell apart, and dashes for what comes after it.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"]
DASHES = ["", "7 3", "2 3"]
LEFT, TOP, WIDTH, HEIGHT, LEGEND = 80, 50, 560, 400, 230


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def time_text(microseconds):
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:g} s"
    return f"{microseconds / 1e3:g} ms" if microseconds >= 1e3 else f"{microseconds:g} µs"


def axis(least, most, length):
    """Where a value lies on a logarithmic axis."""
    span = math.log(most / least) or 1
    return lambda value: length * math.log(value / least) / span


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{html.escape(words)}</text>'


def plot(title, across_label, figures):
    """A line for each of {name: {bytes: microseconds}}, on logarithmic axes, as an SVG."""
    sizes = sorted({max(size, 1) for of in figures.values() for size in of})
    times = [time for of in figures.values() for time in of.values()]
    least = 10 ** math.floor(math.log10(min(times)))
    most = 10 ** math.ceil(math.log10(max(times) * 1.0001))
    across, up = axis(sizes[0], sizes[-1], WIDTH), axis(least, most, HEIGHT)
    bottom = TOP + HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + LEGEND}" '
             f'height="{bottom + 70}" font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>',
             text(LEFT, 25, title, ' font-size="15"')]
    grid = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#ccc"/>'
    decade = least
    while decade <= most * 1.0001:
        y = bottom - up(decade)
        parts.append(grid.format(LEFT, y, LEFT + WIDTH, y))
        parts.append(text(LEFT - 8, y + 4, time_text(decade), ' text-anchor="end"'))
        decade *= 10
    labelled = -1e9  # so that labels do not run into one another
    for size in sizes:
        x = LEFT + across(size)
        parts.append(grid.format(x, TOP, x, bottom))
        if x - labelled >= 52:
            parts.append(text(x, bottom + 20, size_text(size), ' text-anchor="middle"'))
            labelled = x
    parts.append(text(LEFT + WIDTH / 2, bottom + 50, across_label,
                      ' text-anchor="middle"'))
    middle = TOP + HEIGHT / 2
    parts.append(text(20, middle, "time of a call", ' text-anchor="middle" '
                      f'transform="rotate(-90 20 {middle:.1f})"'))
    for number, (name, by_size) in enumerate(figures.items()):
        style = (f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-width="2" '
                 f'stroke-dasharray="{DASHES[number // len(COLOURS) % len(DASHES)]}"')
        points = [(LEFT + across(max(size, 1)), bottom - up(time))
                  for size, time in sorted(by_size.items())]
        parts.append(f'<polyline fill="none" {style} points="'
                     + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" '
                  f'fill="{COLOURS[number % len(COLOURS)]}"/>' for x, y in points]
        y = TOP + 10 + 20 * number
        x = LEFT + WIDTH + 20
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 30}" y2="{y}" {style}/>')
        parts.append(text(x + 38, y + 4, name))
    return "\n".join(parts) + "\n</svg>\n"
