"""Health of the service (contract 13.1)."""

from typing import Annotated

from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import WireModel


class Health(WireModel):
    status: Annotated[str, Identity(32)]
    version: Annotated[str, Identity(32)]
    time: Timestamp
