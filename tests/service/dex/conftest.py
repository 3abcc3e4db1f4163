"""One world of chains for the tests of this folder: opening it takes longer than most tests.

Each test has accounts of its own. Whoever stops venues or moves time has a world of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.dex.trading import Floor, trading


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def floor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Floor]:
    async with trading(tmp_path_factory.mktemp("dex")) as made:
        yield made
