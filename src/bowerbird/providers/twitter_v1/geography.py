"""Areas on the classic API: boxes on the filtered stream, or searches with a circle."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import Area, Geography
from bowerbird.providers.places import circle, degrees, parts_of
from bowerbird.providers.twitter_v1.channels import subscription
from bowerbird.providers.twitter_v1.requests import CIRCLE

WAYS = ("stream", "search")
_HOSTS = {"https://api.twitter.com": "https://stream.twitter.com"}


def geography(areas: Sequence[Area], way: str) -> Geography:
    """The areas as `locations` of one stream, or as one search each."""
    boxes = parts_of(areas)
    if way == "stream":
        sides = [",".join(map(degrees, (box.west, box.south, box.east, box.north))) for box in boxes]
        return Geography(stream=subscription("filter", {"locations": sides}), hosts=_HOSTS)
    circles = [circle(box) for box in boxes]
    targets = (f"{CIRCLE}{degrees(latitude)},{degrees(longitude)},{radius}km" for latitude, longitude, radius in circles)
    return Geography(searches=tuple(("search", target) for target in targets))
