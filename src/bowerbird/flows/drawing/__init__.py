"""A flow as a picture: `as_text` for the terminal, `as_svg` for everything else; `as_counted_svg` of a crawl, with its counts."""

from bowerbird.flows.drawing.svg import Counted, as_counted_svg, as_svg
from bowerbird.flows.drawing.text import as_text

__all__ = ["Counted", "as_counted_svg", "as_svg", "as_text"]
