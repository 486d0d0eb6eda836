"""The plots of `docs/performance.md` as SVG; runs in the environment of `requirements-bench.lock`."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

from matplotlib import pyplot as plt
from matplotlib import ticker

from benchmarks import systems
from benchmarks.summary import Plot, Results, plots

# Readable on white and on black: the contrast of this grey is above 4 on both.
GREY = "#7d7d7d"
COLOURS = (
    "#2f81f7",
    "#3fa34d",
    "#d9822b",
    "#c94f7c",
    "#8b6fd6",
    "#1fa3a3",
    "#b8860b",
    "#d05a4e",
    "#6b8e23",
    "#5f9ea0",
    "#a0703c",
)
# A system has one colour in all plots.
OF_SERIES = dict(zip((*systems.NAMES, "after", "before"), (*COLOURS, COLOURS[0], GREY), strict=True))


def draw(plot: Plot, folder: Path) -> Path:
    """Draws a plot and returns its file.

    Args:
        plot: what to draw.
        folder: for the file.
    """
    # Fixed names of elements and no date: equal files for equal data.
    style = {
        "svg.hashsalt": "alluvium",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": GREY,
        "axes.edgecolor": GREY,
        "axes.labelcolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
    with mpl.rc_context(style):
        bars = len(plot.categories) * (len(plot.series) + 1)
        height = 1.2 + 0.16 * bars if plot.kind == "bars" else 4.0
        figure, axes = plt.subplots(figsize=(8, max(2.4, height)))
        (_bars if plot.kind == "bars" else _lines)(axes, plot)
        axes.set_title(plot.title, fontsize=10, loc="left")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.grid(axis="x" if plot.kind == "bars" else "y", color=GREY, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        path = folder / f"{plot.name}.svg"
        metadata = {"Date": None, "Creator": None, "Description": plot.digest}
        figure.savefig(path, transparent=True, bbox_inches="tight", metadata=metadata)
        plt.close(figure)
    # Trailing blanks come and go with Matplotlib's versions.
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{line.rstrip()}\n" for line in lines), encoding="utf-8")
    return path


def _bars(axes: plt.Axes, plot: Plot) -> None:
    """Horizontal, so that names need no turning; a missing bar is a system that is wrong or has failed."""
    own = len(plot.series)
    for turn, (name, values) in enumerate(plot.series.items()):
        places = [number * (own + 1) + turn for number in range(len(values))]
        axes.barh(places, [value or math.nan for value in values], height=0.9, label=name, color=OF_SERIES[name])
        for place, value in zip(places, values, strict=True):
            if value:
                axes.annotate(f" {value:.3g}", (value, place), va="center", fontsize=7)
            else:
                at = axes.get_yaxis_transform()
                axes.annotate(" no right result", (0, place), xycoords=at, va="center", fontsize=7)
    axes.set_yticks([number * (own + 1) + (own - 1) / 2 for number in range(len(plot.categories))], plot.categories)
    axes.invert_yaxis()
    axes.margins(x=0.12, y=0.02)
    axes.set_xlabel(plot.axis)
    if plot.is_logarithmic:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)


def _lines(axes: plt.Axes, plot: Plot) -> None:
    for name, values in plot.series.items():
        numbers = range(1, len(values) + 1)
        axes.plot(numbers, [value or math.nan for value in values], linewidth=1.2, label=name, color=OF_SERIES[name])
    axes.set_xlabel("batch")
    axes.set_ylabel(plot.axis)
    if plot.is_logarithmic:
        axes.set_yscale("log")
        _plain_numbers(axes.yaxis)


def _plain_numbers(axis: Any) -> None:
    """A logarithmic axis in decimals, not in powers of ten."""
    plain = ticker.FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(plain)
    axis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    low, high = axis.get_view_interval()
    # The labels in between stand one upon another on a long axis.
    axis.set_minor_formatter(plain if high < 500 * low else ticker.NullFormatter())


def main(arguments: list[str]) -> None:
    """Draws all plots; the arguments are the folders of the raw results and of the plots."""
    results, folder = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {draw(plot, folder) for plot in plots(Results.read(results))}
    for path in set(folder.glob("*.svg")) - drawn:
        path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
