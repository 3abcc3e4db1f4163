"""``--dry-run`` of a swap on chains, and ``sign``: the unsigned payload and the gate's verdict."""

from __future__ import annotations

from typing import Any

from swapdesk.cli.command_error import own_refusal
from swapdesk.cli.consent import review_text
from swapdesk.cli.dex_creation import DexCreation
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import require_key
from swapdesk.cli.token_argument import find_token
from swapdesk.cli.wallet_session import make_ready, of_wallet_error
from swapdesk.flows.dex.dex_dry_run import DryRun, DryStep, dry_run
from swapdesk.flows.orders.told_transaction import NotThisSwap
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import TransactionPayload, TypedDataPayload
from swapdesk.wallet.review import Review
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.numbers import from_base_units, short

UNTOUCHED = "in your wallet; nothing was journaled, created, signed or sent"


class DexDryRun(DexCreation):
    """Everything a swap does before its first signature, and nothing of what comes with it."""

    async def run(self) -> int:
        """Print what would be signed. Exit 9 when the gate refuses it. Raises CommandError."""
        session, wallet = self._session, self._desk.wallet
        require_key(session)
        await session.load_catalog()
        await session.settle()
        try:
            await make_ready(session, wallet, fill=False)
            token_in = find_token(self._request.sell, self._desk, field="from")
            account = await self._account(wallet, token_in)
            intent = (await self._chosen(account, token_in)).intent
            told = await dry_run(session.link.api, await wallet.client(), intent)
        except WalletError as error:
            raise of_wallet_error(error) from None
        except NotThisSwap as other:
            raise own_refusal(other.code, f"What would be signed is refused: {other}.") from None
        if self._output.json:
            self._output.document(_document(told, self._calls(told)))
        else:
            self._say(told)
        return Exit.OWN_REFUSAL if told.refused else Exit.DONE

    def _calls(self, told: DryRun) -> list[str]:
        quoted = [] if self._request.quote_id is not None else ["GET /quotes"]
        return [*quoted, *told.asked]

    def _say(self, told: DryRun) -> None:
        intent, promise = told.intent, told.promise
        least = short(from_base_units(promise.least_units, promise.buy.decimals))
        rows = [
            ("Quote", f"{intent.quote_id}, {intent.provider_name or intent.provider}"),
            ("You sell", f"{intent.amount_in:f} {promise.sell.symbol} on {promise.chain}"),
            ("You get", f"at least {least:f} {promise.buy.symbol} on {promise.chain_out}"),
            ("Account", promise.account),
            ("Recipient", promise.recipient),
        ]
        self._output.facts(rows)
        if not told.steps:
            self._output.say("Nothing has to be approved or signed before the order.")
        for place, step in enumerate(told.steps, 1):
            self._output.say(f"Step {place}: {step.name}", *_payload_text(step))
            if step.review is not None:
                self._output.say(*review_text(step.review), _verdict(step.review))
            else:
                self._output.say(f"Not judged. {step.unjudged}")
        self._output.say(*(f"Not known: {one}" for one in told.unknown))
        self._output.talk(f"Asked of the service: {', '.join(self._calls(told)) or 'nothing'}.")
        self._output.talk(f"The money is {UNTOUCHED}.")


def _verdict(review: Review) -> str:
    if review.refused:
        return "Refused: this would not be signed."
    if review.phrase is not None:
        return f'It would be signed after "{review.phrase}" is typed.'
    return "It would be signed after a yes."


def _payload_text(step: DryStep) -> list[str]:
    payload = step.payload
    if isinstance(payload, TypedDataPayload):
        return [encode_json(payload.document).decode()]
    return [f"to {payload.to}", f"value {payload.value}", f"data {payload.data}"]


def _payload_json(payload: TransactionPayload | TypedDataPayload) -> dict[str, Any]:
    if isinstance(payload, TypedDataPayload):
        return {"kind": "typedData", "purpose": str(payload.purpose), "data": payload.document}
    return {
        "kind": "transaction",
        "purpose": str(payload.purpose),
        "to": payload.to,
        "value": str(payload.value),
        "data": payload.data,
    }


def _review_json(review: Review) -> dict[str, Any]:
    simulation = review.simulation
    return {
        "title": review.title,
        "digest": review.digest,
        "refused": review.refused,
        "phrase": review.phrase,
        "validUntil": review.valid_until,
        "lines": [
            {
                "field": one.field,
                "signed": one.signed,
                "promised": one.promised,
                "match": str(one.match),
                "weight": one.weight,
            }
            for one in review.lines
        ],
        "findings": [
            {"code": one.code, "severity": str(one.severity), "message": one.words}
            for one in review.findings
        ],
        "simulation": None
        if simulation is None
        else {
            "height": simulation.height,
            "gas": simulation.gas,
            "failure": simulation.failure,
            "changes": [
                {
                    "holder": one.holder,
                    "symbol": one.symbol,
                    "contract": one.contract,
                    "units": str(one.units),
                }
                for one in simulation.changes
            ],
        },
    }


def _document(told: DryRun, calls: list[str]) -> dict[str, Any]:
    intent, promise = told.intent, told.promise
    return {
        "dryRun": True,
        "quoteId": intent.quote_id,
        "provider": intent.provider,
        "account": promise.account,
        "recipient": promise.recipient,
        "chain": promise.chain,
        "chainId": promise.chain_id,
        "amountIn": intent.amount_in,
        "amountOut": intent.amount_out,
        "leastOut": short(from_base_units(promise.least_units, promise.buy.decimals)),
        "steps": [
            {
                "name": one.name,
                "payload": _payload_json(one.payload),
                "review": None if one.review is None else _review_json(one.review),
                "unjudged": one.unjudged,
            }
            for one in told.steps
        ],
        "notKnown": list(told.unknown),
        "asked": calls,
        "refused": told.refused,
        "money": UNTOUCHED,
        "next": "you: leave out --dry-run to swap",
    }
