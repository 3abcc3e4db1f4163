"""Keeps in the ledger everything that pays the deposits of a group: bundles, wallet transactions
that fund the smart account or pay a part of the deposits, and withdrawals from the smart account.

Each bundle of a group is built from one answer of the service, and only the newest is used. On an
EVM chain a bundle is signed as a whole and submitted once. On Solana a bundle is a fixed division
of the deposits into parts, and each part is a transaction of the wallet. A payment and the deposits
that it pays change their states in the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, Ledger, Operation, State
from swapdesk.flows.payments import Sum, paid_by, pay_by
from swapdesk.wallet.accounts import COIN_DECIMALS, Kind
from swapdesk.wallet.promise import Asset
from swapdesk.wire.encoding.numbers import from_base_units, short


class BundleDeposit(Struct, frozen=True):
    """One deposit of a bundle. ``row`` is the row's number in the file; ``units`` is the amount in
    base units."""

    row: int
    service_id: str
    address: str
    units: int
    expires: datetime


class BundleItem(Struct, frozen=True):
    """The deposits of one token that one signature pays, in the order of payment."""

    PRINTED: ClassVar = {
        "token": "symbol", "contract": "contract", "amount": "sum.amount",
        "serviceIds": "service_ids",
    }  # fmt: skip

    token_id: str
    symbol: str
    decimals: int
    contract: str | None
    """The token's contract (on Solana its mint); None for the native coin."""
    part: int
    """The number of this item among those of the same token, from 0."""
    deposits: tuple[BundleDeposit, ...]
    confirmed: int
    """The total that the rows asked to sell, in base units. The orders may ask for up to 0.01 %
    more."""
    document: dict[str, Any]
    """The operation that the service built, with EntryPoint, release and chain id. Empty on Solana,
    where the transaction is fetched each time it is shown."""

    @property
    def sum(self) -> Sum:
        units = sum(deposit.units for deposit in self.deposits)
        return Sum(self.symbol, self.decimals, self.contract, units)

    @property
    def service_ids(self) -> list[str]:
        return [deposit.service_id for deposit in self.deposits]


BundleWord = Literal[
    "built", "signed", "sent", "unknown", "submitted",
    "confirmed", "failed", "withdrawn", "refused", "replaced",
]  # fmt: skip


class Bundle(Struct, frozen=True):
    """The payment of a group's deposits, as the service built it and the desk checked it."""

    PRINTED: ClassVar = {
        "number": "number", "state": "word", "account": "account", "smartAccount": "smart_account",
        "items": "items", "needs": "needs", "gasAtMost": "gas_at_most", "expires": "expires",
        "signatures": "signature_count", "txHash": "operation.hash", "code": "said",
        "reason": "reason",
    }  # fmt: skip

    kind: Literal["evm", "solana"]
    chain: str
    """The short name of the chain."""
    account: str
    """The address of the wallet's account that owns the smart account; on Solana, that pays."""
    sender: str
    """The address that pays: the smart account, on Solana the wallet's account."""
    items: tuple[BundleItem, ...]
    needs: tuple[Sum, ...] = ()
    """The amounts that the smart account still needs before it can pay."""
    gas_units: int = 0
    """The most that gas may cost, in base units of the chain's native coin."""
    held: int = 0
    """The smart account's balance of the native coin when the bundle was built, in base units."""
    number: int = 0
    """The number of this bundle among all bundles of its group, from 1."""
    act: Operation | None = None
    """The bundle's operation in the ledger; None until it is committed."""

    @classmethod
    def of(cls, act: Operation) -> Bundle:
        return replace(convert(act.body, cls), act=act)

    @property
    def operation(self) -> Operation:
        assert self.act is not None, "it is written down"
        return self.act

    @property
    def deposits(self) -> tuple[BundleDeposit, ...]:
        return tuple(deposit for item in self.items for deposit in item.deposits)

    @property
    def service_ids(self) -> list[str]:
        return [deposit.service_id for deposit in self.deposits]

    @property
    def expires(self) -> datetime:
        """When the first of the bundle's orders stops waiting for its deposit."""
        return min(deposit.expires for deposit in self.deposits)

    @property
    def smart_account(self) -> str | None:
        return self.sender if self.kind == "evm" else None

    @property
    def gas_at_most(self) -> Decimal:
        """The highest cost of gas, in whole native coins."""
        return short(from_base_units(self.gas_units, COIN_DECIMALS[Kind(self.kind)]))

    @property
    def state(self) -> State:
        return self.operation.state

    @property
    def code(self) -> str | None:
        """Why the bundle ended without paying: FAILED, WITHDRAWN, REFUSED or REPLACED; otherwise
        None."""
        return self.operation.code if self.state is State.REFUSED else None

    @property
    def signatures(self) -> tuple[str, ...]:
        """The signatures of all items; empty until every item is signed."""
        return tuple(self.operation.result.get("signatures", ()))

    @property
    def signature_count(self) -> int:
        return len(self.signatures)

    @property
    def reason(self) -> str | None:
        """The service's reason for the bundle's end, or None."""
        return self.operation.result.get("reason")

    @property
    def unsigned(self) -> bool:
        """True if the bundle is built but no signatures are recorded. On Solana, some parts may
        have been sent already."""
        return self.state is State.PREPARED and "signatures" not in self.operation.result

    @property
    def signed(self) -> bool:
        """True if every item is signed and the signatures were not sent to the service."""
        return self.state is State.PREPARED and not self.unsigned

    @property
    def accepted(self) -> bool:
        """True if the service certainly has the signatures and the bundle has not ended."""
        return self.under_way and bool(self.operation.result.get("accepted"))

    @property
    def under_way(self) -> bool:
        """True if the service has or may have the signatures and the bundle has not ended."""
        return self.state in LEFT

    @property
    def paid(self) -> bool:
        return self.state is State.DONE

    @property
    def over(self) -> bool:
        return not self.operation.open

    @property
    def said(self) -> str | None:
        """The code in the service's newest answer; None if there is no code or the service has
        reported the bundle's outcome."""
        return self.operation.result.get("said") or None

    @property
    def word(self) -> BundleWord:
        match self.state:
            case State.PREPARED:
                return "built" if self.unsigned else "signed"
            case State.DONE:
                return "confirmed"
            case State.REFUSED:
                return _WORDS.get(self.code or "", "refused")
        if self.accepted:
            return "submitted"
        return "sent" if self.state is State.SENT else "unknown"


