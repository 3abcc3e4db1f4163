"""Signed order updates: every state arrives, in the order of its order, under one id."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from client.rude_server import RudeServer
from flows.orders import order
from patience import PATIENCE
from rows import each_row
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.webhooks import (
    AttemptDocument,
    OrderWebhooks,
    TakenLog,
    WebhookRefused,
    receiver,
    shown,
    signing_secret,
    webhook_id,
)
from swapdesk.paths import UnsafePlace, write_private
from swapdesk.sandbox.repeatable import BEGINNING, repeatable_clock, run_repeatable
from swapdesk.wire.orders import DisplayStatus

URL = "http://127.0.0.1:9/hook"
STATES = [
    DisplayStatus.WAITING_FOR_DEPOSIT,
    DisplayStatus.DEPOSIT_DETECTED,
    DisplayStatus.EXCHANGE_IN_PROGRESS,
    DisplayStatus.SENDING_TO_RECEIVER,
    DisplayStatus.SWAP_COMPLETED,
]
KILLS = 100


class Receiver:
    """Takes what is posted where the signature fits; sometimes it refuses, sometimes its answer
    is lost though it took the delivery."""

    def __init__(self, secret: str, rng: random.Random) -> None:
        self._webhook = Webhook(secret)
        self._rng = rng
        self.taken: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        # The library verifies by the machine's clock, and this world has its own.
        sent = request.headers
        at = datetime.fromtimestamp(int(sent["webhook-timestamp"]), UTC)
        made = self._webhook.sign(sent["webhook-id"], at, body.decode())
        assert sent["webhook-signature"] == made
        luck = self._rng.random()
        if luck < 0.2:
            await Response(status_code=503)(scope, receive, send)
            return
        self.taken.append((request.headers["webhook-id"], json.loads(body)))
        if luck < 0.3:
            raise OSError("the answer is lost")
        await Response(status_code=204)(scope, receive, send)


class LossyTransport(httpx2.ASGITransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except OSError as error:
            raise httpx2.ReadError(str(error), request=request) from error


@contextmanager
def opened(home: Path, clock: Clock) -> Iterator[Journal]:
    journal = Journal.open(home / "journal.db", clock)
    yield journal
    journal.close()


def webhooks(
    home: Path, journal: Journal, clock: Clock, takes: Receiver | None, **more: Any
) -> OrderWebhooks:
    return OrderWebhooks(
        journal,
        clock,
        secret=signing_secret(home / "webhook.secret"),
        taken=TakenLog(home / "webhooks.db", URL),
        **{
            "url": URL,
            "only": None,
            "told": lambda attempt: None,
            "transport": None if takes is None else LossyTransport(app=takes),
            **more,
        },
    )


@asynccontextmanager
async def running(sender: OrderWebhooks) -> AsyncIterator[None]:
    """Sends meanwhile, and is killed."""
    task = asyncio.create_task(sender.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await sender.close()


def moved(journal: Journal, name: str, state: DisplayStatus) -> None:
    journal.orders.record([(order(service_id=name, display_status=state), "read", False)])


async def session(home: Path, seed: int, kills: int) -> tuple[list[Any], list[Any]]:
    """Orders that move on while the sender is ended again and again, at any moment."""
    rng, clock = random.Random(seed), repeatable_clock()
    takes = Receiver(signing_secret(home / "webhook.secret"), rng)
    with opened(home, clock) as journal:
        names = [letter * 22 for letter in "ABCDE" for _ in STATES]
        rng.shuffle(names)
        # Each order through its states in their order, all of them mixed.
        left = {name: list(STATES) for name in names}
        async with running(webhooks(home, journal, clock, takes)):
            await clock.sleep(1)
        for name in [*names, *[""] * (kills - len(names))]:
            async with running(webhooks(home, journal, clock, takes)):
                if name:
                    moved(journal, name, left[name].pop(0))
                await clock.sleep(rng.uniform(0, 3))
        async with running(webhooks(home, journal, clock, takes)):
            while len({one for one, _ in takes.taken}) < len(names):
                await clock.sleep(1)
            # What was taken is not read again after the next start.
            log = TakenLog(home / "webhooks.db", URL)
            while log.begins(0) < journal.orders.history.newest():
                await clock.sleep(1)
            log.close()
        return journal.orders.history.beyond(0, 1_000), takes.taken


@pytest.mark.parametrize("seed", [1, 2])
def test_no_state_is_missed_and_ids_stay(tmp_path: Path, seed: int) -> None:
    written, taken = run_repeatable(lambda: session(tmp_path, seed, KILLS))
    ids = {webhook_id(event): event for event in written}
    assert {name for name, _ in taken} == ids.keys()
    seen: dict[str, list[str]] = defaultdict(list)
    for name, told in taken:
        event = ids[name]
        assert told["data"]["serviceId"] == event.order.service_id
        assert told["data"]["displayStatus"] == event.order.display_status
        if name not in seen[event.order.service_id]:
            seen[event.order.service_id].append(name)
    for service_id, names in seen.items():
        assert names == [
            webhook_id(event) for event in written if event.order.service_id == service_id
        ]


def test_a_new_receiver_begins_now_and_only_has_the_orders_it_was_given(tmp_path: Path) -> None:
    told: list[AttemptDocument] = []

    async def whole() -> list[str]:
        clock = repeatable_clock()
        takes = Receiver(signing_secret(tmp_path / "webhook.secret"), random.Random(5))
        with opened(tmp_path, clock) as journal:
            mine, other = "A" * 22, "B" * 22
            moved(journal, mine, DisplayStatus.WAITING_FOR_DEPOSIT)
            sender = webhooks(tmp_path, journal, clock, takes, only={mine}, told=told.append)
            async with running(sender):
                await clock.sleep(1)
                moved(journal, other, DisplayStatus.WAITING_FOR_DEPOSIT)
                moved(journal, mine, DisplayStatus.DEPOSIT_DETECTED)
                while not any(one.taken for one in told):
                    await clock.sleep(1)
            sender = webhooks(tmp_path, journal, clock, takes, only={mine}, told=told.append)
            (name,) = {one.id for one in told}
            before = len(takes.taken)
            while len(takes.taken) == before:
                await sender.replay(name)
            with pytest.raises(WebhookRefused, match="no state with the id msg_none"):
                await sender.replay("msg_none")
            await sender.close()
            return [name for name, _ in takes.taken]

    names = run_repeatable(whole)
    assert (tmp_path / "webhook.secret").stat().st_mode & 0o777 == 0o600
    assert len(set(names)) == 1
    assert told[-1].display == DisplayStatus.DEPOSIT_DETECTED


def _answering(asked: list[tuple[float, str]], *answers: httpx2.Response) -> httpx2.MockTransport:
    """Answers in this order, the last one again and again; notes when each order was told."""
    left = list(answers)

    async def answer(request: httpx2.Request) -> httpx2.Response:
        told = json.loads(request.content)["data"]["serviceId"]
        asked.append((asyncio.get_running_loop().time(), told))
        return left.pop(0) if len(left) > 1 else left[0]

    return httpx2.MockTransport(answer)


def _date(seconds: float) -> str:
    return format_datetime(BEGINNING + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("told", "held"),
    [
        ({"retry-after": "4.2"}, 4.2),
        ({"retry-after": "90"}, 90),
        ({"retry-after": _date(120)}, 119),
        # The receiver's clock is an hour behind this one, and its date means its own.
        ({"retry-after": _date(60 - 3_600), "date": _date(-3_600)}, 60),
        ({"retry-after": "9" * 12}, 600),
    ],
)
def test_a_receiver_that_wants_to_wait_hears_nothing_meanwhile(
    tmp_path: Path,
    status: int,
    told: dict[str, str],
    held: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("swapdesk.flows.webhooks.LONGEST_HOLD", 600.0)
    asked: list[tuple[float, str]] = []

    async def whole() -> None:
        clock = repeatable_clock()
        answers = httpx2.Response(status, headers=told), httpx2.Response(204)
        with opened(tmp_path, clock) as journal:
            sender = webhooks(tmp_path, journal, clock, None, transport=_answering(asked, *answers))
            async with running(sender):
                await clock.sleep(0.1)
                journal.orders.record([(order(service_id="A" * 22), "read", False)])
                while not asked:
                    await clock.sleep(0.1)
                journal.orders.record([(order(service_id="B" * 22), "read", False)])
                while len(asked) < 3:
                    await clock.sleep(1)

    run_repeatable(whole)
    (first, _), *others = asked
    assert {name for _, name in others} == {"A" * 22, "B" * 22}
    assert min(at for at, _ in others) >= first + held
    assert max(at for at, _ in others) <= first + held + 5


def test_a_receiver_that_is_gone_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[tuple[float, str]] = []

    async def whole() -> None:
        clock = repeatable_clock()
        with opened(tmp_path, clock) as journal:
            for _ in range(2):
                sender = webhooks(
                    tmp_path,
                    journal,
                    clock,
                    None,
                    transport=_answering(asked, httpx2.Response(410)),
                )
                sending = asyncio.create_task(sender.run())
                await clock.sleep(0.1)
                journal.orders.record([(order(), "read", False)])
                with pytest.raises(WebhookRefused, match="410"):
                    await asyncio.wait_for(sending, PATIENCE)
                await sender.close()

    run_repeatable(whole)
    # Started anew it is asked once more, for what it has not taken.
    assert len(asked) == 2


async def _drip_head(_: object, writer: asyncio.StreamWriter) -> None:
    """A header now and then: each read is quick, and the head never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    with suppress(ConnectionError):
        while True:
            writer.write(b"x-more: 1\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)


async def test_a_head_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swapdesk.flows.webhooks.DEADLINE", 0.3)
    async with RudeServer(_drip_head) as server:
        with opened(tmp_path, SystemClock()) as journal:
            journal.orders.record([(order(), "read", False)])
            url = f"http://127.0.0.1:{server.port}/hook"
            sender = webhooks(tmp_path, journal, SystemClock(), None, url=url)
            (event,) = journal.orders.history.beyond(0, 1)
            made = await asyncio.wait_for(sender.replay(webhook_id(event)), PATIENCE)
            assert (made.status, made.problem) == (None, "no answer within 0.3 s")
            await sender.close()


@each_row("kept", ["", "\n", "whsec_", "whsec_c2hvcnQ=", "whsec_???", "whsec_" + "QUJD" * 30])
def test_a_file_without_a_secret_signs_nothing(tmp_path: Path, kept: str) -> None:
    file = tmp_path / "webhook.secret"
    write_private(file, kept.encode(), replace=True)
    with pytest.raises(WebhookRefused, match="holds no secret"):
        signing_secret(file)
    assert file.read_text() == kept


def test_a_secret_that_others_may_read_signs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "webhook.secret"
    signing_secret(file)
    file.chmod(0o644)
    with pytest.raises(UnsafePlace, match="open to other users"):
        signing_secret(file)
    (tmp_path / "link").symlink_to(file)
    file.chmod(0o600)
    with pytest.raises(UnsafePlace, match="symbolic link"):
        signing_secret(tmp_path / "link")


def test_what_an_address_asks_for_is_not_told(tmp_path: Path) -> None:
    """A query often holds the token that lets anybody post there."""
    assert shown("https://example.com/hook?token=abc") == "https://example.com/hook?..."
    assert shown("https://example.com/hook#abc") == "https://example.com/hook?..."
    assert shown("https://example.com/hook") == "https://example.com/hook"
    for url in ("ftp://example.com/?token=abc", "http://[::1?token=abc"):
        with pytest.raises(WebhookRefused) as refused:
            receiver(url)
        assert "abc" not in str(refused.value)


@each_row(
    ("url", "said"),
    [
        ("http://example.com/hook", "example.com is another machine: use https"),
        ("ftp://127.0.0.1/", "is no http or https address"),
        ("https://", "is no http or https address"),
        ("http://me:secret@127.0.0.1/", "an address holds no password"),
        ("http://[::1", "is no address"),
    ],
)
def test_a_receiver_that_cannot_be_used_is_refused(url: str, said: str) -> None:
    with pytest.raises(WebhookRefused, match=said):
        receiver(url)
    assert receiver("http://127.0.0.1:8000/hook") == "http://127.0.0.1:8000/hook"
    assert receiver("https://example.com/hook") == "https://example.com/hook"
