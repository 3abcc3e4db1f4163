"""The pair whose limits say how much of a token can be swapped (contract 6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.catalog.catalog import Catalog

if TYPE_CHECKING:
    from swapdesk.wire.tokens import Token


def pair_for_limits(
    token: Token, beside: Token | None, catalog: Catalog
) -> tuple[Token, Token] | None:
    """The token sold and the token bought.

    ``beside`` is sold for ``token`` where one is being written. Else ``token`` is sold for the
    first token of the list that exchanges trade. None for a token that has no counterpart.
    """
    if beside is not None and beside.id != token.id:
        return beside, token
    for row in catalog.rows:
        if row.has_cex and row.enabled and row.id != token.id.lower():
            other = catalog.token(row.id)
            return None if other is None else (token, other)
    return None
