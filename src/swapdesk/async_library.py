"""Which library runs the coroutines here: asyncio, and nobody has to search for another.

The connection pool of httpx asks ``sniffio`` several times a request. Where that is not installed
Python looks through all of its path for it every time, since it does not remember what is not
there: a quarter of a millisecond each.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def say_asyncio() -> None:
    """Called by whoever makes a client of httpx; an installed ``sniffio`` answers for itself."""
    if find_spec("sniffio") is None:
        # Importing it still fails as before, and at once.
        sys.modules["sniffio"] = None  # type: ignore[assignment]