_WORDS: Mapping[str, BundleWord] = {
    "FAILED": "failed", "WITHDRAWN": "withdrawn", "REPLACED": "replaced",
}  # fmt: skip


def add_bundle(ledger: Ledger, group: str, built: Bundle) -> Bundle:
    """Records a newly built bundle in place of an unsent one, and returns it with its number.
    Raises ValueError if an earlier bundle was sent and has no known outcome."""
    claim = f"bundle:{group}"
    with ledger.transaction():
        last = newest_bundle(ledger, group)
        if last is not None and last.under_way:
            raise ValueError(f"bundle {last.number} of the group is on its way")
        if last is not None:
            ledger.move(last.operation.id, State.REFUSED, code="REPLACED")
        numbered = replace(built, number=1 if last is None else last.number + 1)
        body = to_builtins(numbered)
        del body["act"]
        return replace(numbered, act=ledger.begin("bundle", body, parent=group, claim=claim))


def newest_bundle(ledger: Ledger, group: str) -> Bundle | None:
    acts = ledger.where(
        "number = (SELECT max(number) FROM operation WHERE parent = ? AND kind = 'bundle')", group
    )
    return Bundle.of(acts[0]) if acts else None


def bundles(ledger: Ledger, condition: str, *values: object) -> list[Bundle]:
    """Returns the bundles in the ledger that match an SQL condition, oldest first. ``values`` fill
    the placeholders of the condition."""
    return [Bundle.of(act) for act in ledger.where(f"kind = 'bundle' AND {condition}", *values)]


def open_bundles(ledger: Ledger) -> list[Bundle]:
    """Returns the bundles that have not ended, oldest first."""
    return bundles(ledger, "state IN ('prepared', 'sent', 'unknown')")


def sign_bundle(ledger: Ledger, bundle: Bundle, signatures: Sequence[str]) -> bool:
    """Records a bundle's signatures before any is sent. Returns False if the bundle must not be
    sent, because it was sent or has ended meanwhile."""
    id_ = bundle.operation.id
    return ledger.tell(id_, among=(State.PREPARED,), signatures=list(signatures))


