"""Checks signed payments for calls (EIP-3009) on an EVM chain and sends them. Only the receipt of
the service's own transaction proves a payment; a used nonce can mean that the owner cancelled
it."""

from __future__ import annotations

from swapdesk.chain.calldata import erc20
from swapdesk.chain.node_http import NodeError, NodeUnreachable
from swapdesk.chain.rpc.evm import EvmRefused
from swapdesk.chain.typed_data import Domain, authorization_document
from swapdesk.clock import Clock
from swapdesk.service.payments import CallPayment, CallTerms, Note, Reason, Settled
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.venues.onchain.documents import (
    NOBODY,
    find_domain,
    read_signature,
    signed_by,
)
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.reader import OnchainReader

SETTLE_SECONDS = 20.0
LOOK_SECONDS = 0.1
_DECIMALS = 6
"""Decimals of the prices of calls, which are stated in dollars (contract 14.4)."""


async def read_terms(reader: OnchainReader, token: str, pay_to: str) -> CallTerms:
    """Returns the terms for paying calls in ``token`` to ``pay_to``, read from the token's
    contract. Raises NodeError, and ValueError for an unsuitable token."""
    needed = erc20.AUTHORIZATION_STATE, (NOBODY, bytes(32))
    domain = await find_domain(reader, token, *needed)
    if domain is None:
        raise ValueError("takes no signed transfers (EIP-3009) in a domain that it tells")
    (decimals,) = await reader.numbers([(token, erc20.DECIMALS, ())])
    if decimals != _DECIMALS:
        raise ValueError(f"has {decimals} decimals, and prices are told with {_DECIMALS}")
    return CallTerms(domain.chain_id, token, domain.name, domain.version, pay_to)


class ChainFacilitator:
    """Checks and settles payments on the chain of ``reader``; ``wallet`` sends the transactions and
    pays their gas."""

    def __init__(self, reader: OnchainReader, wallet: HotWallet, clock: Clock) -> None:
        self._reader = reader
        self._wallet = wallet
        self._clock = clock

    async def objection(self, payment: CallPayment) -> Reason | None:
        terms = payment.terms
        domain = Domain(terms.name, terms.version, terms.chain_id, terms.asset)
        document = authorization_document(
            domain,
            payment.payer,
            terms.pay_to,
            payment.units,
            payment.valid_after,
            payment.valid_before,
            payment.nonce,
        )
        if signed_by(document, payment.signature, payment.payer) is None:
            return "invalid_exact_evm_payload_signature"
        nonce = bytes.fromhex(payment.nonce[2:])
        try:
            held, used = await self._reader.numbers(
                [
                    (terms.asset, erc20.BALANCE_OF, (payment.payer,)),
                    (terms.asset, erc20.AUTHORIZATION_STATE, (payment.payer, nonce)),
                ]
            )
        except NodeError:
            return "chain_unavailable"
        if held is None or used is None:
            return "chain_unavailable"
        if used:
            return "invalid_exact_evm_nonce_already_used"
        return "invalid_exact_evm_insufficient_balance" if held < payment.units else None

    async def settle(self, payment: CallPayment, note: Note) -> Settled:
        parts = read_signature(payment.signature)
        assert parts is not None, "it was verified before"
        data = erc20.TRANSFER_WITH_AUTHORIZATION.call(
            payment.payer,
            payment.terms.pay_to,
            payment.units,
            payment.valid_after,
            payment.valid_before,
            bytes.fromhex(payment.nonce[2:]),
            parts.v,
            parts.r,
            parts.s,
        )
        try:
            sent = await self._wallet.send(self._reader, payment.terms.asset, data, note)
        except (StoreUnavailable, EvmRefused, NodeUnreachable) as error:
            refused = isinstance(error, EvmRefused)
            return Settled(
                reason="invalid_exact_evm_transaction_failed" if refused else "chain_unavailable"
            )
        except NodeError:
            return Settled(reason="chain_unavailable", open=True)
        until = self._clock.monotonic() + SETTLE_SECONDS
        while (settled := await self.outcome(sent)).open:
            if self._clock.monotonic() >= until:
                break
            await self._clock.sleep(LOOK_SECONDS)
        return settled

    async def outcome(self, transaction: str) -> Settled:
        try:
            receipt = await self._reader.client.receipt(transaction)
        except NodeError:
            receipt = None
        if receipt is None:
            return Settled(reason="chain_unavailable", open=True)
        return (
            Settled(transaction)
            if receipt.succeeded
            else Settled(reason="invalid_exact_evm_transaction_failed")
        )
