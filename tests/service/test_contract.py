"""schemathesis over the served document, in process, with every check it has by default."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings
from msgspec.structs import replace

from service.http_calls import small_service
from service.new_store import open_new, stores_of
from service.orders_fixtures import venues_at
from service.world import FIRST, PARTNERS
from swapdesk.clock import SystemClock
from swapdesk.service.app import build_service
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operations import OPERATIONS

EXAMPLES = 8
FULL_EXAMPLES = 800
"""Of each operation; with the values at every bound more than 20,000 calls in all."""
SMALL = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
DOCUMENT = "GET /openapi.json"
"""Where schemathesis reads the document: the one operation that it never calls itself."""
LABELS = [
    label
    for label in (f"{operation.method} {operation.path}" for operation in OPERATIONS)
    if label != DOCUMENT
]

ROOMY = RateWindows(per_minute=10**6, per_hour=10**6, per_day=10**6)
UNLIMITED = replace(FIRST, quote_limits=ROOMY, exchange_limits=ROOMY, read_limits=ROOMY)
"""A partner whose calls are all answered: a 429 says nothing about a contract."""


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The document, over the application that must serve it and every operation of the table."""
    from service import contract

    assert sorted(contract.OPERATIONS) == sorted(LABELS)
    # Each call has a loop of its own, as connections over the network have not.
    with stores_of("sqlite"):
        store = open_new(tmp_path_factory.mktemp("contract") / "service.db")
    partners = [UNLIMITED, *PARTNERS[1:]]
    parts = small_service(SystemClock(), store, partners, venues_at())
    contract.LATE.service = build_service(parts)
    served = asyncio.run(contract.read_document(contract.LATE))
    assert served == contract.schema.raw_schema
    yield contract
    sys.stdout.write(f"{contract.LATE.calls} calls were held against the document\n")
    asyncio.run(store.close())


@pytest.mark.parametrize("label", LABELS)
def test_contract(contract: ModuleType, label: str) -> None:
    contract.hold(label, SMALL, full=False)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("label", LABELS)
def test_contract_at_full_size(contract: ModuleType, label: str) -> None:
    contract.hold(label, settings(SMALL, max_examples=FULL_EXAMPLES, derandomize=False), full=True)
