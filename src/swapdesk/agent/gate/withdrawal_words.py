"""What was promised for each field of a withdrawal, in words."""

from __future__ import annotations

from swapdesk.agent.gate.bundle_words import account_words, entry_point_words
from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.field_words import FieldWords
from swapdesk.agent.gate.rules.withdrawal import confirmed
from swapdesk.agent.gate.words import amount, plain
from swapdesk.agent.shapes.claim import ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.addresses.display import grouped
from swapdesk.wallet.promise import TakenOut


def _promised(case: Case, field: ClaimField) -> TakenOut | None:
    """The payment that a field is of: both are in one order."""
    path = field.path.partition(".")[0]
    place = int(path.removeprefix("callData[").removesuffix("]"))
    whole = confirmed(case.promise)
    return whole[place] if place < len(whole) else None


def _payee(case: Case, field: ClaimField) -> tuple[str, str]:
    return plain(field.value), f"your account {grouped(case.promise.account)}"


def _units(case: Case, field: ClaimField) -> tuple[str, str]:
    one = _promised(case, field)
    flow = next(flow for flow in case.claim.outflows if flow.field is field)
    if one is None:
        return f"{flow.units:,} base units", "nothing"
    same = flow.token == one.asset.contract
    signed = amount(flow.units, one.asset) if same else f"{flow.units:,} base units"
    return signed, amount(one.units, one.asset)


def _token(case: Case, field: ClaimField) -> tuple[str, str]:
    one = _promised(case, field)
    if one is None or one.asset.contract is None:
        return plain(field.value), "no token"
    return plain(field.value), f"{one.asset.symbol} {grouped(one.asset.contract)}"


WITHDRAWAL_WORDS: dict[Meaning, FieldWords] = {
    Meaning.PAYEE: _payee,
    Meaning.SOLD_UNITS: _units,
    Meaning.SOLD_TOKEN: _token,
    Meaning.SMART_ACCOUNT: account_words,
    Meaning.CONTRACT: entry_point_words,
}
