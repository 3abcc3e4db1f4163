"""How long a test waits for what must come.

Only a defect takes so long, so how quick the machine is decides nothing. It is below the timeout
of a test, whose error says less.
"""

import os
from typing import Final

PATIENCE: Final = min(240.0, float(os.environ.get("SWAPDESK_PATIENCE", "inf")))
"""Seconds. ``SWAPDESK_PATIENCE`` shortens it while somebody develops and waits for what is wrong;
a run that shall prove something is started without it."""
