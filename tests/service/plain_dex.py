"""A small real on-chain venue for tests, and the chain it is on: transactions in a dictionary.

It speaks the protocols of both for their own sake. It may take tokens by an approval or by a chain
of two signatures, which it checks; what it asks to be sent is done as soon as somebody sends it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from msgspec import Struct, field

from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call
from swapdesk.service.dex.desk import OWNER, Foreign, Head
from swapdesk.service.orders.presentation import metadata_of
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import LegReport
from swapdesk.service.venues.onchain.adapter import (
    AUTO_SLIPPAGE,
    CALLDATA_SECONDS,
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Permission,
    Plan,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

CHAIN_ID = 1_337_000_001
CONTRACT = "0x" + "de" * 20
KEY = "plain"


class PlainChain(Struct):
    """What was sent on it, by hash."""

    sent: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def take(self, sender: str, call: Mapping[str, Any]) -> str:
        """Execute what a wallet sends; the hash."""
        told = {"from": sender, **{name: call[name] for name in ("to", "data", "value")}}
        digest = "0x" + hashlib.sha256(json.dumps(told).encode()).hexdigest()
        self.sent[digest] = told
        return digest

    def spelled(self, text: str) -> str | None:
        is_hash = len(text) == 66 and text.startswith("0x")
        return text.lower() if is_hash else None

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        known = self.sent.get(sent)
        if known is None:
            return False
        asked = {"from": order.detail[OWNER], **metadata_of(order)}
        if any(asked[name] != value for name, value in known.items()):
            raise Foreign
        return True

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        return []

    async def warm(self) -> None:
        return

    async def head(self) -> Head:
        return Head(len(self.sent))

    async def close(self) -> None:
        return


class PlainDex(Struct):
    """Trades the priced tokens of one chain for a share of a hundredth. ``approved``: owners whose
    tokens it may take."""

    chain: PlainChain
    name: str = "ethereum"
    approved: set[str] = field(default_factory=set)

    @property
    def provider(self) -> SwapProvider:
        return SwapProvider(
            id="de" * 12, name="Plain Pool", short_name="pp", enabled=True, is_dex=True
        )

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return all(
            token.chain_data.short_name == self.name and token.price and token.has_dex
            for token in (token_in, token_out)
        )

    async def quote(self, question: DexQuestion) -> DexPrice:
        sold, bought = question.token_in, question.token_out
        worth = Decimal(question.amount).scaleb(-sold.decimals) * Decimal(sold.price or 0)
        out = int((worth * 99 / 100 / Decimal(bought.price or 1)).scaleb(bought.decimals))
        slippage = AUTO_SLIPPAGE if question.slippage is None else question.slippage
        plan = Plan(
            amount=question.amount,
            out=out,
            least=int(out * (100 - slippage) / 100),
            slippage=slippage,
            path=(sold.address or CONTRACT, bought.address or CONTRACT),
            value=0 if sold.address else question.amount,
        )
        return DexPrice(
            plan,
            minutes=Decimal(1),
            impact=Decimal(0),
            gas=90_000,
            gas_wei=90_000 * 10**9,
            needs_permission=sold.address is not None,
            by_signature=True,
        )

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if deal.token_in.address is None or owner in self.approved:
            return Permission()
        if by_permit:
            return Permission(signatures=[_document(deal, owner, 0)])
        data = erc20.APPROVE.call(CONTRACT, deal.plan.amount)
        return Permission(approvals=[Call(deal.token_in.address, data)])

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return deal.token_in.address is None or owner in self.approved

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        if step != 0:
            raise DexRefused("there is no such step", "signatureStep")
        _check(deal, owner, given, step)
        return [_document(deal, owner, 1)]

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        deal = swap.deal
        if not await self.allowed(deal, swap.owner):
            if not swap.signatures:
                raise DexRefused("the tokens may not be taken")
            _check(deal, swap.owner, swap.signatures[-1], 1)
        told = f"{deal.quote_id} {swap.owner} {swap.receiver} {deal.plan.least}"
        return PreparedSwap(
            {
                "to": CONTRACT,
                "data": "0x" + told.encode().hex(),
                "value": str(deal.plan.value),
                "gasLimit": "120000",
                "deadline": str(int(swap.now.timestamp()) + CALLDATA_SECONDS),
            }
        )

    async def progress(self, execution: RouteExecution) -> Progress:
        if execution.hash is None:
            return Progress(LegReport(LegStatus.WAITING))
        deal = execution.deal
        report = LegReport(
            LegStatus.FINISHED,
            amount_out=Decimal(deal.plan.out).scaleb(-deal.token_out.decimals),
            deposit_hash=execution.hash,
            payout_hash=execution.hash,
            deposit_arrived=True,
        )
        return Progress(report)


def _document(deal: Deal, owner: str, step: int) -> SignatureRequirement:
    """What is signed at a step, the last of which is complete."""
    fields = ["owner", "address"], ["amount", "uint256"], ["step", "uint256"], ["until", "uint256"]
    document = {
        "domain": {"name": "Plain Pool", "chainId": CHAIN_ID, "verifyingContract": CONTRACT},
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Permit": [{"name": name, "type": kind} for name, kind in fields],
        },
        "primaryType": "Permit",
        "message": {
            "owner": owner,
            "amount": str(deal.plan.amount),
            "step": step,
            "until": deal.signed_until,
        },
    }
    return SignatureRequirement(
        data=document, type="chained", total_steps=2, step=step, is_complete=step == 1, key=KEY
    )


def _check(deal: Deal, owner: str, given: GivenSignature, step: int) -> None:
    message = encode_typed_data(full_message=_document(deal, owner, step).data)
    try:
        signer = Account.recover_message(message, signature=given.signature)
    except Exception as malformed:
        raise DexRefused("is no signature", "signatures") from malformed
    if signer != owner:
        raise DexRefused("is not the owner's", "signatures")
