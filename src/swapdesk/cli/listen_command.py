"""``listen``: order updates as signed POSTs to a program of the user's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, on_desk
from swapdesk.cli.command_error import CommandError, bad_input, of_unusable_file
from swapdesk.cli.error_table import UNTOUCHED
from swapdesk.cli.exit_codes import Exit

if TYPE_CHECKING:
    from swapdesk.cli.session import CommandSession
    from swapdesk.flows.webhooks import AttemptDocument, OrderWebhooks


LOST_SECONDS = 4.0
"""How long the service may be unreachable before another sandbox is looked for."""


def _receiver(_: click.Context, option: click.Parameter, url: str) -> str:
    from swapdesk.flows.webhooks import WebhookRefused, receiver

    try:
        return receiver(url)
    except WebhookRefused as error:
        raise bad_input("BAD_RECEIVER", f"{error}.", field="forward-to") from None


@click.command()
@click.option(
    "--forward-to",
    "url",
    required=True,
    callback=_receiver,
    metavar="URL",
    help="What is posted to.",
)
@click.option(
    "--orders",
    "ids",
    multiple=True,
    metavar="ORDER",
    shell_complete=completion.open_orders,
    help="Only this order; may be given again. All orders by default.",
)
@click.option("--replay", "wanted", metavar="ID", help="Send one delivery again, and end.")
@on_desk("listen_command:post_orders", from_journal=True)
def listen() -> None:
    """Post every state of your orders to URL, signed in the form of Standard Webhooks.

    A delivery is tried until it is answered with 200 to 299, under the same id; never before the
    time that Retry-After names. An answer of 410 ends the command. States of one order arrive in
    their order. After an end of any kind the next call goes on where the receiver
    stood. The file webhook.secret of the profile holds what the signatures are checked with.
    """


async def post_orders(
    session: CommandSession, url: str, ids: tuple[str, ...], wanted: str | None
) -> None:
    from swapdesk.cli.order_reports import find_order
    from swapdesk.clock import SystemClock
    from swapdesk.flows.webhooks import (
        GONE,
        OrderWebhooks,
        TakenLog,
        WebhookRefused,
        shown,
        signing_secret,
    )

    only = {(await find_order(session, name)).service_id for name in ids}
    root: Path = session.settings.places.root
    try:
        secret, taken = signing_secret(root / "webhook.secret"), TakenLog(root / "webhooks.db", url)
    except WebhookRefused as error:
        raise bad_input("NO_SECRET", f"{error}.") from None
    except OSError as error:
        raise of_unusable_file(error, money=UNTOUCHED) or error from None
    webhooks = OrderWebhooks(
        session.desk.journal,
        SystemClock(),
        url=url,
        secret=secret,
        taken=taken,
        only=only or None,
        told=lambda attempt: _tell(session.call, attempt),
    )
    try:
        if wanted is not None:
            try:
                made = await webhooks.replay(wanted)
            except WebhookRefused as error:
                raise bad_input("NO_DELIVERY", f"{error}.", field="replay") from None
            if made.status == GONE:
                raise _gone(url)
            if not made.taken:
                raise CommandError(
                    Exit.UNREACHABLE,
                    "NOT_TAKEN",
                    f"The receiver did not take it: {made.problem or made.status}.",
                )
            return
        session.call.output.talk(
            f"Posting to {shown(url)}. Signatures are checked with {root / 'webhook.secret'}."
        )
        session.link.follow()
        try:
            await _until_interrupted(session, webhooks)
        except WebhookRefused:
            raise _gone(url) from None
    finally:
        await webhooks.close()


def _gone(url: str) -> CommandError:
    from swapdesk.flows.webhooks import gone

    return CommandError(Exit.NOT_FOUND, "RECEIVER_GONE", f"{gone(url)}.")


async def _until_interrupted(session: CommandSession, webhooks: OrderWebhooks) -> None:
    """Post while the desk follows the service; a sandbox that is gone is started again."""
    from swapdesk.client.live import StreamState

    posting = asyncio.create_task(webhooks.run())
    try:
        while True:
            done, _ = await asyncio.wait([posting], timeout=LOST_SECONDS)
            if done:
                posting.result()
            if session.link.tracker.stream_state is StreamState.OFFLINE:
                await session.reconnect()
    finally:
        posting.cancel()
        await asyncio.gather(posting, return_exceptions=True)


def _tell(call: CliContext, attempt: AttemptDocument) -> None:
    answered = attempt.problem or str(attempt.status)
    again = "" if attempt.taken else f", try {attempt.number}"
    call.output.say(
        f"{attempt.id}  {attempt.service_id}  {attempt.display or 'no state'}"
        f"  {answered}{again}  {attempt.ms} ms",
        document=attempt,
    )
