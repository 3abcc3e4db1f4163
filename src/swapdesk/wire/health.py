"""Health of the service (contract 13.1)."""

from typing import Annotated

from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import WireModel


class Health(WireModel):
    """The health that a service states. A client needs none of its fields."""

    REQUIRED = frozenset({"status", "version", "time"})

    status: Annotated[str, Identity(32)] | None = None
    version: Annotated[str, Identity(32)] | None = None
    time: Timestamp | None = None
