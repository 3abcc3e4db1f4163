"""One world of chains for the tests of this folder: opening it takes longer than most tests.

Each test has accounts of its own. Whoever stops venues or moves time has a world of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

import databases
from service.dex.trading import Floor, trading
from service.new_store import stores_of


@pytest.fixture(scope="package")
def engine() -> Iterator[databases.Name]:
    """The embedded database; ``test_same_answers.py`` trades on chains over both."""
    with stores_of("sqlite"):
        yield "sqlite"


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def floor(
    engine: databases.Name, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Floor]:
    async with trading(tmp_path_factory.mktemp("dex")) as made:
        yield made
