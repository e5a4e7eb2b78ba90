"""One side of a comparison: makes random stores with the code on the path and writes their outputs.

Run by `tests/compare_stores.py`, as `python -m golden.side --seeds 1..20 --out FOLDER`, with the
source of the version first on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from golden import product
from golden.differences import write_folder
from golden.outputs import Outputs
from golden.random_stores import RandomStore


def seeds_in(text: str) -> range:
    """The seeds that `4` or `1..20` means."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=seeds_in, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--postgres", action="store_true", help="stores on PostgreSQL instead of SQLite"
    )
    parser.add_argument(
        "--every-format",
        action="store_true",
        help="exports in every format, as golden outputs have them",
    )
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="stores-")))
        os.environ["BOWERBIRD_CONFIG"] = str(folder / "config")
        server = stack.enter_context(product.start_postgres()) if chosen.postgres else None
        for seed in chosen.seeds:
            own = folder / f"seed{seed}"
            own.mkdir()
            store = (
                str(own / "store.db")
                if server is None
                else product.new_postgres_database(server, f"seed{seed}")
            )
            random = RandomStore(seed, own)
            ended = random.make(store)
            (own / "files").mkdir()
            outputs = Outputs(
                store, ended, own / "files", has_formats=chosen.every_format
            ).collect()
            write_folder(chosen.out / f"seed{seed:04}", {"made": random.notes, **outputs})
            print(f"seed {seed}: {'; '.join(random.notes)}", flush=True)


if __name__ == "__main__":
    main()
