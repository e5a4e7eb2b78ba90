"""Compare two versions on random stores: `python -m tests.compare_stores --help`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from golden.compare import main

if __name__ == "__main__":
    sys.exit(main())