def accept_bundle(ledger: Ledger, bundle: Bundle) -> bool:
    """Records that the service has a bundle's signatures. Returns False if no signatures are
    recorded or the bundle has ended."""
    id_ = bundle.operation.id
    with ledger.transaction():
        stands = ledger.get(id_)
        if stands is None or not stands.result.get("signatures"):
            return False
        if ledger.tell(id_, among=LEFT, accepted=True):
            return True
        moved = ledger.move(id_, State.SENT, accepted=True)
        for service_id in bundle.service_ids if moved else ():
            with suppress(ClaimTaken):
                pay_by(ledger, id_, [service_id])
        return moved


def move_bundle(
    ledger: Ledger,
    bundle: Bundle,
    state: State,
    *,
    code: str | None = None,
    server_at: datetime | None = None,
    **result: Any,
) -> bool:
    """Records the state of a bundle and its deposits. Returns False if nothing changed. Before
    sending, record SENT: the signatures may be sent only if True is returned. Raises ClaimTaken if
    an order may be paid in another way."""
    id_, own = bundle.operation.id, bundle.kind == "evm"
    with ledger.transaction():
        stands = ledger.get(id_)
        if stands is None:
            return False
        if state in (State.PREPARED, State.UNKNOWN) and stands.result.get("accepted"):
            return False
        if state is State.SENT and not stands.result.get("signatures"):
            return False
        moved = ledger.move(id_, state, code=code, server_at=server_at, **result)
        if own and state is State.DONE:
            paid_by(ledger, id_, bundle.service_ids, result.get("hash"))
        elif own and moved and state is State.SENT:
            pay_by(ledger, id_, bundle.service_ids)
        elif own and moved and state in (State.REFUSED, State.PREPARED):
            unsure = code == "FAILED" and len(bundle.items) > 1
            ledger.move_parts(id_, "deposit", State.UNKNOWN if unsure else State.REFUSED)
        return moved


# Transactions of the wallet


def begin_transaction(
    ledger: Ledger,
    kind: Literal["fund", "part"],
    group: str,
    paid: Sum,
    intent_id: str,
    service_ids: Sequence[str] = (),
) -> Operation:
    """Records a wallet transaction before it is signed: kind ``fund`` sends ``paid`` to the smart
    account, kind ``part`` pays the orders ``service_ids``. Raises ClaimTaken if another funding is
    under way or an order may be paid in another way."""
    body = {
        **to_builtins(paid),
        "units": str(paid.units),
        "intent": intent_id,
        "service_ids": [*service_ids],
    }
    claim = f"fund:{group}:{paid.contract or 'coin'}" if kind == "fund" else None
    with ledger.transaction():
        act = ledger.begin(kind, body, parent=group, claim=claim)
        pay_by(ledger, act.id, service_ids)
        return act


def transactions_of(ledger: Ledger, group: str) -> tuple[Operation, ...]:
    """Returns the wallet transactions that fund the group's smart account or pay its deposits,
    oldest first."""
    return tuple(ledger.parts(group, "fund", "part"))


def sum_of(act: Operation) -> Sum:
    """Returns the amount that a group's wallet transaction moves."""
    body = act.body
    return Sum(body["symbol"], body["decimals"], body["contract"], int(body["units"]))


def signed_under(act: Operation) -> str:
    """Returns the intent id under which the wallet's records have the transaction of this
    operation."""
    return str(act.body.get("intent", act.id))


# Withdrawals


def begin_withdrawal(
    ledger: Ledger, intent_id: str, account: str, sender: str, chain: str, taken: Sequence[Sum]
) -> Operation:
    """Records a withdrawal from the smart account ``sender`` to its owner, before the withdrawal is
    signed. Raises ClaimTaken while another withdrawal from the smart account is under way."""
    claim = f"withdraw:{chain}:{sender}"
    with ledger.transaction():
        holder = ledger.holder(claim)
        if (
            holder is not None
            and holder.state is State.PREPARED
            and signed_under(holder) == intent_id
            and ledger.take_over(holder.id)
        ):
            ledger.move(holder.id, State.REFUSED, code="REPLACED")
        body = {
            "intent": intent_id,
            "account": account,
            "sender": sender,
            "chain": chain,
            "taken": to_builtins(taken),
        }
        return ledger.begin("withdraw", body, claim=claim)


def withdrawals(ledger: Ledger, account: str, chain: str, *states: State) -> list[Operation]:
    """Returns the withdrawals from an owner's smart account that are in one of ``states``, oldest
    first."""
    marks = ", ".join("?" * len(states))
    return ledger.where(
        f"kind = 'withdraw' AND state IN ({marks}) AND json_extract(body, '$.account') = ?"
        " AND json_extract(body, '$.chain') = ?",
        *states,
        account,
        chain,
    )


