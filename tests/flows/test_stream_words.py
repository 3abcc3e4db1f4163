"""What is said while the stream does not tell of changes."""

from __future__ import annotations

import pytest

from swapdesk.client.live import StreamState
from swapdesk.flows.orders.order_listing import NEVER, stale_words


@pytest.mark.parametrize(
    ("state", "seconds", "said"),
    [
        (StreamState.LIVE, 41.0, ""),
        (StreamState.POLLING, 41.0, "41s old, polling"),
        (StreamState.POLLING, NEVER, "polling"),
    ],
)
def test_the_age_is_said_only_without_a_stream(
    state: StreamState, seconds: float, said: str
) -> None:
    assert stale_words(state, seconds) == said
