"""A synthetic microblog with ground truth, reproducible from one seed and asked as of any time."""

from bowerbird.simulated.world.passing.happenings import Happening, Kind
from bowerbird.simulated.world.passing.recorded import Recorded
from bowerbird.simulated.world.settings import WorldSettings
from bowerbird.simulated.world.truth import TruePost, Truth
from bowerbird.simulated.world.world import Availability, World

__all__ = ["Availability", "Happening", "Kind", "Recorded", "TruePost", "Truth", "World", "WorldSettings"]
