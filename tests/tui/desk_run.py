"""The whole application on a service: in process on a clock that is moved, or a real sandbox.

``open_desk`` gives a :class:`DeskRun`; its ``settle`` waits for a condition and shows the
screen when that never comes.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from msgspec import Struct, field
from msgspec.structs import replace
from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen

from flows.faulty_network import After, FaultyNetwork
from harness import Sandbox, running_sandbox
from patience import PATIENCE
from service.venue import PlainVenue
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.flows.connection import sandbox_connection
from swapdesk.flows.desk import Desk
from swapdesk.paths import Home, private_directory, write_private
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.adapter import DepositInstruction, LegOrder
from swapdesk.settings import Settings, load_settings
from swapdesk.tui.app import DeskApp
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.widgets.overlay import TypedConfirm
from swapdesk.wire.encoding.codec import encode_json
from tui.screen_text import screen_text
from world import open_world, sandbox_goods

S = TypeVar("S", bound=Screen[Any])

SIZES = ((80, 24), (100, 30), (120, 40))
WIDE = (200, 60)
STILL = 0.4
"""More than a money key asks a screen to stand still."""


class PayableVenue(PlainVenue):
    """A venue whose deposit addresses are addresses of their chains."""

    async def open(self, leg: LegOrder) -> DepositInstruction:
        opened = await super().open(leg)
        seed = hashlib.sha256(leg.key.encode()).digest()
        address = derive_address(leg.token_in.chain_data.kind, seed)
        self._accounts[leg.key] = replace(opened, address=address)
        return self._accounts[leg.key]


class DeskRun(Struct):
    """A running application and the hands on it."""

    app: DeskApp
    pilot: Pilot[int]
    clock: Any = None
    """The one that is moved; None where the desk has the machine's."""
    frames: int = 0
    """How often something was drawn since the first screen stood."""
    looks: int | None = None
    """After so many looks at a desk at rest what is waited for is taken for not coming, where
    that is no fault."""

    def __post_init__(self) -> None:
        app: Any = self.app
        display = app._display

        def counted(*frame: Any) -> None:
            self.frames += 1
            display(*frame)

        app._display = counted

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def body(self) -> str:
        """The screen without its first row, whose ages and budgets have goldens of their own."""
        return self.text.split("\n", 1)[1]

    def screen(self, kind: type[S]) -> S:
        """The screen in view, which is of this kind."""
        assert isinstance(self.app.screen, kind), self.text
        return self.app.screen

    async def settle(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for ``condition``; the screen is in the error when it never comes."""
        until = asyncio.get_running_loop().time() + PATIENCE
        for look in count():
            await self.pilot.pause()
            if condition():
                await self.pilot.pause()
                return
            if look == self.looks or asyncio.get_running_loop().time() > until:
                raise AssertionError(f"waited for {what or 'a condition'}\n{self.text}")
            await self.pilot.pause(0.02)

    async def later(self, words: str, step: float = 1.0) -> None:
        """Wait for words while the clock goes on in steps: retries and flushes need time."""
        await self.in_time(lambda: words in self.text, repr(words), step)

    async def in_time(
        self, condition: Callable[[], object], what: str = "", step: float = 2.0
    ) -> None:
        """As :meth:`settle`, while the clock goes on in steps."""

        def holds() -> object:
            self.clock.advance(step)
            return condition()

        await self.settle(holds, what)

    async def see(self, words: str) -> None:
        """Wait for words on the screen, which is read again when something was drawn."""
        read = -1

        def shown() -> bool:
            nonlocal read
            if self.frames == read:
                return False
            read = self.frames
            return words in self.text

        await self.settle(shown, repr(words))

    async def on(self, kind: type[S]) -> S:
        """The screen in view, once it is of this kind."""
        await self.settle(lambda: isinstance(self.app.screen, kind), kind.__name__)
        return self.screen(kind)

    async def press(self, *keys: str, sees: str = "", to: type[Screen[Any]] | None = None) -> None:
        """Press keys, and wait for the words that are seen then, or for the screen they lead to."""
        await self.pilot.press(*keys)
        await self.pilot.pause()
        if sees:
            await self.see(sees)
        if to is not None:
            await self.on(to)

    async def type(self, text: str, sees: str = "") -> None:
        """Type as a terminal hands a fast typist over: key after key, and one rest at the end."""
        for char in text:
            key = char if char.isalnum() else _character_to_key(char)
            event = Key(key, char)
            event.set_sender(self.app)
            self.app.post_message(event)
        await self.pilot.pause()
        if sees:
            await self.see(sees)

    async def enter(self, text: str, **then: Any) -> None:
        """Type a text and submit it."""
        await self.type(text)
        await self.press("enter", **then)

    async def retype(self, text: str) -> None:
        """Type a text in place of what stands in the field."""
        await self.press("ctrl+u")
        await self.type(text)

    async def calm(self) -> None:
        """No notice on the screen."""
        self.screen(DeskScreen).clear_notice()
        await self.pilot.pause()

    async def press_still(self, key: str, **then: Any) -> None:
        """A money key, once the screen stood still for it."""
        await self.still()
        await self.press(key, **then)

    def advance(self, seconds: float) -> None:
        """Let the time of the desk go on, and the desk notice it."""
        self.clock.advance(seconds)
        self.app.tick()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.pilot.pause()

    async def still(self) -> None:
        """Let the screen stand as long as a money key asks for."""
        if self.clock is not None:
            self.clock.advance(STILL)
            return
        screen: Any = self.app.screen
        await self.settle(lambda: screen.guard.refusal(screen.guard.step) is None, "a still screen")

    async def ready(self) -> None:
        await self.settle(lambda: self.app.session.ready, "the service")

    async def to_orders(self, words: str = "Open") -> OrdersScreen:
        """The tracker with its rows."""
        await self.ready()
        await self.press("o", sees=words)
        return self.screen(OrdersScreen)

    async def to_order(self, service_id: str) -> OrderScreen:
        """The page of an order."""
        await self.ready()
        self.app.navigation.open_order(service_id)
        await self.settle(
            lambda: getattr(self.app.screen, "service_id", "") == service_id, "the order"
        )
        await self.see("Order id")
        return self.screen(OrderScreen)

    async def to_quotes(self, line: str = "0.5 btc eth") -> None:
        await self.ready()
        await self.press("n")
        await self.type(line)
        await self.press("enter")
        await self.settle(lambda: getattr(self.app.screen, "result", None) is not None, "quotes")

    async def to_form(self, line: str = "0.5 btc eth") -> None:
        await self.to_quotes(line)
        await self.press("enter")

    async def to_frozen(self, line: str = "0.5 btc eth", recipient: str = "@bob") -> None:
        await self.to_form(line)
        await self.type(recipient)
        await self.press("enter")
        await self.still()

    async def compare(self) -> None:
        """Answer the question before the first payment to an address."""
        await self.see("First payment to this address")
        asked = self.screen(TypedConfirm)
        await self.type(asked.question.phrase)
        await self.press("enter")

    async def to_deposit(self, line: str = "0.5 btc eth", recipient: str = "@bob") -> None:
        await self.to_frozen(line, recipient)
        await self.press("c")
        await self.settle(lambda: type(self.app.screen).__name__ == "DepositScreen", "the card")


@asynccontextmanager
async def open_desk(
    settings: Settings,
    start_sandbox: Callable[[], Awaitable[Mapping[str, Any]]] | None,
    *,
    size: tuple[int, int] = (100, 30),
    clock: ManualClock | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[DeskRun]:
    app = DeskApp(settings, start_sandbox, clock=clock, transport=transport)
    # A letter on the empty line is a key at once: whether a word follows is tested by itself.
    app.keys.word_seconds = 0.0
    # By a clock that is moved all that the process of the tests ever made would be collected.
    app._garbage.clock = SystemClock()
    async with app.run_test(size=size) as pilot:
        yield DeskRun(app, pilot, clock)


class Market(Struct):
    """A real service in process with three venues, and the network between it and a desk."""

    home: Path
    clock: ManualClock
    venues: list[PlainVenue]
    parts: ServiceParts
    network: FaultyNetwork
    started: int = 0
    start_errors: list[Exception] = field(default_factory=list)
    chains: list[dict[str, Any]] = field(default_factory=list)
    """What the ready line says of the chains that the sandbox runs itself."""
    known: bytes = b""
    """The list of tokens as an earlier run of the desk left it; empty for a first start."""

    async def start(self) -> Mapping[str, Any]:
        """What the commands hand to the desk; raises what stands in ``start_errors``."""
        self.started += 1
        if self.start_errors:
            raise self.start_errors.pop(0)
        return {
            "url": "http://127.0.0.1:9/v2",
            "control": "http://127.0.0.1:9/sandbox",
            "controlToken": "no-control-here",
            "chains": self.chains,
            "partners": [
                {
                    "partnerId": "partner-first",
                    "apiKey": "first-key",
                    "apiSecret": "first-secret",
                    "tier": "PRO",
                    "name": "alice",
                }
            ],
        }

    @property
    def settings(self) -> Settings:
        return load_settings({}, Home.at(self.home))

    @asynccontextmanager
    async def desk(self, size: tuple[int, int] = (100, 30)) -> AsyncIterator[DeskRun]:
        places = self.settings.places
        if self.known and not places.catalog.exists():
            private_directory(places.root)
            write_private(places.catalog, self.known)
        async with open_desk(
            self.settings, self.start, size=size, clock=self.clock, transport=self.network
        ) as run:
            yield run

    @asynccontextmanager
    async def ready_desk(self, size: tuple[int, int] = (100, 30)) -> AsyncIterator[DeskRun]:
        """A desk once it is connected."""
        async with self.desk(size) as run:
            await run.ready()
            yield run


@cache
def encoded_catalogue(now: datetime) -> Mapping[str, bytes]:
    """The tokens of every market as every service writes them."""
    return {token.id: encode_json(token) for token in sandbox_goods(now)["tokens"]}


@asynccontextmanager
async def open_market(place: Path) -> AsyncIterator[Market]:
    """A service whose store and whose desks' homes are below ``place``."""
    clock = ManualClock()
    venues = [
        PayableVenue("aa", "Alder", spread="0.004", minutes="14"),
        PayableVenue("bb", "Birch", spread="0.006", minutes="9"),
        PayableVenue("cc", "Cedar", spread="0.001", minimum_usd="100000"),
    ]
    async with open_world(place, clock, venues, **sandbox_goods(clock.now())) as world:
        world.service.catalog._encoded.update(encoded_catalogue(clock.now()))
        yield Market(place / "home", clock, venues, world.service, world.network)


_lists: dict[str, bytes] = {}


async def known_list(
    places: pytest.TempPathFactory, name: str = "first", after: After | None = None
) -> bytes:
    """The file of tokens that a desk makes at its first start; ``after`` stands in place of what
    the service says. It is the same for every market, so that one desk of a process asks its
    service for each ``name``; ``test_app`` has first starts."""
    if name not in _lists:
        async with open_market(places.mktemp(name)) as market:
            market.network.after = after
            settings = market.settings
            desk = Desk.open(settings, clock=market.clock, transport=market.network)
            await desk.connect(sandbox_connection(await market.start()), follow=False)
            await desk.refresh_reference()
            await desk.close()
            _lists[name] = settings.places.catalog.read_bytes()
    return _lists[name]


@pytest.fixture
async def market(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Market]:
    known = await known_list(tmp_path_factory)
    async with open_market(tmp_path) as market:
        market.known = known
        yield market


@pytest.fixture(scope="package")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One for the desks of a worker, each in a home of its own; it ends with their tests. Commands
    have another: a desk counts every open order of its partner, and they leave many."""
    with running_sandbox(tmp_path_factory.mktemp("sandbox"), wallet=True) as running:
        yield running


def sandbox_desk(
    sandbox: Sandbox, home: Path, size: tuple[int, int] = (100, 30), **other: Any
) -> Any:
    """A desk with an empty home on the running sandbox, whose ready line may say something else."""

    async def ready() -> Mapping[str, Any]:
        return {**sandbox.ready, **other}

    return open_desk(load_settings({}, Home.at(home)), ready, size=size)


def without_ids(text: str) -> str:
    """The text with what is drawn at random each run replaced: order ids and addresses."""
    return re.sub(r"order \w{6}", "order XXXXXX", text)


def without_code(text: str) -> str:
    """The text with a code to scan blotted out: it is made of what is drawn at random."""
    rows = text.split("\n")
    inked = [at for at, row in enumerate(rows) if re.search("[█▀▄]", row)]
    if not inked:
        return text
    left = min(re.search("[█▀▄]", rows[at]).start() for at in inked)  # type: ignore[union-attr]
    right = max(found.end() for at in inked for found in re.finditer("[█▀▄]", rows[at]))
    for at in range(inked[0], inked[-1] + 1):
        row = rows[at].ljust(right)
        rows[at] = row[:left] + "▒" * (right - left) + row[right:]
    return "\n".join(rows)
