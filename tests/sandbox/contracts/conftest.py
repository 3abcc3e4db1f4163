"""What a test does to the bench of its file is undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.contracts.contract_world import Bench


@pytest.fixture
def bench(opened: Bench) -> Iterator[Bench]:
    with opened.kept():
        yield opened
