"""Which tokens take EIP-2612 permits, found out from the tokens themselves."""

from __future__ import annotations

from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import method
from swapdesk.chain.rpc.evm_answers import EvmUncertain
from swapdesk.service.venues.onchain.documents import Document, Domain, domain_separator
from swapdesk.service.venues.onchain.documents import permit_document as written
from swapdesk.service.venues.onchain.reader import OnchainReader

_NAME = method("name()")
_VERSION = method("version()")
_NOBODY = "0x" + "00" * 19 + "01"
_USUAL_VERSION = "1"


class Permits:
    """Permits of the tokens of one chain; a token is asked once."""

    def __init__(self, reader: OnchainReader) -> None:
        self._reader = reader
        self._domains: dict[str, Domain | None] = {}

    async def domain(self, token: str) -> Domain | None:
        """The domain permits of the token are signed in; None for a token without them.

        The token's own hash decides: where name and version do not give it, a signature would
        be refused by the contract.
        """
        if token not in self._domains:
            self._domains[token] = await self._find(token)
        return self._domains[token]

    async def _find(self, token: str) -> Domain | None:
        separator, nonce, name, version = await self._reader.aggregate(
            [
                (token, erc20.DOMAIN_SEPARATOR, ()),
                (token, erc20.NONCES, (_NOBODY,)),
                (token, _NAME, ()),
                (token, _VERSION, ()),
            ]
        )
        if separator is None or len(separator) != 32 or nonce is None or len(nonce) != 32:
            return None
        named = _text(name)
        if named is None:
            return None
        chain_id = self._reader.place.chain_id
        for told in dict.fromkeys((_text(version) or _USUAL_VERSION, _USUAL_VERSION)):
            domain = Domain(named, told, chain_id, token)
            if domain_separator(domain) == separator:
                return domain
        return None

    async def document(
        self, token: str, owner: str, spender: str, amount: int, deadline: int
    ) -> Document | None:
        """The permit to sign now; None for a token without permits."""
        domain = await self.domain(token)
        if domain is None:
            return None
        (nonce,) = await self._reader.numbers([(token, erc20.NONCES, (owner,))])
        if nonce is None:
            raise EvmUncertain("the token answers no nonce")
        return written(domain, owner, spender, amount, nonce, deadline)


def _text(answer: bytes | None) -> str | None:
    from eth_abi.abi import decode
    from eth_abi.exceptions import DecodingError

    if answer is None:
        return None
    try:
        (found,) = decode(("string",), answer)
    except (DecodingError, ValueError, OverflowError):
        return None
    return str(found)
