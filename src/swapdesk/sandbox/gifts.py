"""What the faucet gives to an address of an embedded chain."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from swapdesk.chain.rpc.methods import Method
from swapdesk.sandbox.faucet import NotPayable
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.token_rows import HONEST_ROWS
from swapdesk.sandbox.world import WorldToken, chains_by_name, world_tokens
from swapdesk.wire.encoding.numbers import NumberError, to_base_units

SOLANA = "solana"

_HONEST = frozenset(HONEST_ROWS)


@dataclass(frozen=True)
class Gift:
    """A call of the node that pays out; it is not to be repeated."""

    method: Method
    params: dict[str, str]


def gift_of(chain: str, address: str, token: str | None, amount: Decimal) -> Gift:
    """``token`` as in GiftBody. Raises NotPayable."""
    if chain not in (*EVM_CHAINS, SOLANA):
        known = ", ".join((*EVM_CHAINS, SOLANA))
        raise NotPayable("chain", f"the sandbox runs these chains itself: {known}")
    if chains_by_name()[chain].kind == "evm" and not _evm(address):
        raise NotPayable("address", f"is no address of {chain}")
    found = _found(chain, token)
    try:
        units = to_base_units(amount, found.row.decimals)
    except NumberError as error:
        raise NotPayable("amount", str(error)) from None
    params = {"address": address, "units": str(units)}
    if chain == SOLANA:
        mint = {} if found.address is None else {"mint": found.address}
        return Gift(Method.SOLANA_FUND, {**params, **mint})
    contract = {} if found.address is None else {"token": found.address}
    return Gift(Method.EVM_FUND, {"chain": chain, **params, **contract})


def _evm(address: str) -> bool:
    digits = address.removeprefix("0x")
    return len(address) == 42 and len(digits) == 40 and set(digits) <= set("0123456789abcdefABCDEF")


def _found(chain: str, token: str | None) -> WorldToken:
    """The coin, or the one token of the table that is meant. Raises NotPayable."""
    tokens = [
        each
        for each in world_tokens().values()
        if each.row.chain == chain and each.row.enabled and each.row in _HONEST
    ]
    if token is None:
        return next(each for each in tokens if each.row.native)
    wanted = token.casefold()
    for names in (_ids, _contracts, _symbols):
        matches = [each for each in tokens if names(each) == wanted]
        # Who means a namesake of a token that has a price gives its contract.
        if len(matches) > 1:
            matches = [each for each in matches if each.asset is not None] or matches
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(each.address or each.token_id for each in matches)
            raise NotPayable("token", f"several tokens of {chain} are called so: {ids}")
    raise NotPayable("token", f"there is no such token on {chain}")


def _ids(token: WorldToken) -> str:
    return token.token_id


def _contracts(token: WorldToken) -> str | None:
    return None if token.address is None else token.address.casefold()


def _symbols(token: WorldToken) -> str:
    return token.row.symbol.casefold()
