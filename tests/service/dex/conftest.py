"""One world of chains for the tests of a module: opening them takes longer than most tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.dex.trading import Floor, trading


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def floor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Floor]:
    async with trading(tmp_path_factory.mktemp("dex")) as made:
        yield made
