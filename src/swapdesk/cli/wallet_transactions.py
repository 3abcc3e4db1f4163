"""What a wallet signed, on the command line."""

from __future__ import annotations

from typing import Any

from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Form
from swapdesk.cli.session import Session
from swapdesk.flows.notation import iso
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.transactions import FINAL, SignedTransaction


async def list_transactions(session: Session, wallet: LocalWallet, *, waiting: bool) -> int:
    """Everything that was signed, oldest first, as the wallet's own records have it."""
    signed = await (await wallet.client()).transactions()
    shown = [one for one in signed if not (waiting and one.state in FINAL)]
    output = session.call.output
    if output.json:
        output.document({"transactions": [_json(one) for one in shown]})
    elif output.form is Form.PLAIN:
        output.say(
            *(f"{one.hash} on {one.chain}, to {one.purpose}, is {one.state}." for one in shown)
        )
    else:
        rows = [
            (iso(one.created), one.chain, str(one.purpose), str(one.state),
             "" if one.nonce is None else str(one.nonce), one.hash)
            for one in shown
        ]  # fmt: skip
        output.table(("signed", "chain", "for", "state", "nonce", "hash"), rows)
    if not shown:
        output.talk("Nothing that was signed still waits." if waiting else "Nothing was signed.")
    return Exit.DONE


def _json(one: SignedTransaction) -> dict[str, Any]:
    return {
        "hash": one.hash,
        "intentId": one.intent_id,
        "purpose": str(one.purpose),
        "chain": one.chain,
        "account": one.account,
        "state": str(one.state),
        "nonce": one.nonce,
        "confirmations": one.confirmations,
        "replaces": one.replaces,
        "created": iso(one.created),
        "problem": one.problem,
    }
