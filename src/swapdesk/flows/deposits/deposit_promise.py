"""The deposit of an order in the words of the wallet agent: what may be paid, to whom, until when.

It is made of the frozen intent and of the order as it stands in the journal; the amount is
``inAmount`` exactly as it was returned (contract 7.13).
"""

from __future__ import annotations

from decimal import Decimal

from swapdesk.chain.addresses import evm
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.flows.intents.intent import gas_bound
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose
from swapdesk.wire.encoding.numbers import NumberError, to_base_units

_TRANSFER = "0xa9059cbb"
"""``transfer(address,uint256)``; the agent decodes what was made of it."""


class NotPayable(ValueError):
    """The wallet cannot pay this order; the text says why."""


def kind_of(tracked: TrackedOrder) -> Kind | None:
    """Whose accounts can pay the order: those of its first chain; None for no chain of theirs."""
    return None if tracked.intent is None else KINDS.get(tracked.intent.token_in.kind)


def deposit_promise(tracked: TrackedOrder, account: Account, coin_price: Decimal | None) -> Promise:
    """``coin_price`` in dollars of the coin of the chain that is paid on. Raises NotPayable."""
    order, intent = tracked.order, tracked.intent
    if intent is None:
        raise NotPayable("The order was not confirmed at this desk.")
    token = intent.token_in
    if order.deposit_address is None or order.expires is None or order.in_amount is None:
        raise NotPayable("The order does not say what is to be paid, where to, and until when.")
    try:
        units = to_base_units(order.in_amount, token.decimals)
        confirmed = to_base_units(intent.amount_in, token.decimals)
        address = _spelled(order.deposit_address, token.kind)
        refund = order.refund_address and _spelled(order.refund_address, token.kind)
    except (NumberError, AddressProblem, ValueError) as error:
        raise NotPayable(f"The order cannot be paid as it stands: {error}.") from None
    return Promise(
        intent_id=intent.id,
        account=account.address,
        chain=token.chain,
        chain_id=token.chain_id if token.kind == "evm" else None,
        sell=Asset(token.symbol, token.decimals, token.contract),
        sell_units=confirmed,
        buy=Asset(intent.token_out.symbol, intent.token_out.decimals, intent.token_out.contract),
        chain_out=intent.token_out.chain,
        chain_out_id=intent.token_out.chain_id,
        least_units=0,
        quoted_units=0,
        recipient=intent.recipient,
        venue=intent.provider,
        quote_id=intent.quote_id,
        valid_until=order.expires,
        gas_units=gas_bound(coin_price, token.kind),
        deposit=DepositPromise(
            order.service_id,
            address,
            order.deposit_tag or None,
            units,
            order.expires,
            refund or None,
        ),
    )


def check_payable(promise: Promise) -> None:
    """Raises NotPayable for what no transfer on the promised chain can do."""
    if promise.deposit is not None and promise.deposit.tag and promise.chain_id is not None:
        raise NotPayable("The order asks for a memo, which no transfer on its chain can carry.")


def deposit_payload(promise: Promise) -> TransactionPayload:
    """The transfer on an EVM chain; on Solana the agent builds it. Raises NotPayable."""
    deposit = promise.deposit
    if deposit is None or promise.chain_id is None:
        raise NotPayable("The order is not paid on an EVM chain.")
    check_payable(promise)
    contract = promise.sell.contract
    if contract is None:
        return TransactionPayload(Purpose.DEPOSIT, deposit.address, "0x", deposit.units)
    payee = deposit.address[2:].lower().rjust(64, "0")
    return TransactionPayload(
        Purpose.DEPOSIT, contract, f"{_TRANSFER}{payee}{deposit.units:064x}", 0
    )


def _spelled(address: str, kind: str) -> str:
    return evm.read(address).normalized if kind == "evm" else address
