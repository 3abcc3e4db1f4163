"""Routes on which nothing is signed but the order's own transaction."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.service.venues.onchain.adapter import Deal, DexRefused
from swapdesk.wire.dex import GivenSignature, SignatureRequirement

_REASON = "this route asks for no signatures"


class Unsigned:
    """A venue's answers about signatures where it asks for none."""

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        """Raises DexRefused."""
        raise DexRefused(_REASON, "signatureKey")

    def refuse(self, signatures: Sequence[GivenSignature]) -> None:
        """Raises DexRefused where a create brings some all the same."""
        if signatures:
            raise DexRefused(_REASON, "signatures")
