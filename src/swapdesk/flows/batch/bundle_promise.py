"""A bundle in the words of the wallet agent, and the smart accounts that bundles are paid from.

A promise is made of the journaled bundle; its amounts are bounded by the rows as confirmed, never
by the answer. An owner has one smart account on each chain. It pays that owner's groups one after
another, and what it holds goes back by a withdrawal.
"""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleItem,
    bundles,
    group_of,
    open_bundles,
    signed_under,
    taken_of,
    withdrawals,
)
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Ledger, Operation, State
from swapdesk.flows.journal.payments import Sum
from swapdesk.wallet.promise import (
    Asset,
    BundlePromise,
    DepositPromise,
    OperationPayload,
    Promise,
    Purpose,
    TransactionPayload,
)
from swapdesk.wire.tokens import Token

_TRANSFER = "0xa9059cbb"
"""``transfer(address,uint256)``; the agent decodes what was made of it."""


def item_intent(multi_id: str, item: BundleItem) -> str:
    """The same however often the item is built: whatever was signed under it pays these once."""
    return f"{multi_id} {item.contract or 'coin'} {item.part}"


def part_intent(multi_id: str, item: BundleItem, number: int) -> str:
    """Of a transaction on Solana, which stands for one partition: that of bundle ``number``."""
    return f"{item_intent(multi_id, item)} {number}"


def funding_intent(multi_id: str, need: Sum, number: int) -> str:
    """Of what bundle ``number`` of the group needs, which is sent once."""
    return f"{multi_id} fund {number} {need.contract or 'coin'}"


def funded_bundle(payment: Operation) -> int:
    """The number of the bundle that a funding is for."""
    return int(signed_under(payment).split(" ")[2])


def item_promise(
    multi_id: str, coin: Token, bundle: Bundle, item: BundleItem, intent_id: str
) -> Promise:
    """What one signature may do: pay exactly these deposits."""
    sold = Asset(item.symbol, item.decimals, item.contract)
    deposits = tuple(
        DepositPromise(one.service_id, one.address, None, one.units, one.expires)
        for one in item.deposits
    )
    return _promise(
        coin,
        bundle,
        intent_id,
        sold,
        item.confirmed,
        bundle.gas_units,
        BundlePromise(multi_id, item.part, deposits),
    )


def funding_promise(coin: Token, bundle: Bundle, need: Sum, intent_id: str) -> Promise:
    """What may be sent to the smart account: no more than deposits and their gas can need."""
    sold = Asset(need.symbol, need.decimals, need.contract)
    bound = sum(item.confirmed for item in bundle.items if item.contract == need.contract)
    bound += bound // 10_000
    if need.contract is None:
        bound += bundle.gas_units
    gas = gas_bound(coin.price, "evm")
    return _promise(coin, bundle, intent_id, sold, bound, gas, None)


def operation_payload(item: BundleItem) -> OperationPayload:
    told = item.document
    return OperationPayload(
        Purpose.BUNDLE,
        dict(told["userOperation"]),
        str(told["entryPoint"]),
        str(told["entryPointVersion"]),
        told["chainId"],
    )


def funding_payload(bundle: Bundle, need: Sum) -> TransactionPayload:
    """A plain transfer to the smart account."""
    if need.contract is None:
        return TransactionPayload(Purpose.FUND, bundle.sender, "0x", need.units)
    payee = bundle.sender[2:].lower().rjust(64, "0")
    data = f"{_TRANSFER}{payee}{need.units:064x}"
    return TransactionPayload(Purpose.FUND, need.contract, data, 0)


def _promise(
    coin: Token,
    bundle: Bundle,
    intent_id: str,
    sold: Asset,
    units: int,
    gas_units: int,
    pays: BundlePromise | None,
) -> Promise:
    """``coin`` is the chain's own."""
    chain_id = coin.chain_data.chain_id if bundle.kind == "evm" else None
    return Promise(
        intent_id=intent_id,
        account=bundle.account,
        chain=bundle.chain,
        chain_id=chain_id,
        sell=sold,
        sell_units=units,
        # Deposits buy nothing by themselves; what each order buys stands in the order.
        buy=sold,
        chain_out=bundle.chain,
        chain_out_id=chain_id,
        least_units=0,
        quoted_units=0,
        recipient=bundle.account,
        venue=None,
        quote_id=None,
        valid_until=bundle.expires,
        gas_units=gas_units,
        bundle=pays,
    )


Owned = tuple[str, str]
"""The address of the owner, and the short name of the chain."""


def smart_accounts(journal: Journal) -> dict[Owned, tuple[Asset, ...]]:
    """By owner and chain, each with the tokens of its bundles. Raises JournalUnavailable."""
    assets: dict[Owned, dict[str | None, Asset]] = {}
    for bundle in bundles(journal.ledger, "json_extract(body, '$.kind') = 'evm'"):
        own = assets.setdefault((bundle.account, bundle.chain), {})
        for item in bundle.items:
            own.setdefault(item.contract, Asset(item.symbol, item.decimals, item.contract))
    return {owned: tuple(assets[owned].values()) for owned in sorted(assets)}


def relying(
    journal: Journal, account: str, chain: str, now: datetime, *, beside: str | None = None
) -> Bundle | None:
    """A bundle that counts on what the smart account of an account holds on a chain, of another
    group than ``beside``."""
    for bundle in open_bundles(journal.ledger):
        own = bundle.kind == "evm" and (bundle.account, bundle.chain) == (account, chain)
        # What is built only may be overtaken: then it is built again before it is signed.
        counts = bundle.under_way or (bundle.signed and bundle.expires > now)
        if own and counts and bundle.operation.parent != beside:
            return bundle
    return None


def group_name(ledger: Ledger, bundle: Bundle) -> str:
    """``group 1 of batch 3f0c9a12``."""
    batch_id, number = group_of(ledger, bundle.operation)
    return f"group {number} of batch {batch_id[:8]}"


_PAID_FROM = "json_extract(body, '$.account') = ? AND json_extract(body, '$.chain') = ?"


def overtaken(journal: Journal, bundle: Bundle) -> bool:
    """Whether something left the same smart account since this one was built, by another bundle
    or by a withdrawal: what it needs was computed from what the account had then."""
    since, own = bundle.operation.prepared_at, (bundle.account, bundle.chain)
    taken = withdrawals(journal.ledger, *own, State.SENT, State.DONE)
    if any(act.moved_at > since for act in taken):
        return True
    return any(
        sent.operation.sent_at is not None
        and sent.operation.sent_at > since
        and sent.operation.id != bundle.operation.id
        for sent in bundles(journal.ledger, _PAID_FROM, *own)
    )


def withdrawn(journal: Journal, bundle: Bundle) -> tuple[str | None, int]:
    """The withdrawal, since a bundle was built, of all that it was to pay; and the number of the
    first bundle of its group that was built after the last withdrawal."""
    ledger, act = journal.ledger, bundle.operation
    tokens = {item.contract for item in bundle.items}
    for taken in reversed(withdrawals(ledger, bundle.account, bundle.chain, State.DONE)):
        if tokens <= {each.contract for each in taken_of(taken)}:
            later = [
                built.body["number"]
                for built in ledger.parts(str(act.parent), "bundle")
                if built.prepared_at > taken.moved_at
            ]
            since = min(later, default=bundle.number + 1)
            return (taken.hash if taken.moved_at > act.prepared_at else None), since
    return None, 0
