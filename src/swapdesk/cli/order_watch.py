"""Follows orders to their end: ``orders watch`` prints a line for each change, and ``listen`` posts
each change to a program of the user.

Changes are reported by the stream, but whether an order has ended is confirmed by a call to the
service. If a sandbox stops meanwhile, it is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    UNTOUCHED,
    CommandError,
    Exit,
    bad_input,
    of_unusable_file,
    refused_as,
)
from swapdesk.cli.order_reports import OrderDocument, find_order, order_document
from swapdesk.cli.session import TELLING_SECONDS, reconnect, settle
from swapdesk.client.errors import ClientError
from swapdesk.clock import SystemClock
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.webhooks import (
    GONE,
    AttemptDocument,
    OrderWebhooks,
    TakenLog,
    WebhookRefused,
    gone,
    shown,
    signing_secret,
)
from swapdesk.wire.orders import DisplayStatus

LOOK_SECONDS = 2.0
"""Seconds between two calls about an order whose end or refund the service has not confirmed."""

LOST_SECONDS = 4.0
"""Seconds without the service before the command looks for another sandbox, or starts one."""

_MAY_BE_REFUNDED = frozenset({DisplayStatus.EXPIRED, DisplayStatus.FAILED})


class WatchedDocument(Struct, frozen=True):
    """One change of an order, printed as a line of ``orders watch``: the ``id`` and, in the same
    JSON object, all members of the order."""

    MERGED: ClassVar = "order"

    id: str
    order: OrderDocument


async def watch_orders(
    call: CliContext, ids: Sequence[str], until: str, timeout: float | None
) -> int:
    """Prints every change of the orders until all have ended, and returns the exit code.
    ``until="refunded"`` also waits for refunds. Raises CommandError (exit 3) after ``timeout``
    seconds."""
    await settle(call, TELLING_SECONDS)
    watched = dict.fromkeys([(await find_order(call, name)).service_id for name in ids])
    watch = _Watch(call, list(watched), refunded=until == "refunded")
    try:
        async with asyncio.timeout(timeout):
            await watch.run()
    except TimeoutError:
        raise CommandError(
            Exit.THRESHOLD,
            "TIMEOUT",
            f"Not ended after {timeout:g} s: {', '.join(watch.open_ids())}.",
        ) from None
    return watch.result()


class _Watch:
    def __init__(self, call: CliContext, ids: Sequence[str], *, refunded: bool) -> None:
        self._call = call
        self._ids = ids
        self._refunded = refunded
        self._printed: dict[str, tuple[Any, ...]] = {}
        self._last: dict[str, TrackedOrder] = {}

    async def run(self) -> None:
        self._call.link.follow()
        lost, changed = 0.0, asyncio.Event()
        self._print_changes()
        while self.open_ids():
            # A new connection has another tracker.
            self._call.link.tracker.on_change = lambda _: changed.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await changed.wait()
            changed.clear()
            self._print_changes()
            await self._ask()
            self._print_changes()
            offline = self._call.link.tracker.stream_state == "offline"
            lost = lost + LOOK_SECONDS if offline else 0.0
            if lost >= LOST_SECONDS and self.open_ids():
                lost = 0.0
                await reconnect(self._call)

    def open_ids(self) -> list[str]:
        return [name for name in self._ids if not self._over(self._known(name))]

    def result(self) -> int:
        """Returns the exit code: 0 if all orders completed, otherwise 10."""
        displays = {display_of(self._known(name).order) for name in self._ids}
        return Exit.DONE if displays == {DisplayStatus.SWAP_COMPLETED} else Exit.ENDED_OTHERWISE

    def _known(self, service_id: str) -> TrackedOrder:
        # A new connection begins with what the journal holds, which may not be writable.
        tracked = self._call.link.tracker.get(service_id) or self._last[service_id]
        self._last[service_id] = tracked
        return tracked

    def _over(self, tracked: TrackedOrder) -> bool:
        may_be_refunded = self._refunded and display_of(tracked.order) in _MAY_BE_REFUNDED
        return tracked.ended and not may_be_refunded

    async def _ask(self) -> None:
        streams = not self._call.link.connection.read_only
        for name in self.open_ids():
            if streams and not ended(display_of(self._known(name).order)):
                continue
            with contextlib.suppress(ClientError):
                # Asked again at the next look; the stream says when the service is back.
                await self._call.link.tracker.read(name)

    def _print_changes(self) -> None:
        now = self._call.desk.service_clock.now()
        for name in self._ids:
            tracked = self._known(name)
            order = tracked.order
            seen = (
                display_of(order),
                order.status,
                order.in_status,
                order.out_status,
                tracked.ended,
                tracked.withheld,
            )
            if self._printed.get(name) == seen:
                continue
            self._printed[name] = seen
            made = self._call.desk.journal.orders.transactions_of(tracked.service_id)
            self._call.output.say(
                order_sentence(tracked, now, made),
                document=WatchedDocument(name, order_document(tracked, now, made)),
            )


async def post_orders(
    call: CliContext, url: str, ids: tuple[str, ...], delivery: str | None
) -> None:
    only = {(await find_order(call, name)).service_id for name in ids}
    root: Path = call.desk.settings.places.root
    try:
        secret, taken = signing_secret(root / "webhook.secret"), TakenLog(root / "webhooks.db", url)
    except WebhookRefused as error:
        raise bad_input("NO_SECRET", f"{error}.") from None
    except OSError as error:
        raise of_unusable_file(error, money=UNTOUCHED) or error from None
    webhooks = OrderWebhooks(
        call.desk.journal,
        SystemClock(),
        url=url,
        secret=secret,
        taken=taken,
        only=only or None,
        told=lambda attempt: _tell(call, attempt),
    )
    try:
        if delivery is not None:
            with refused_as(WebhookRefused, "NO_DELIVERY", field="replay"):
                made = await webhooks.replay(delivery)
            if made.status == GONE:
                raise _gone(url)
            if not made.taken:
                raise CommandError(
                    Exit.UNREACHABLE,
                    "NOT_TAKEN",
                    f"The receiver did not take it: {made.problem or made.status}.",
                )
            return
        call.output.talk(
            f"Posting to {shown(url)}. Signatures are checked with {root / 'webhook.secret'}."
        )
        call.link.follow()
        try:
            await _until_interrupted(call, webhooks)
        except WebhookRefused:
            raise _gone(url) from None
    finally:
        await webhooks.close()


def _gone(url: str) -> CommandError:
    return CommandError(Exit.NOT_FOUND, "RECEIVER_GONE", f"{gone(url)}.")


async def _until_interrupted(call: CliContext, webhooks: OrderWebhooks) -> None:
    posting = asyncio.create_task(webhooks.run())
    try:
        while True:
            done, _ = await asyncio.wait([posting], timeout=LOST_SECONDS)
            if done:
                posting.result()
            if call.link.tracker.stream_state == "offline":
                await reconnect(call)
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
