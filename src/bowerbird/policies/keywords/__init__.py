"""Keyword adaptation: which terms are followed next to collect an event. `method` finds a way by its name."""

from bowerbird.policies.keywords.counting import FrameCounter, Prober, Sampled, probed
from bowerbird.policies.keywords.members import blocked, checked, freed, pinned, spelled
from bowerbird.policies.keywords.registry import ABOUT, METHODS, method
from bowerbird.policies.keywords.values import (
    Background,
    Candidate,
    Change,
    Decision,
    Evidence,
    Frame,
    Keyword,
    Method,
    Probe,
    Settings,
    State,
    Volume,
)

__all__ = [
    "ABOUT",
    "METHODS",
    "Background",
    "Candidate",
    "Change",
    "Decision",
    "Evidence",
    "Frame",
    "FrameCounter",
    "Keyword",
    "Method",
    "Probe",
    "Prober",
    "Sampled",
    "Settings",
    "State",
    "Volume",
    "blocked",
    "checked",
    "freed",
    "method",
    "pinned",
    "probed",
    "spelled",
]
