"""Every scene with every text of the service replaced by a hostile one, and with lists that repeat.

Which texts those are is read from the models of the wire: whatever is marked as text that people
read. Identity text (ids, symbols, addresses) stays: a hostile one refuses its object. A sample runs
always, at two sizes; ``--full`` runs all texts through all scenes, at three."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import httpx2
import pytest
from rich.cells import cell_len
from rich.style import Style

from corpus.texts import all_texts, control_texts, invisible_texts, markup_texts, sample
from flows.faulty_network import changed
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.wire import account, chains, errors, orders, quotes, tokens
from swapdesk.wire.encoding.text import Display, safe_text
from swapdesk.wire.model import WireModel
from tui.desk_run import DeskRun, Market, open_market
from tui.picture import faults_of, take
from tui.scenes import Scene, all_scenes, go_on, tours

MODULES = (account, chains, errors, orders, quotes, tokens)
SYMBOLS = frozenset({"symbol", "inSymbol", "outSymbol"})
"""What a person types to find a token: kept in answers, replaced in the journal."""
WORDS = frozenset({"type"})
"""Words of the protocol that refuse their object when they are not one."""
MARK = "Q7"
"""Stands before every text, so that what follows it on a screen can be compared."""


@cache
def text_fields() -> frozenset[str]:
    """The names on the wire of all fields that hold text for people."""
    names = set()
    for module in MODULES:
        for model in vars(module).values():
            if isinstance(model, type) and issubclass(model, WireModel):
                hints = get_type_hints(model, include_extras=True)
                for name, field in model.model_fields.items():
                    if _holds_text(hints[name]):
                        alias = field.alias or field.serialization_alias
                        names.add(alias or name)
    return frozenset(names)


def _holds_text(hint: Any) -> bool:
    if any(isinstance(one, Display) for one in getattr(hint, "__metadata__", ())):
        return True
    return any(_holds_text(part) for part in get_args(hint))


class HostileTexts:
    """Puts the texts in turn where the service wrote its own; ``used`` counts them."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.used = 0
        self._answers = _strings(text_fields() - SYMBOLS - WORDS)
        self._orders = _strings(text_fields() - WORDS)

    def _into(self, document: str, fields: re.Pattern[str]) -> str:
        return fields.sub(lambda found: found[1] + json.dumps(MARK + self._next()), document)

    def into_answer(self, document: str) -> str:
        """The answer with every text for people replaced, but for symbols."""
        return self._into(document, self._answers)

    def answer(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """For ``FaultyNetwork.after``."""
        return changed(
            response, lambda body: self.into_answer(body.decode()).encode("utf-8", "surrogatepass")
        )

    def into_journal(self, path: Path) -> None:
        """Replace the texts of the orders that the journal of a desk holds."""
        if not path.exists():
            return
        with sqlite3.connect(path) as db:
            for table, column in (("orders", "last"), ("events", "raw")):
                rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608
                for rowid, document in rows:
                    db.execute(
                        f"UPDATE {table} SET {column} = ? WHERE rowid = ?",  # noqa: S608
                        (self._into(document, self._orders), rowid),
                    )
        db.close()

    def _next(self) -> str:
        self.used += 1
        return self.texts[self.used % len(self.texts)]


def _strings(names: frozenset[str]) -> re.Pattern[str]:
    """The text values of these names in a JSON document; group 1 is all before the value."""
    named = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf'("(?:{named})": ?)"(?:[^"\\]|\\.)*"')


def unsafe_characters(text: str) -> Iterator[str]:
    """Characters of a screen that a terminal would act on or not show."""
    return (char for char in text if char != "\n" and not char.isprintable())


WITHOUT_TEXT = re.compile(
    "sign|wallets|address-book|home-signing|batch-empty|orders-empty|requests$|inspect(-read|-several)?$"
    "|swap-(empty|private|refused)|order-(lower|private|waiting|withheld)"
)
"""Scenes that show no text of the service: of the wallet, of the book, and with nothing to say."""
SCENES = [one for one in all_scenes() if one.fed and not WITHOUT_TEXT.match(one.name)]
TOURS = tours(SCENES)
NAMES = ["+".join(one.name for one in tour) for tour in TOURS]
TEXTS = all_texts()
IN_A_RUN = 24


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(control_texts()) == 60
    assert len(markup_texts()) == 40
    assert len(set(TEXTS)) == len(TEXTS)
    assert {"name", "swapName", "warningMessage", "symbol", "error"} <= text_fields()


def test_every_dangerous_text_is_one() -> None:
    """No text of the two families is already harmless: all need the model boundary."""
    for text in (*control_texts(), *invisible_texts()):
        assert safe_text(text, 200) != text, ascii(text)
    assert all(safe_text(text, 200) == text for text in markup_texts())


