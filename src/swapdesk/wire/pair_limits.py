"""Smallest and largest amounts of a pair (contract 6.1)."""

from typing import Annotated

from swapdesk.wire.encoding.numbers import Amount, Ceiling
from swapdesk.wire.encoding.query import FreeText
from swapdesk.wire.model import RequestModel, WireModel


class Limits(WireModel):
    """Bounds of one route type: ``min``/``max`` on the amount sent, ``minOut``/``maxOut`` received.

    ``max`` and ``max_out`` are None where another service states no bound (contract 6.2).
    """

    REQUIRED = frozenset({"min", "max", "minOut", "maxOut"})

    min: Amount
    max: Ceiling = None
    min_out: Amount | None = None
    max_out: Ceiling = None


class PairLimits(WireModel):
    """Any bucket may be null (contract 6.1)."""

    NULLABLE = frozenset({"cex", "dex", "private"})

    cex: Limits | None = None
    dex: Limits | None = None
    private: Limits | None = None


class PairLimitsQuery(RequestModel):
    """Each side is a token id or a symbol on centralized exchanges (``cexTokenId``)."""

    token_id_from: Annotated[str, FreeText(64)]
    token_id_to: Annotated[str, FreeText(64)]