def open_withdrawals(ledger: Ledger) -> list[Operation]:
    """Returns the withdrawals that have not ended, oldest first."""
    return ledger.where("kind = 'withdraw' AND state IN ('prepared', 'sent', 'unknown')")


def withdrawal_of(ledger: Ledger, intent_id: str) -> Operation | None:
    """Returns the newest withdrawal with this intent id; None if there is none."""
    acts = ledger.where(
        "kind = 'withdraw' AND coalesce(json_extract(body, '$.intent'), id) = ?", intent_id
    )
    return acts[-1] if acts else None


def taken_of(act: Operation) -> tuple[Sum, ...]:
    """Returns the amounts that a withdrawal takes out of the smart account."""
    return convert(act.body["taken"], tuple[Sum, ...])


# Under which names the wallet signs


def item_intent(multi_id: str, bundle: Bundle, item: BundleItem) -> str:
    """Returns the intent id under which the wallet signs an item. If an EVM item is built again,
    the id stays the same, so that its deposits are paid only once."""
    name = f"{multi_id} {item.contract or 'coin'} {item.part}"
    return f"{name} {bundle.number}" if bundle.kind == "solana" else name


def funding_intent(multi_id: str, bundle: Bundle, need: Sum) -> str:
    """Returns the intent id for funding the smart account with ``need``. The wallet sends only one
    transaction under this id."""
    return f"{multi_id} fund {bundle.number} {need.contract or 'coin'}"


def funded_bundle(payment: Operation) -> int:
    """Returns the number of the bundle for which a funding transaction was made."""
    return int(signed_under(payment).split(" ")[2])


# Smart accounts

Owned = tuple[str, str]
"""The owner's address and the chain's short name, which together identify a smart account."""


def smart_accounts(journal: Journal) -> dict[Owned, tuple[Asset, ...]]:
    """Returns the smart accounts in the journal's bundles, by owner and chain, with their tokens.
    Raises JournalUnavailable."""
    assets: dict[Owned, dict[str | None, Asset]] = {}
    for bundle in bundles(journal.ledger, "json_extract(body, '$.kind') = 'evm'"):
        own = assets.setdefault((bundle.account, bundle.chain), {})
        for item in bundle.items:
            own.setdefault(item.contract, Asset(item.symbol, item.decimals, item.contract))
    return {owned: tuple(assets[owned].values()) for owned in sorted(assets)}


def relying(
    journal: Journal, account: str, chain: str, now: datetime, *, beside: str | None = None
) -> Bundle | None:
    """Returns a bundle that needs the present balance of the owner's smart account, or None. Such a
    bundle is sent, or signed and not expired. Bundles of the group with the operation id ``beside``
    are ignored."""
    for bundle in open_bundles(journal.ledger):
        own = bundle.kind == "evm" and (bundle.account, bundle.chain) == (account, chain)
        # What is built only may be overtaken: then it is built again before it is signed.
        counts = bundle.under_way or (bundle.signed and bundle.expires > now)
        if own and counts and bundle.operation.parent != beside:
            return bundle
    return None


def group_name(ledger: Ledger, bundle: Bundle) -> str:
    """Returns the name of the bundle's group for the user, like ``group 1 of batch 3f0c9a12``."""
    group = ledger.get(str(bundle.operation.parent))
    assert group is not None  # none is ever deleted
    return f"group {group.body['number']} of batch {str(group.parent)[:8]}"


_PAID_FROM = "json_extract(body, '$.account') = ? AND json_extract(body, '$.chain') = ?"


def overtaken(journal: Journal, bundle: Bundle) -> bool:
    """True if money left the smart account after this bundle was built."""
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
    """Returns (hash, number) for the last withdrawal of all the bundle's tokens, or (None, 0).
    ``hash`` is None if the bundle was built after the withdrawal. ``number`` is the number of the
    first bundle built after it."""
    ledger, act = journal.ledger, bundle.operation
    tokens = {item.contract for item in bundle.items}
    for taken in reversed(withdrawals(ledger, bundle.account, bundle.chain, State.DONE)):
        if tokens <= {amount.contract for amount in taken_of(taken)}:
            later = [
                built.body["number"]
                for built in ledger.parts(str(act.parent), "bundle")
                if built.prepared_at > taken.moved_at
            ]
            since = min(later, default=bundle.number + 1)
            return (taken.hash if taken.moved_at > act.prepared_at else None), since
    return None, 0
