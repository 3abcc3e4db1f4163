"""Health of the service (contract 13.1)."""

from typing import Annotated

from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import WireModel


class Health(WireModel):
    """What a service says of itself. A client needs none of it."""

    REQUIRED = frozenset({"status", "version", "time"})

    status: Annotated[str, Identity(32)] | None = None
    version: Annotated[str, Identity(32)] | None = None
    time: Timestamp | None = None
