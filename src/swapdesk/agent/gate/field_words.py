"""The words for each field of a payload: its signed value, and the value that was promised for it.
Bundles and withdrawals have words of their own for some fields."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.rules.amounts import brings_no_permit
from swapdesk.agent.gate.rules.deposit import confirmed
from swapdesk.agent.gate.words import COIN, LONGEST_TEXT, SOL, amount, moment, plain
from swapdesk.agent.shapes.claim import ClaimField, Meaning
from swapdesk.chain.addresses.display import grouped
from swapdesk.chain.deployments import SANDBOX_ACCOUNT_FACTORY
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose, TakenOut
from swapdesk.wire.encoding.text import safe_text

FieldWords = Callable[[Case, ClaimField], tuple[str, str]]
"""A function that returns two texts for a field: the signed value, and the value that was promised
for it."""

HARMLESS: frozenset[Meaning] = frozenset({"label", "route", "proof", "fee part"})
"""The meanings of fields that are only labels, so that no rule compares them with the promise."""


def of_no_rule(case: Case, field: ClaimField) -> str:
    """Returns the text shown beside a field that no rule compares with what the user confirmed,
    such as ``a label; moves nothing``."""
    if field.meaning == "proof":
        return "checked by the chain"
    if field.meaning == "fee part":
        return "counted in the network fee"
    if field.meaning == "route":
        return "passed on the way"
    if field.meaning in HARMLESS or field.meaning == "tag":
        return "a label; moves nothing"
    if case.promise.quote_id is not None or case.promise.venue is not None:
        return "not in the quote"
    return "not in what you confirmed"


def unbound(case: Case, field: ClaimField) -> tuple[str, str]:
    return plain(field.value), of_no_rule(case, field)


def _said(promised: str) -> FieldWords:
    def words(case: Case, field: ClaimField) -> tuple[str, str]:
        promise = case.promise
        return plain(field.value), promised.format(
            account=grouped(promise.account),
            recipient=grouped(promise.recipient),
            venue=promise.venue or "none",
        )

    return words


def _units(case: Case, field: ClaimField, asset: Asset) -> str:
    if not isinstance(field.value, int):
        return plain(field.value)
    claim = case.claim
    for flow in claim.outflows + claim.allowed:
        if flow.field is field and flow.token != asset.contract:
            return f"{field.value:,} base units"
    return amount(field.value, asset)


def _whole(field: ClaimField) -> int:
    return field.value if isinstance(field.value, int) else 0


def _chain(case: Case, field: ClaimField) -> tuple[str, str]:
    promise = case.promise
    ids = {promise.chain_id, case.policy.chain_id, case.facts.chain_id}
    agree = ", node and key agree" if len(ids) == 1 else ""
    return f"id {plain(field.value)}", f"{promise.chain}, id {promise.chain_id}{agree}"


def _contract(case: Case, field: ClaimField) -> tuple[str, str]:
    words = {
        "token": f"the token {case.promise.sell.symbol}",
        "permit2": "Permit2",
        "factory": "the factory of your smart account",
        "venue": _of_venue(case.promise),
    }
    return plain(field.value), words.get(case.claim.target, of_no_rule(case, field))


def _of_venue(promise: Promise) -> str:
    return f'a contract of the provider "{promise.venue or "none"}"'


def _spender(case: Case, field: ClaimField) -> tuple[str, str]:
    if case.claim.revokes:
        return plain(field.value), "nobody: nothing is allowed"
    return plain(field.value), _of_venue(case.promise)


def _allowed(case: Case, field: ClaimField) -> tuple[str, str]:
    promise = case.promise
    promised = amount(0 if case.claim.revokes else promise.sell_units, promise.sell)
    if field.value == case.claim.limitless:
        return f"any amount of {promise.sell.symbol}", (
            "any amount, as you typed" if promise.unlimited else promised
        )
    return _units(case, field, promise.sell), promised


def _sold(case: Case, field: ClaimField) -> tuple[str, str]:
    promise = case.promise
    units = promise.sell_units
    if case.purpose in (Purpose.DEPOSIT, Purpose.CALL) and promise.deposit is not None:
        units = promise.deposit.units
    promised = amount(units, promise.sell)
    if any(case.claim.of("fee units")):
        promised = f"{promised}, the fee included"
    return _units(case, field, promise.sell), promised


def _fee(case: Case, field: ClaimField) -> tuple[str, str]:
    return _units(case, field, case.promise.sell), "within what you sell"


def _value(case: Case, field: ClaimField) -> tuple[str, str]:
    return amount(_whole(field), COIN), f"{amount(case.promise.fee_units, COIN)} at most"


def _token(case: Case, field: ClaimField) -> tuple[str, str]:
    asset = case.promise.buy if field.meaning == "bought token" else case.promise.sell
    promised = grouped(asset.contract) if asset.contract else "the chain's own coin"
    return plain(field.value), f"{asset.symbol} {promised}"


def _least(case: Case, field: ClaimField) -> tuple[str, str]:
    promise = case.promise
    signed = plain(field.value)
    if isinstance(field.value, int):
        same = case.claim.bought == promise.buy.contract
        signed = (
            f"at least {amount(field.value, promise.buy)}"
            if same
            else (f"at least {field.value:,} base units of another token")
        )
    return signed, f"{amount(promise.quoted_units, promise.buy)} less {_slippage(promise)}"


def _slippage(promise: Promise) -> str:
    if promise.quoted_units <= 0:
        return "nothing"
    lost = Decimal(promise.quoted_units - promise.least_units) / promise.quoted_units * 100
    return f"{lost.quantize(Decimal('0.01'), ROUND_HALF_UP)}%"


def _payee(case: Case, field: ClaimField) -> tuple[str, str]:
    if case.purpose is Purpose.FUND:
        return plain(field.value), f"the smart account of {grouped(case.promise.account)}"
    deposit = case.promise.deposit
    return plain(field.value), grouped(deposit.address) if deposit else "no order"


def _destination(case: Case, field: ClaimField) -> tuple[str, str]:
    return f"id {plain(field.value)}", f"{case.promise.chain_out}, id {case.promise.chain_out_id}"


def _end(case: Case, field: ClaimField) -> tuple[str, str]:
    if case.claim.revokes:
        return plain(field.value), "nothing is allowed"
    return moment(_whole(field), case.facts.now), "24h at most"


def _begin(case: Case, field: ClaimField) -> tuple[str, str]:
    return moment(_whole(field), case.facts.now), "already"


def _partial(case: Case, field: ClaimField) -> tuple[str, str]:
    return ("in part too" if field.value else "all or nothing"), "all or nothing"


def _tag(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit = case.promise.deposit
    # A memo is never grouped: every blank on the screen is one that is signed.
    promised = (deposit.tag or "none needed") if deposit else of_no_rule(case, field)
    return safe_text(str(field.value), LONGEST_TEXT), promised


def _permit(case: Case, field: ClaimField) -> tuple[str, str]:
    if brings_no_permit(case.claim):
        return plain(field.value), "none: you allowed the token before"
    return plain(field.value), "the permit that you signed for this swap"


def _opened(case: Case, field: ClaimField) -> tuple[str, str]:
    what = "payment" if case.purpose is Purpose.DEPOSIT else "swap"
    return plain(field.value), f"one that the {what} needs"


def _network_fee(case: Case, field: ClaimField) -> tuple[str, str]:
    return amount(_whole(field), SOL), f"{amount(case.promise.gas_units, SOL)} at most"


def _fee_part(case: Case, field: ClaimField) -> tuple[str, str]:
    words = " micro-lamports a unit" if field.path.endswith(".price") else " at most"
    return f"{_whole(field):,}{words}", of_no_rule(case, field)


def _lifetime(case: Case, field: ClaimField) -> tuple[str, str]:
    return plain(field.value), f"{case.facts.blocks_left or 0} blocks left"


FIELD_WORDS: dict[Meaning, FieldWords] = {
    "domain": _said("as the contract says"),
    "chain": _chain,
    "contract": _contract,
    "method": _said("what was asked for"),
    "owner": _said("your account {account}"),
    "fee payer": _said("your account {account}"),
    "spender": _spender,
    "allowed units": _allowed,
    "sold token": _token,
    "bought token": _token,
    "sold units": _sold,
    "fee units": _fee,
    "value": _value,
    "least units": _least,
    "receiver": _said("{recipient}"),
    "payee": _payee,
    "destination": _destination,
    "begins": _begin,
    "ends": _end,
    "allowance ends": _end,
    "nonce": _said("the next unused one"),
    "partial": _partial,
    "tag": _tag,
    "co-signer": _said('a maker of the provider "{venue}"'),
    "counterparty": _said('a maker of the provider "{venue}"'),
    "permit": _permit,
    "rent payee": _opened,
    "rent token": _opened,
    "network fee": _network_fee,
    "fee part": _fee_part,
    "salt": _said("your one smart account"),
    "lifetime": _lifetime,
}


def _deposit(case: Case, field: ClaimField) -> DepositPromise | None:
    """Returns the deposit confirmed for the payment that ``field`` belongs to; None if the user
    confirmed fewer deposits than the bundle pays."""
    deposits = case.promise.bundled
    same = [other for other in case.claim.fields if other.meaning is field.meaning]
    place = next((i for i, other in enumerate(same) if other is field), len(deposits))
    return deposits[place] if place < len(deposits) else None


def _bundle_payee(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit = _deposit(case, field)
    if deposit is None:
        return plain(field.value), "no order of the group"
    return plain(field.value), f"{grouped(deposit.address)} of order {deposit.order_id}"


def _bundle_units(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit, sell = _deposit(case, field), case.promise.sell
    signed = plain(field.value)
    for flow in case.claim.outflows:
        if flow.field is field:
            same = flow.token == sell.contract
            signed = amount(flow.units, sell) if same else f"{flow.units:,} base units"
    return signed, "nothing" if deposit is None else amount(deposit.units, sell)


def _factory(case: Case, field: ClaimField) -> tuple[str, str]:
    accounts = case.policy.smart_accounts
    return plain(field.value), grouped(SANDBOX_ACCOUNT_FACTORY) if accounts else "nobody"


def _bundle_nonce(case: Case, field: ClaimField) -> tuple[str, str]:
    bundle = case.promise.bundle
    group = "no group" if bundle is None else f"the next one of group {bundle.multi_id}"
    return f"{_whole(field) & (1 << 64) - 1} of its key", group


def _gas(case: Case, field: ClaimField) -> tuple[str, str]:
    coin = SOL if case.claim.solana else COIN
    return (
        f"at most {amount(_whole(field), coin)}",
        f"{amount(case.promise.gas_units, coin)} at most",
    )


BUNDLE_WORDS: dict[Meaning, FieldWords] = {
    "payee": _bundle_payee,
    "sold units": _bundle_units,
    "smart account": _said("the smart account of {account}"),
    "account factory": _factory,
    "contract": _said("the EntryPoint that everybody uses"),
    "nonce": _bundle_nonce,
    "network fee": _gas,
}


def _promised(case: Case, field: ClaimField) -> TakenOut | None:
    """Returns the payment confirmed for the position of ``field`` in a withdrawal; None if the user
    confirmed fewer payments."""
    path = field.path.partition(".")[0]
    place = int(path.removeprefix("callData[").removesuffix("]"))
    whole = confirmed(case.promise)
    return whole[place] if place < len(whole) else None


def _withdrawal_units(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit = _promised(case, field)
    flow = next(flow for flow in case.claim.outflows if flow.field is field)
    if deposit is None:
        return f"{flow.units:,} base units", "nothing"
    same = flow.token == deposit.asset.contract
    signed = amount(flow.units, deposit.asset) if same else f"{flow.units:,} base units"
    return signed, amount(deposit.units, deposit.asset)


def _withdrawal_token(case: Case, field: ClaimField) -> tuple[str, str]:
    deposit = _promised(case, field)
    if deposit is None or deposit.asset.contract is None:
        return plain(field.value), "no token"
    return plain(field.value), f"{deposit.asset.symbol} {grouped(deposit.asset.contract)}"


WITHDRAWAL_WORDS: dict[Meaning, FieldWords] = {
    "payee": _said("your account {account}"),
    "sold units": _withdrawal_units,
    "sold token": _withdrawal_token,
    "smart account": _said("the smart account of {account}"),
    "contract": _said("the EntryPoint that everybody uses"),
}
