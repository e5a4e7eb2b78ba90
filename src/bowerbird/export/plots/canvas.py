"""The look that all figures share, and how they become files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bowerbird.errors import UserError

SUFFIXES = (".svg", ".png", ".pdf")
COLOURS = ("#2f5d8a", "#d1702e", "#3f8f5f", "#b0423f", "#8a6fb3", "#8c7a4f", "#4aa3b5", "#c46a9b")
"""Tell apart in print and with any kind of colour vision, in this order."""
QUIET = "#6b7280"
_SIZE = (7.0, 4.0)
_DOTS = 200
_LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Arial", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": "#374151",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": "#374151",
    "ytick.labelcolor": "#374151",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    # Letters stay letters: readable by machines, and in the reader's own fonts where ours lack a script.
    "svg.fonttype": "none",
    "svg.hashsalt": "bowerbird",
}


class Canvas:
    """One figure with one pair of axes, its title, and a line below that says what it rests on."""

    def __init__(self, title: str, note: str = "") -> None:
        _check_installed()
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with rc_context(_LOOK):
            # matplotlib's types do not know that times can be drawn.
            self.figure: Any = Figure(figsize=_SIZE, layout="constrained")
            FigureCanvasAgg(self.figure)
            self.axes: Any = self.figure.subplots()
            self.axes.set_title(_literal(title))
        self._note = note

    def label(self, x: str, y: str) -> None:
        self.axes.set_xlabel(x)
        self.axes.set_ylabel(y)

    def by_time(self, times: Sequence[datetime]) -> None:
        """Dates below, as few words as they need."""
        from matplotlib import dates

        shown: Any = dates
        locator = shown.AutoDateLocator(minticks=2, maxticks=9)
        self.axes.xaxis.set_major_locator(locator)
        self.axes.xaxis.set_major_formatter(shown.ConciseDateFormatter(locator))
        if len(times) > 1:
            self.axes.margins(x=0.01)

    def count_up(self) -> None:
        """Whole numbers with thousands apart, from zero."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        self.axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        self.axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        self.axes.set_ylim(bottom=0)

    def legend(self) -> None:
        """Beside the plot, only where there is more than one thing to tell apart."""
        handles, labels = self.axes.get_legend_handles_labels()
        if len(labels) > 1:
            words = [_literal(label) for label in labels]
            self.axes.legend(handles, words, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)

    def empty(self, words: str) -> None:
        """Instead of a plot: why there is nothing to see."""
        self.axes.set_axis_off()
        self.axes.text(0.5, 0.5, _literal(words), ha="center", va="center", color=QUIET, wrap=True, transform=self.axes.transAxes)

    def save(self, path: Path) -> None:
        """Writes the file at once, or not at all."""
        from matplotlib import rc_context

        check_name(path)
        if self._note:
            self.figure.supxlabel(_literal(self._note), fontsize=7, color=QUIET, x=0.01, ha="left")
        half = path.with_name(f".{path.name}.{os.getpid()}")
        with rc_context(_LOOK), warnings.catch_warnings():
            # A script that the font lacks: SVG leaves it to the reader's fonts, PNG shows boxes.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            warnings.filterwarnings("ignore", message="AutoDateLocator was unable")
            dated = {"Date": None} if path.suffix == ".svg" else {"CreationDate": None} if path.suffix == ".pdf" else {}
            self.figure.savefig(half, format=path.suffix[1:], dpi=_DOTS, metadata=dated)
        half.replace(path)


def check_name(path: Path) -> None:
    """Raises `UserError` for a file that could not be drawn."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"{path} is no picture", f"end its name in {', '.join(SUFFIXES)}", code="unknown_format")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent}", "make it, or choose another", code="file_not_found")


def is_installed() -> bool:
    """Whether anything can be drawn."""
    return find_spec("matplotlib") is not None


def _check_installed() -> None:
    if not is_installed():
        raise UserError("plots need matplotlib", "install it with `pip install 'bowerbird[export]'`", code="package_missing")


def _literal(text: str) -> str:
    """Words as they are: matplotlib would read what stands between dollars as mathematics."""
    return "".join(mark if mark.isprintable() else " " for mark in text).replace("$", r"\$")
