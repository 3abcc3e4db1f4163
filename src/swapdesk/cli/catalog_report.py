"""Tokens and chains as commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from swapdesk.cli.command_error import CommandError, Exit, bad_input
from swapdesk.cli.session import CommandSession
from swapdesk.flows.catalog.search import CONTRACT_LENGTH, named_contract, search
from swapdesk.flows.catalog.token_list import CanDo, TokenRow
from swapdesk.flows.notation import percent, usd
from swapdesk.wire.chains import Chain


class TokenListed(Struct, frozen=True, rename="camel"):
    """``price`` is in US dollars and ``change`` in percent over a day; ``contract`` None: the coin
    of its chain. ``verdict`` is the word of its scans, ``can`` what the token can be used for."""

    id: str
    symbol: str
    name: str
    chain: str
    chain_name: str
    kind: str
    contract: str | None
    price: Decimal | None
    change: Decimal | None
    priority: Decimal | int | None
    rank: Decimal | int | None
    enabled: bool
    unverified: bool
    verdict: str
    can: tuple[CanDo, ...]


class TokensDocument(Struct, frozen=True):
    """What was found, the best first."""

    tokens: tuple[TokenListed, ...]
    total: int


class ChainsDocument(Struct, frozen=True):
    """Every chain of the service's list, as the API tells it."""

    chains: Sequence[Chain]
    total: int


async def report_tokens(
    session: CommandSession, term: str, chain: str | None, symbol: str | None, limit: int
) -> None:
    """Exit 5 when nothing is found, 2 for a chain nobody knows."""
    await session.load_catalog()
    catalog = session.desk.catalog
    if chain is not None and catalog.chain(chain) is None:
        known = [found.short_name for found in catalog.chains()]
        message = f"There is no chain {chain}. Chains: {', '.join(known)}."
        raise bad_input("NO_SUCH_CHAIN", message, field="chain", candidates=known)
    rows: Sequence[TokenRow] = catalog.rows
    if symbol is not None:
        rows = catalog.rows_of_symbol(symbol)
    found = search(rows, term, chain=chain, limit=limit)
    contract, chains = named_contract(term)
    if not found and len(contract) >= CONTRACT_LENGTH:
        asked = await catalog.fetch_by_address(session.link.api, contract)
        session.tell_gap()
        found = search(asked, term if chains else "", chain=chain, limit=limit)
    if not found:
        raise CommandError(
            Exit.NOT_FOUND,
            "TOKEN_NOT_FOUND",
            "No token was found. Give a contract address to find one that is not listed.",
        )
    session.call.output.table(
        ("token", "name", "chain", "price", "24h", "scan", "can", "contract"),
        [
            (
                f"{row.symbol}.{row.chain}",
                row.name,
                row.chain_name,
                usd(row.price),
                percent(row.change),
                row.verdict.value + (", unverified" if row.unverified else ""),
                " ".join(can.value for can in CanDo if row.can(can)),
                row.contract or "native",
            )
            for row in found
        ],
        numbers=(3, 4),
        plain=[
            f"{row.symbol} on {row.chain_name}, {row.name}, {usd(row.price)},"
            f" {row.verdict.value}, written {row.symbol}.{row.chain}."
            for row in found
        ],
        document=TokensDocument(tuple(map(_listed, found)), len(found)),
    )


def _listed(row: TokenRow) -> TokenListed:
    return TokenListed(
        id=row.id,
        symbol=row.symbol,
        name=row.name,
        chain=row.chain,
        chain_name=row.chain_name,
        kind=row.kind,
        contract=row.contract,
        price=row.price,
        change=row.change,
        priority=row.priority,
        rank=row.rank,
        enabled=row.enabled,
        unverified=row.unverified,
        verdict=row.verdict.value,
        can=tuple(can for can in CanDo if row.can(can)),
    )


async def report_chains(session: CommandSession) -> None:
    """Every chain of the list."""
    await session.load_catalog()
    found = session.desk.catalog.chains()
    session.call.output.table(
        ("chain", "name", "kind", "memo", "enabled"),
        [
            (
                chain.short_name,
                chain.name,
                chain.kind,
                "needed" if chain.memo_needed else "",
                "" if chain.enabled else "disabled",
            )
            for chain in found
        ],
        plain=[f"{c.name}, written {c.short_name}, kind {c.kind}." for c in found],
        document=ChainsDocument(found, len(found)),
    )
