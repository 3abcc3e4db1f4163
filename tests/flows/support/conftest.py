"""A support desk of the first partner, and the service that it asks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from flows.support.searching import SupportDesk, support_desk
from tui.desk_run import Market, market

__all__ = ["market"]


@pytest.fixture
async def support(market: Market) -> AsyncIterator[SupportDesk]:
    async with support_desk(market) as opened:
        yield opened
