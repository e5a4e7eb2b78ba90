"""Every built-in flow on every flavour of every server: nothing lost, nothing erased, nothing leaked, no crawl silent.

The usual suite takes one flow for each flavour, a different one for each, until all had their turn.
"""

from __future__ import annotations

import pytest

from bowerbird.evaluate.flavours import FIGURES, all_scenes, run_scene
from bowerbird.evaluate.flavours.scenes import Scene

SCENES = all_scenes(is_small=True)
FLOWS, SERVERS = ([*dict.fromkeys(getattr(scene, part) for scene in SCENES)] for part in ("flow", "flavour"))


def is_long(scene: Scene) -> bool:
    return FLOWS.index(scene.flow) != SERVERS.index(scene.flavour) % len(FLOWS)


def test_every_flow_and_every_server_has_its_turn_in_the_usual_suite() -> None:
    usual = [scene for scene in SCENES if not is_long(scene)]
    assert ({scene.flow for scene in usual}, {scene.flavour for scene in usual}) == (set(FLOWS), set(SERVERS))


@pytest.mark.parametrize(
    "scene",
    [pytest.param(scene, marks=pytest.mark.long) if is_long(scene) else scene for scene in SCENES],
    ids=[scene.name.replace(" ", "-") for scene in SCENES],
)
def test_a_built_in_flow_gets_along_with_the_server(scene: Scene) -> None:
    result = run_scene(scene)
    assert {name: getattr(result, name) for name in FIGURES} == dict.fromkeys(FIGURES, 0), (result.reason, result.examples)
