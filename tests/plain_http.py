"""What tests ask processes on this machine with: plain HTTP, for which no authorities are read.

A client that is told nothing reads them all when it is made, 40 ms of processor each time; many
tests make one for a single question, again and again until the answer is the awaited one.
"""

from __future__ import annotations

from typing import Final

import httpx2

from swapdesk.certificates import certificates

PLAIN: Final = certificates(httpx2.URL("http://127.0.0.1"))
"""``verify`` of every client for a service, a sandbox or a node that a test has started."""
