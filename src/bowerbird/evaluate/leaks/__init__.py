"""Where secrets turned up that should not be there: at hosts they do not belong to, and in what was stored.

witness = Witness()
async with tapped(base, witness) as through:    # real servers: crawl `through` in the place of `base`
    …
WitnessedTransport(transport, witness)          # or in process: everything that it carries is recorded
witness.leaks(vault)                            # which secret reached which host, though it belongs elsewhere
await stored_leaks(database, vault)             # which tables hold a secret in clear
"""

from bowerbird.evaluate.leaks.stored import file_leaks, stored_leaks
from bowerbird.evaluate.leaks.witness import Leak, Witness, WitnessedTransport, tapped

__all__ = ["Leak", "Witness", "WitnessedTransport", "file_leaks", "stored_leaks", "tapped"]
