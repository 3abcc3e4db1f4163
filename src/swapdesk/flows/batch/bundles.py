"""What pays the deposits of a group, as acts of the ledger: bundles, the transactions of the wallet
that fill a smart account or pay a part, and what its owner takes out again.

A group has bundles, each of them built from one answer of the service; the newest counts. On an
EVM chain a bundle is signed as a whole and then submitted once. On Solana it is a fixed partition
of the deposits, and each part is a transaction of the wallet. Deposits move with what pays them, in
the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, Ledger, Operation, State
from swapdesk.flows.journal.payments import Sum, paid_by, pay_by
from swapdesk.wallet.accounts import COIN_DECIMALS, Kind
from swapdesk.wire.encoding.numbers import from_base_units, short


class BundleDeposit(Struct, frozen=True):
    """One deposit; ``units`` is ``inAmount`` of its order, ``row`` the number in the file."""

    row: int
    service_id: str
    address: str
    units: int
    expires: datetime


class BundleItem(Struct, frozen=True):
    """What is signed once: deposits of one token, in the order in which they are paid.

    ``contract`` (mint on Solana) is None for the chain's coin. ``part`` counts the items of a
    token from 0. ``confirmed`` is what the rows asked to pay, in base units; orders may ask for
    one part in ten thousand more. ``document`` is what the service gave for it: the operation
    with its EntryPoint, release and chain id; empty on Solana, where it is fetched anew each time.
    """

    PRINTED: ClassVar = {
        "token": "symbol", "contract": "contract", "amount": "sum.amount",
        "serviceIds": "service_ids",
    }  # fmt: skip

    token_id: str
    symbol: str
    decimals: int
    contract: str | None
    part: int
    deposits: tuple[BundleDeposit, ...]
    confirmed: int
    document: dict[str, Any]

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
    """What pays the deposits of a group, as it was built and compared with the group. Gas is in the
    coin of the chain."""

    PRINTED: ClassVar = {
        "number": "number", "state": "word", "account": "account", "smartAccount": "smart_account",
        "items": "items", "needs": "needs", "gasAtMost": "gas_at_most", "expires": "expires",
        "signatures": "signature_count", "txHash": "operation.hash", "code": "said",
        "reason": "reason",
    }  # fmt: skip

    kind: Literal["evm", "solana"]
    chain: str
    """Its short name."""
    account: str
    """The wallet's."""
    sender: str
    """The smart account that pays; on Solana the account itself."""
    items: tuple[BundleItem, ...]
    needs: tuple[Sum, ...] = ()
    """What the smart account lacks."""
    gas_units: int = 0
    """What gas may cost at most, in base units."""
    held: int = 0
    """The coin that the smart account has, in base units."""
    number: int = 0
    """Of the bundles of a group, from 1."""
    act: Operation | None = None
    """None until it is written down."""

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
        """When the first of its orders stops waiting."""
        return min(deposit.expires for deposit in self.deposits)

    @property
    def smart_account(self) -> str | None:
        return self.sender if self.kind == "evm" else None

    @property
    def gas_at_most(self) -> Decimal:
        """In the coin of the chain."""
        return short(from_base_units(self.gas_units, COIN_DECIMALS[Kind(self.kind)]))

    @property
    def state(self) -> State:
        return self.operation.state

    @property
    def code(self) -> str | None:
        """Why it is over without having paid: FAILED, WITHDRAWN, REFUSED or REPLACED."""
        return self.operation.code if self.state is State.REFUSED else None

    @property
    def signatures(self) -> tuple[str, ...]:
        """In the order of the items, empty until all of them are there."""
        return tuple(self.operation.result.get("signatures", ()))

    @property
    def signature_count(self) -> int:
        return len(self.signatures)

    @property
    def reason(self) -> str | None:
        """Why it is over, in the words of the service."""
        return self.operation.result.get("reason")

    @property
    def unsigned(self) -> bool:
        """Nothing of it is signed; on Solana a part may have left."""
        return self.state is State.PREPARED and "signatures" not in self.operation.result

    @property
    def signed(self) -> bool:
        """Every operation has its signature, and nobody else has one."""
        return self.state is State.PREPARED and not self.unsigned

    @property
    def accepted(self) -> bool:
        """The service has the signatures for certain, and it is not over."""
        return self.under_way and bool(self.operation.result.get("accepted"))

    @property
    def under_way(self) -> bool:
        """The service has its signatures, or may have them."""
        return self.state in LEFT

    @property
    def paid(self) -> bool:
        return self.state is State.DONE

    @property
    def over(self) -> bool:
        return not self.operation.open

    @property
    def said(self) -> str | None:
        """The newest code of the service; of what it decided there is none."""
        return self.operation.result.get("said") or None

    @property
    def word(self) -> BundleWord:
        """How it stands, in the word of JSON."""
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
    """Commit what was built in place of what was built before and has not left.

    Raises ValueError while an earlier one is on its way.
    """
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
    """Those of which an SQL condition holds, oldest first."""
    return [Bundle.of(act) for act in ledger.where(f"kind = 'bundle' AND {condition}", *values)]


