"""What an agent refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from swapdesk.wallet.protocol import RefusalCode, Refused


@contextmanager
def refused(
    *codes: RefusalCode, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[Refused]]:
    """What is done inside has to be refused, by one of these codes."""
    with pytest.raises(Refused, match=match) as raised:
        yield raised
    assert raised.value.code in codes
