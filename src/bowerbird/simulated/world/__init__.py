"""A synthetic microblog with ground truth, reproducible from one seed and asked as of any time."""

from bowerbird.simulated.world.settings import WorldSettings
from bowerbird.simulated.world.truth import TruePost, Truth
from bowerbird.simulated.world.world import Availability, World

__all__ = ["Availability", "TruePost", "Truth", "World", "WorldSettings"]
