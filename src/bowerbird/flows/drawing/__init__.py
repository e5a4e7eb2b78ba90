"""A flow as a picture: `as_text` for the terminal, `as_svg` for everything else."""

from bowerbird.flows.drawing.svg import as_svg
from bowerbird.flows.drawing.text import as_text

__all__ = ["as_svg", "as_text"]
