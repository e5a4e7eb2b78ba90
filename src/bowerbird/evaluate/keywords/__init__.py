"""The evaluation of adaptive keywords on recorded events inside streams of unrelated posts."""

from bowerbird.evaluate.keywords.comparison import evaluate_keywords
from bowerbird.evaluate.keywords.streams import Conditions

__all__ = ["Conditions", "evaluate_keywords"]
