"""Plots, graphs and maps, drawn from the numbers of a route: with a table, in both themes, and without a library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from served import Served, Watched

HOURS = [1_767_600_000 + 3_600 * hour for hour in range(48)]
SERIES = [
    {"label": "posts", "values": [40 + 30 * ((hour * 7) % 11) for hour in range(48)]},
    {"label": "replies", "values": [10 + 9 * ((hour * 5) % 7) for hour in range(48)]},
]
PLOT = {"x": "time", "y_label": "posts per hour", "unit": "posts", "xs": HOURS, "series": SERIES, "as_of": "2026-01-07T00:00:00Z"}
ASKED: dict[str, dict[str, Any]] = {
    "lines": {**PLOT, "kind": "lines"},
    "bars": {**PLOT, "kind": "bars", "series": SERIES[:1]},
    "stacked": {**PLOT, "kind": "stacked"},
    "points": {**PLOT, "kind": "points", "x": "log", "y": "log", "x_label": "followers", "xs": [1, 10, 100, 1_000, 10_000],
               "series": [{"label": "accounts", "values": [900, 400, 90, 20, 2]}]},
    "named": {**PLOT, "kind": "bars", "x": "number", "xs": ["en", "pt", "de"],
              "series": [{"label": "posts", "values": [5, 3, 1]}]},
    "empty": {**PLOT, "kind": "lines", "xs": [], "series": []},
}  # fmt: skip
GRAPH = {
    "nodes": [{"id": str(n), "label": f"@person{n}", "size": 1 + n % 5, "group": str(n % 3), "href": "/help"} for n in range(40)],
    "edges": [{"from": str(n), "to": str((n * n + 1) % 40), "weight": 1 + n % 4, "kind": "reply"} for n in range(40)],
}
MAP = {
    "points": [
        {"lat": 41.1, "lon": -8.6, "count": 30, "label": "Porto"},
        {"lat": 48.2, "lon": 16.4, "count": 9, "label": "Vienna"},
    ]
}
Show = Callable[[str, Any], None]


@pytest.fixture
def show(shared_site: Served, page: Page) -> Show:
    """Puts a figure on a page as the macros of templates write it, with numbers of our own."""
    page.goto(shared_site.address("/help"), wait_until="load")
    scripts = {
        "plot": page.evaluate("document.documentElement.dataset.plots"),
        "graph": "/assets/graph.js",
        "map": "/assets/map.js",
    }

    def shown(kind: str, numbers: Any) -> None:
        page.route(
            "**/numbers.json", lambda route: route.fulfill(status=200, content_type="application/json", body=json.dumps(numbers))
        )
        page.evaluate(
            """([kind, script]) => {
              const figure = document.createElement("figure");
              figure.className = "plot";
              figure.dataset[kind] = "/numbers.json";
              figure.dataset.script = script;
              figure.innerHTML = '<figcaption>Shown</figcaption><div class="canvas" role="img" aria-label="Shown"></div>'
                + '<details open><summary>Table</summary><div class="scroll"></div></details>';
              document.querySelector("main").replaceChildren(figure);
              bowerbird.enhance(document);
            }""",
            [kind, scripts[kind]],
        )

    return shown


@pytest.mark.parametrize("kind", [kind for kind in ASKED if kind != "empty"])
def test_numbers_are_drawn_with_their_table_and_again_in_the_other_theme(page: Page, show: Show, kind: str) -> None:
    show("plot", ASKED[kind])
    expect(page.locator("figure .uplot canvas")).to_be_visible()
    expect(page.locator("figure details tbody tr")).to_have_count(len(ASKED[kind]["xs"]))
    expect(page.locator("figure .as-of")).to_be_visible()
    page.keyboard.press("t")
    expect(page.locator("figure .uplot")).to_have_count(1)


def test_bars_of_several_kinds_stand_on_each_other(page: Page, show: Show) -> None:
    show("plot", {**PLOT, "kind": "bars"})
    expect(page.locator("figure .uplot canvas")).to_be_visible()
    heights = page.evaluate("([told]) => bowerbird.heights(told)", [{"kind": "bars", "series": SERIES}])
    assert heights[1][:3] == [a + b for a, b in zip(SERIES[0]["values"][:3], SERIES[1]["values"][:3], strict=True)]
    assert page.evaluate("([told]) => bowerbird.heights(told)", [{"kind": "lines", "series": SERIES}])[1] == SERIES[1]["values"]


def test_a_plot_without_numbers_says_so(page: Page, show: Show) -> None:
    show("plot", ASKED["empty"])
    expect(page.locator("figure .canvas")).not_to_be_empty()
    expect(page.locator("figure canvas")).to_have_count(0)


def test_a_graph_is_drawn_and_listed(page: Page, show: Show) -> None:
    show("graph", GRAPH)
    expect(page.locator("figure canvas.sigma-nodes")).to_be_visible()
    expect(page.locator("figure details tbody tr")).to_have_count(len(GRAPH["edges"]))


def test_a_map_is_drawn_over_outlines_of_our_own(page: Page, show: Show) -> None:
    show("map", MAP)
    expect(page.locator("figure .leaflet-container canvas")).to_be_visible()
    expect(page.locator("figure details tbody tr")).to_have_count(2)


def test_without_the_libraries_the_table_stands_and_one_line_says_what_to_do(page: Page, show: Show, watched: Watched) -> None:
    def missing(route: Route) -> None:
        route.fulfill(status=404, body="")

    watched.expect("/assets/foreign/")
    page.route("**/assets/foreign/**", missing)
    show("plot", ASKED["lines"])
    expect(page.locator("figure .canvas")).to_contain_text("make install")
    expect(page.locator("figure details tbody tr")).to_have_count(48)
