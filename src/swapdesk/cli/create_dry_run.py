"""``--dry-run`` of an order that is paid by a deposit: what would be posted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swapdesk.cli.output import Output
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.exchange import create_body
from swapdesk.flows.intents.intent import Intent

UNTOUCHED = "in your wallet; nothing was journaled, created or sent"


def print_dry_run(
    output: Output, intent: Intent, review: Sequence[str], checks: Iterable[CheckLine]
) -> None:
    """The body of the create and what the checks say. The service was asked for quotes alone."""
    if output.json:
        output.document(
            {
                "dryRun": True,
                "quoteId": intent.quote_id,
                "provider": intent.provider,
                "body": create_body(intent),
                "checks": [line.text for line in checks],
                "money": UNTOUCHED,
                "next": "you: leave out --dry-run to create the order",
            }
        )
        return
    output.say(*review)
    output.talk(f"The money is {UNTOUCHED}.")
