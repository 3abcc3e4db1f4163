"""What was promised for each field of a bundle, in words."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.field_words import FieldWords
from swapdesk.agent.gate.words import COIN, SOL, amount, plain
from swapdesk.agent.shapes.claim import ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.addresses.display import grouped
from swapdesk.wallet.promise import DepositPromise


def _deposit(case: Case, field: ClaimField) -> DepositPromise | None:
    """The deposit that a field of a payment stands for: both are in one order."""
    bundle = case.promise.bundle
    same = [one for one in case.claim.fields if one.meaning is field.meaning]
    place = next((i for i, one in enumerate(same) if one is field), -1)
    if bundle is None or not 0 <= place < len(bundle.deposits):
        return None
    return bundle.deposits[place]


def _payee(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit = _deposit(case, field)
    if deposit is None:
        return plain(field.value), "no order of the group"
    return plain(field.value), f"{grouped(deposit.address)} of order {deposit.order_id}"


def _units(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit, sell = _deposit(case, field), case.promise.sell
    signed = plain(field.value)
    for flow in case.claim.outflows:
        if flow.field is field:
            same = flow.token == sell.contract
            signed = amount(flow.units, sell) if same else f"{flow.units:,} base units"
    return signed, "nothing" if deposit is None else amount(deposit.units, sell)


def account_words(case: Case, field: ClaimField) -> tuple[str, str]:
    return plain(field.value), f"the smart account of {grouped(case.promise.account)}"


def _factory(case: Case, field: ClaimField) -> tuple[str, str]:
    factory = case.policy.accounts
    return plain(field.value), "nobody" if factory is None else grouped(factory.address)


def entry_point_words(case: Case, field: ClaimField) -> tuple[str, str]:
    return plain(field.value), "the EntryPoint that everybody uses"


def _nonce(case: Case, field: ClaimField) -> tuple[str, str]:
    bundle = case.promise.bundle
    number = field.value if isinstance(field.value, int) else 0
    group = "no group" if bundle is None else f"the next one of group {bundle.multi_id}"
    return f"{number & (1 << 64) - 1} of its key", group


def _gas(case: Case, field: ClaimField) -> tuple[str, str]:
    units = field.value if isinstance(field.value, int) else 0
    coin = SOL if case.claim.solana else COIN
    return f"at most {amount(units, coin)}", f"{amount(case.promise.gas_units, coin)} at most"


BUNDLE_WORDS: dict[Meaning, FieldWords] = {
    Meaning.PAYEE: _payee,
    Meaning.SOLD_UNITS: _units,
    Meaning.SMART_ACCOUNT: account_words,
    Meaning.ACCOUNT_FACTORY: _factory,
    Meaning.CONTRACT: entry_point_words,
    Meaning.NONCE: _nonce,
    Meaning.NETWORK_FEE: _gas,
}
