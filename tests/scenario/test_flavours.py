"""Every built-in flow on every flavour of every server: nothing lost, nothing erased, nothing leaked, no crawl silent."""

from __future__ import annotations

import pytest

from bowerbird.evaluate.flavours import FIGURES, all_scenes, run_scene
from bowerbird.evaluate.flavours.scenes import Scene


@pytest.mark.parametrize("scene", all_scenes(is_small=True), ids=lambda scene: scene.name.replace(" ", "-"))
def test_a_built_in_flow_gets_along_with_the_server(scene: Scene) -> None:
    result = run_scene(scene)
    assert {name: getattr(result, name) for name in FIGURES} == dict.fromkeys(FIGURES, 0), (result.reason, result.examples)
