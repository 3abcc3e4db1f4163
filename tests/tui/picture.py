"""A screen as text at any size and in both sets of glyphs, and the rules every picture keeps."""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct
from rich.cells import cell_len

from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import ascii_line, line_of, plain_text
from tui.desk_run import DeskRun
from tui.rest import at_rest

SMALLEST, NORMAL, ROOMY, LARGEST = ALL_SIZES = ((80, 24), (100, 30), (120, 40), (200, 60))
ASCII_SIZE = NORMAL
Size = tuple[int, int]
MOST_KEYS = 6
WHOLE_FROM = 100
"""Columns from which every such sentence is whole."""
NO_RULE_BELOW = 28
"""Rows below which the bottom rule is dropped."""
LOOKS = 2
MOST_LOOKS = 400
SOON = 0.17
"""Seconds: panes that follow a key or a resize late do so earlier."""

RULES = "╌━-="
BARS = "▌>"
_WIDE_GAP = re.compile(r" {3,}")
_HELP = re.compile(r" (?:\?|f1) keys$")
# A number that ends in a cut: digits and nothing else before the mark, a blank after it.
_CUT_NUMBER = re.compile(r"(?<![\w.,…=&/?])[−+≈$]?\d[\d,]*(?:\.\d*)?…(?!\S)")
# Four or more characters of an address on either side of a cut: 0x91c2…b3E9, bc1q …5mdq.
_CUT_ADDRESS = re.compile(r"\w{4,} ?…\w{4,}|\b\w{4} …\w{4}\b")
# A sentence that tells where money is or who acts and loses its end; an address goes on behind it.
_CUT_PLACE = re.compile(r"(?:Funds|Next|[Rr]efund|\bback\b)\b.*\S…(?=  |$)")
# In the address book the name is what is chosen; its address is only a reminder.
_BOOK_ENTRY = re.compile(r"@\S+ +[\w ]+…\w+(?: \w+)*")


class Picture(Struct, frozen=True):
    """The rows of one screen, right edges trimmed."""

    rows: tuple[str, ...]
    size: tuple[int, int]
    glyphs: GlyphSet = GlyphSet.UNICODE

    @property
    def label(self) -> str:
        """Part of a golden's name: ``80x24``, ``100x30-ascii``."""
        size = f"{self.size[0]}x{self.size[1]}"
        return f"{size}-ascii" if self.glyphs is GlyphSet.ASCII else size

    @property
    def words_in_ascii(self) -> list[str]:
        """The words of each row in ASCII, where a glyph has a longer form if a gap has room."""
        rows = [plain_text(ascii_line(line_of(row))) for row in self.text.split("\n")]
        return [" ".join(re.sub(r"\.+", ".", row.replace("->", ">")).split()) for row in rows]

    @property
    def text(self) -> str:
        """All rows; of the first one what stands left of account, badge and budget, because
        their ages are the machine's."""
        first, *rest = self.rows
        return "\n".join([_WIDE_GAP.split(first)[0], *rest])


async def take(run: DeskRun, size: tuple[int, int], glyphs: GlyphSet = GlyphSet.UNICODE) -> Picture:
    """Resize the terminal, change the glyphs, and read the screen."""
    if run.app.size != size:
        await run.resize(*size)
    if run.app.glyph_set is not glyphs:
        run.app.glyph_set = glyphs
        for screen in run.app.screen_stack:
            for widget in screen.walk_children():
                widget.refresh()
        # What depends on the glyphs for its size is drawn anew with the next second.
        run.app.tick()
    return Picture(tuple((await settled(run, size)).split("\n")), size, glyphs)


async def settled(run: DeskRun, size: tuple[int, int] | None = None) -> str:
    """The screen at ``size``, else that of the terminal, once it is laid out for it, nothing falls
    due soon, nothing was drawn for some looks and it reads the same as before: panes follow a
    resize late."""
    shown, drawn, quiet = "", -1, 0
    for _ in range(MOST_LOOKS):
        await at_rest(ahead=SOON)
        await run.pilot.pause()
        laid_out = run.app.screen._compositor.size == (size or run.app.size)
        if run.frames != drawn or not laid_out:
            drawn, quiet = run.frames, 0
            continue
        quiet += 1
        if 1 < quiet <= LOOKS:
            continue
        now = run.text
        if quiet > LOOKS and now == shown:
            return shown
        shown, quiet = now, 1
    raise AssertionError(f"the screen does not come to rest\n{shown}")


async def take_all(run: DeskRun, sizes: Collection[Size]) -> dict[str, Picture]:
    """By their labels the pictures of these sizes, then that of the size that is drawn in ASCII,
    which spares the way back to it."""
    taken = [await take(run, size) for size in sorted(sizes) if size != ASCII_SIZE]
    taken.append(await take(run, ASCII_SIZE))
    return {picture.label: picture for picture in taken}


def faults_of(picture: Picture, *, decides: bool = False, overlay: bool = False) -> list[str]:
    """What breaks the rules of the grid; empty when nothing does.

    No row is longer than the screen; columns 0 and 1 belong to the frame, the rules and the
    cursor bar; money and keys are the last two rows, keys six at most; no number is cut, from 100
    columns on no sentence that tells where money is or who acts and, where something is decided,
    no address outside the list of known names. ``overlay``: a panel covers the body, and the keys
    are its own.
    """
    rows, (width, height) = picture.rows, picture.size
    faults: list[str] = []
    if len(rows) != height:
        faults.append(f"{len(rows)} rows of {height}")
    for number, row in enumerate(rows):
        if cell_len(row) > width:
            faults.append(f"row {number} has {cell_len(row)} cells of {width}: {row}")
        if number and not _margin_is_free(row):
            faults.append(f"row {number} uses the margin: {row}")
        if found := _CUT_NUMBER.search(row):
            faults.append(f"row {number} cuts the number {found[0]}: {row}")
        if width >= WHOLE_FROM and (found := _CUT_PLACE.search(row)):
            faults.append(f"row {number} cuts where money is or who acts: {row}")
        if decides and (found := _CUT_ADDRESS.search(_BOOK_ENTRY.sub("", row))):
            faults.append(f"row {number} cuts the address {found[0]}: {row}")
    faults += _frame_faults(rows[:2], width)
    return faults + _foot_faults(rows[-2:], overlay)


def _margin_is_free(row: str) -> bool:
    if row[:1] and row[0] in RULES and set(row) == {row[0]}:
        return True
    return row[:1] in ("", " ", *BARS) and row[1:2] in ("", " ")


def _frame_faults(rows: tuple[str, ...], width: int) -> list[str]:
    faults = []
    if not re.match(r" (SANDBOX|LIVE)  ?\S", rows[0]):
        faults.append(f"the first row is no frame: {rows[0]}")
    if len(set(rows[1])) != 1 or rows[1][0] not in RULES or cell_len(rows[1]) != width:
        faults.append(f"the second row is no frame rule: {rows[1]}")
    return faults


def _foot_faults(rows: tuple[str, ...], overlay: bool) -> list[str]:
    money, keys = rows
    faults = []
    if not re.match(r"  (Funds \S|.*  Next \S)", money):
        faults.append(f"the row above the keys is no money line: {money}")
    if not overlay and not _HELP.search(keys):
        faults.append(f"the last row has no keys: {keys}")
    hints = [part for part in _WIDE_GAP.split(_HELP.sub("", keys).strip()) if part]
    if len(hints) > MOST_KEYS:
        faults.append(f"{len(hints)} keys: {keys}")
    return faults