def open_bundles(ledger: Ledger) -> list[Bundle]:
    """Those that are not over, oldest first."""
    return bundles(ledger, "state IN ('prepared', 'sent', 'unknown')")


def sign_bundle(ledger: Ledger, bundle: Bundle, signatures: Sequence[str]) -> bool:
    """Commit all signatures before any of them is shown to anybody; whether it may still leave."""
    id_ = bundle.operation.id
    return ledger.tell(id_, among=(State.PREPARED,), signatures=list(signatures))


def accept_bundle(ledger: Ledger, bundle: Bundle) -> bool:
    """Commit that the service has the signatures, also where it was said before that they did not
    arrive."""
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
    """Commit how a bundle stands, with its deposits; whether it moved.

    Sent: its signatures leave now; False where another run was first, or they left before: then
    they must not leave. Raises ClaimTaken where something else paid one of the orders, or may have.
    Prepared: the service does not have them for certain, and the same ones may leave again.
    Refused with code FAILED: of several operations one may have paid, so that nobody else pays.
    Done: what was carried out paid, also where the bundle was over before.
    """
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
    """Commit a transaction before it is signed: one that fills the smart account of a group, or
    one that pays the deposits of ``service_ids`` itself. Raises ClaimTaken where another one fills
    it, or where something else paid one of the orders, or may have."""
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
    """The transactions of the wallet for a group, in the order in which they were begun."""
    return tuple(ledger.parts(group, "fund", "part"))


def sum_of(act: Operation) -> Sum:
    """What a transaction of the wallet moves."""
    body = act.body
    return Sum(body["symbol"], body["decimals"], body["contract"], int(body["units"]))


def signed_under(act: Operation) -> str:
    """Under which the wallet's own records have it."""
    return str(act.body.get("intent", act.id))


# Withdrawals


def begin_withdrawal(
    ledger: Ledger, intent_id: str, account: str, sender: str, chain: str, taken: Sequence[Sum]
) -> Operation:
    """Commit what is about to be taken out of the smart account ``sender``; what an earlier run
    prepared under the same intent and never signed gives way. Raises ClaimTaken while another
    withdrawal from it is under way."""
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
    """Of the smart account of an account on a chain, oldest first."""
    marks = ", ".join("?" * len(states))
    return ledger.where(
        f"kind = 'withdraw' AND state IN ({marks}) AND json_extract(body, '$.account') = ?"
        " AND json_extract(body, '$.chain') = ?",
        *states,
        account,
        chain,
    )


def withdrawal_of(ledger: Ledger, intent_id: str) -> Operation | None:
    """The newest one under an intent."""
    acts = ledger.where(
        "kind = 'withdraw' AND coalesce(json_extract(body, '$.intent'), id) = ?", intent_id
    )
    return acts[-1] if acts else None


def taken_of(act: Operation) -> tuple[Sum, ...]:
    """What a withdrawal takes out."""
    return convert(act.body["taken"], tuple[Sum, ...])


def group_of(ledger: Ledger, act: Operation) -> tuple[str, int]:
    """The batch and the number of the group that an act pays. Raises KeyError for none."""
    group = ledger.get(str(act.parent))
    if group is None or group.parent is None:
        raise KeyError(act.parent)
    return group.parent, int(group.body["number"])
