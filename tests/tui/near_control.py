"""The control of a sandbox in the process of the tests, for desks on a :class:`Market`.

Its node keeps faults and clock; the desk's own clock is another one and stays where it is.
"""

from __future__ import annotations

import tempfile
from decimal import Decimal
from functools import cache
from pathlib import Path

import httpx2

from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.clock import SystemClock
from swapdesk.sandbox.control import Control, WorldPace
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.market import Market as Prices
from swapdesk.sandbox.node.node import Node, NodeApp
from swapdesk.secret import Secret
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts

TOKEN = "near"


@cache
def _node() -> tuple[Node, SystemClock]:
    """One for all desks of a process."""
    clock = SystemClock()
    place = Path(tempfile.mkdtemp()) / "node.db"
    return Node(place, clock, seed=7, speed=Decimal(1)), clock


def near_control(parts: ServiceParts) -> SandboxControl:
    """Without a fault, and on the orders of this service."""
    node, clock = _node()
    transport = httpx2.ASGITransport(app=NodeApp(node, TOKEN))
    ledger = LedgerClient("http://127.0.0.1/", TOKEN, transport=transport)
    faults = ActiveFaults()
    control = Control(
        token=TOKEN,
        hosts=frozenset({"127.0.0.1"}),
        ledger=ledger,
        clock=clock,
        pace=WorldPace(clock, {"offset": 0, "speed": 1}),
        market=Prices(7),
        faults=faults,
        layer=FaultLayer(build_service(parts), faults, clock),
        store=parts.store,
    )
    near = httpx2.ASGITransport(app=control)
    return SandboxControl("http://127.0.0.1/sandbox", Secret(TOKEN), transport=near)