Shape = tuple[tuple[int, int], GlyphSet]
SHAPES: list[Shape] = [((80, 24), GlyphSet.UNICODE), ((120, 40), GlyphSet.ASCII)]
"""Where the columns are narrowest, and with all of them."""
MORE_SHAPES: list[Shape] = [((120, 40), GlyphSet.UNICODE), ((100, 30), GlyphSet.ASCII)]


async def run_of(
    market: Market,
    subtests: pytest.Subtests,
    tour: list[Scene],
    texts: list[str],
    shapes: list[Shape] = SHAPES,
) -> None:
    tour[0].begin(market)
    hostile = HostileTexts(texts)
    hostile.into_journal(load_settings({}, Home.at(market.home)).places.journal)
    market.network.after = hostile.answer
    market.known = b""
    before = None
    async with market.desk((80, 24)) as run:
        for one in tour:
            with subtests.test(scene=one.name):
                if before is not None:
                    await take(run, (80, 24))
                await go_on(run, before, one)
                await look_at(run, texts, shapes)
            before = one


async def look_at(run: DeskRun, texts: list[str], shapes: list[Shape]) -> None:
    shown = 0
    for size, glyphs in shapes:
        picture = await take(run, size, glyphs)
        assert not list(unsafe_characters("\n".join(picture.rows)))
        assert all(cell_len(row) <= size[0] for row in picture.rows), picture.rows
        faults = faults_of(picture, overlay=isinstance(run.app.screen, Overlay))
        found = [fault for fault in faults if "cuts the number" not in fault]
        assert not found, "\n".join([*found, *picture.rows])
        nothing_was_understood(run)
        shown += "\n".join(picture.rows).count(MARK)
        if glyphs is GlyphSet.UNICODE:
            every_text_is_literal("\n".join(picture.rows), texts)
    assert shown > 0


def nothing_was_understood(run: DeskRun) -> None:
    """No segment carries an action, and none a link that the desk does not make itself."""
    for strip in run.app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style or Style()
            assert not any(name.startswith("@") for name in style.meta), segment
            assert style.link is None or style.link.startswith("https://"), segment
            assert "evil.example" not in (style.link or "")


def every_text_is_literal(screen: str, texts: list[str]) -> None:
    """What follows the mark is the beginning of one of the texts, as the boundary writes it."""
    begins = {safe_text(MARK + text, 400)[len(MARK) :][:3] for text in texts}
    for found in re.finditer(re.escape(MARK), screen):
        shown = screen[found.end() : found.end() + 3]
        held = re.split(r"[…\n]|  ", shown)[0]
        # Cut, wrapped or at the end of its column: what is left of it must still agree.
        assert any(begin.startswith(held) or held.startswith(begin) for begin in begins), ascii(
            shown
        )


@pytest.mark.parametrize("at", range(len(TOURS)), ids=lambda at: NAMES[at])
async def test_a_sample_in_every_scene(market: Market, subtests: pytest.Subtests, at: int) -> None:
    await run_of(market, subtests, TOURS[at], sample(TEXTS, IN_A_RUN, start=at))


@pytest.mark.long
@pytest.mark.parametrize("tour", TOURS, ids=NAMES)
async def test_every_text_in_every_scene(
    tmp_path: Path, subtests: pytest.Subtests, tour: list[Scene]
) -> None:
    for start in range(0, len(TEXTS), IN_A_RUN):
        async with open_market(tmp_path / str(start)) as market:
            texts = TEXTS[start : start + IN_A_RUN]
            await run_of(market, subtests, tour, texts, [*SHAPES, *MORE_SHAPES])


REPEATED = {"quotes-fixed-too", "tokens", "candidates", "batch-created", "wallets"}


def repeated(value: Any) -> Any:
    """Every object of every list once more."""
    if isinstance(value, dict):
        return {name: repeated(one) for name, one in value.items()}
    if isinstance(value, list):
        return [repeated(one) for one in value for _ in range(1 + isinstance(one, dict))]
    return value


def repeating(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """For ``FaultyNetwork.after``."""
    return changed(
        response, lambda body: json.dumps(repeated(json.loads(body))).encode() if body else b""
    )


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, id=one.name, marks=[] if one.name in REPEATED else pytest.mark.long)
        for one in all_scenes()
        if one.fed
    ],
)
async def test_every_list_repeated(market: Market, one: Scene) -> None:
    one.begin(market)
    market.network.after = repeating
    market.known = b""
    async with market.desk((80, 24)) as run:
        await one.reach(run)
        picture = await take(run, (80, 24))
        faults = faults_of(picture, overlay=isinstance(run.app.screen, Overlay))
        assert not faults, "\n".join([*faults, *picture.rows])
