"""``tape run`` plays a tape (a file of keys to press) in the sandbox's desk, and records or
compares what is shown; ``tour`` guides a person who presses the keys. Importing this module loads
the screens."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    of_unusable_file,
    own_refusal,
    refused_as,
)
from swapdesk.cli.main import open_desk
from swapdesk.cli.sandbox_commands import TapeDocument
from swapdesk.cli.sandbox_lifetime import SPEED, require_extra
from swapdesk.paths import Home, make_directories, without_mark
from swapdesk.settings import load_settings
from swapdesk.tui import tapes
from swapdesk.tui.app import DeskApp
from swapdesk.tui.tapes.grammar import MOST_BYTES, Tape, TapeRefused, read_tape
from swapdesk.tui.tapes.player import NeverCame, Player, timers_of
from swapdesk.tui.tapes.recorder import moments_text, read_moments, write_recording

SEED = 1
"""The seed of the sandbox in which a tape is played without a terminal."""
MOST_TEXT = 4 << 20
"""The most bytes that are read of a file with expected texts."""
MOST_DIFFERENT, MOST_ROWS = 10, 100
"""The most moments that differ, and the most rows of a moment, that are printed."""
IN_SANDBOX = "in the sandbox; none of it is real"


def play_tape(
    call: CliContext, file: Path, headless: bool, check: Path | None, record: Path | None
) -> int:
    """Plays a tape of keys; with ``headless``, without a terminal. ``record`` is the folder for the
    result, ``check`` the file with expected texts. Raises CommandError: exit 3 if an awaited text
    never came, 10 if a text differs."""
    _require_sandbox(call)
    player = Player(_read_tape(file), alone=headless)
    expected = None if check is None else _read_expected(check)
    try:
        if record is not None:
            # What cannot be written is said before the tape is played.
            make_directories(record)
        end = play_repeatable(player) if headless else open_desk(call, player=player)
        if end:
            return end
        _require_played(call, player)
        files: list[Path] = []
        if record is not None:
            files = write_recording(record, file.stem, player.cast, player.moments)
    except OSError as error:
        raise of_unusable_file(error, money=IN_SANDBOX) or error from None
    _tell(call, player, file, expected, files)
    return Exit.DONE


def play_tour(call: CliContext) -> int:
    _require_sandbox(call)
    tour = Path(tapes.__file__).parent / "tour.tape"
    return open_desk(call, player=Player(read_tape(tour.read_bytes()), reader=True))


def _require_sandbox(call: CliContext) -> None:
    settings = call.settings(lenient=True)
    if settings.live:
        raise own_refusal(
            "TAPE_ON_LIVE",
            f"Keys that press themselves are for the sandbox alone, and"
            f" {settings.profile.value} is live.",
            next="you: choose --profile sandbox",
        )


def play_repeatable(player: Player, seed: int = SEED) -> int:
    """Plays a tape in a new home and sandbox that behave the same every time. Returns the desk's
    exit code."""
    require_extra("sandbox")
    from swapdesk.sandbox.repeatable import open_world, run_repeatable

    # Pictures have colours, whoever draws them.
    os.environ.pop("NO_COLOR", None)

    async def play() -> int:
        with tempfile.TemporaryDirectory(prefix="swapdesk-tape-") as scratch:
            # As of a desk that was never opened, whatever the environment says.
            settings = load_settings({}, Home.at(Path(scratch)))
            async with open_world(settings.home.sandbox, seed=seed, speed=Decimal(SPEED)) as world:

                async def ready() -> Mapping[str, Any]:
                    return world.ready

                app = DeskApp(settings, ready, clock=world.clock, transport=world.transport)
                with timers_of(world.clock):
                    await app.run_async(**player.attach(app))
                return app.return_code or 0

    return run_repeatable(play)


def _read_tape(path: Path) -> Tape:
    try:
        return read_tape(_read(path, MOST_BYTES, "file"))
    except TapeRefused as refused:
        fields = {f"line {mistake.line}": {"message": mistake.said} for mistake in refused.mistakes}
        count = len(fields)
        raise CommandError(
            Exit.BAD_INPUT,
            "TAPE_REFUSED",
            f"{path} is no tape: {count} {'line is' if count == 1 else 'lines are'} wrong.",
            fields=fields,
        ) from None


def _read(path: Path, most: int, field: str) -> bytes:
    if path.exists() and not path.is_file():
        raise bad_input("NO_FILE", f"{path} is no file.", field=field)
    with refused_as(OSError, "NO_FILE", f"{path}: ", field=field), path.open("rb") as opened:
        return without_mark(opened.read(most + 1))


def _read_expected(check: Path) -> dict[str, str]:
    content = _read(check, MOST_TEXT, "check")
    if len(content) <= MOST_TEXT and (moments := read_moments(content)):
        return moments
    raise bad_input("NO_MOMENTS", f"{check} holds no moments of a tape.", field="check")


def _require_played(call: CliContext, player: Player) -> None:
    if (failure := player.failure) is not None:
        call.output.report(failure.screen)
        waited = isinstance(failure, NeverCame)
        raise CommandError(
            Exit.THRESHOLD if waited else Exit.BAD_INPUT,
            "NEVER_CAME" if waited else "TAPE_REFUSED",
            str(failure),
            fields={"screen": {"message": failure.screen}} if call.output.json else {},
        )
    if player.left_at is not None:
        raise CommandError(
            Exit.ENDED_OTHERWISE,
            "TAPE_LEFT",
            f"The desk was left in line {player.left_at}, before the tape was over.",
        )


def _tell(
    call: CliContext,
    player: Player,
    file: Path,
    expected: Mapping[str, str] | None,
    files: list[Path],
) -> None:
    shown = read_moments(moments_text(player.moments).encode())
    wanted = expected or {}
    differ = None
    if expected is not None:
        names = [*shown, *(name for name in wanted if name not in shown)]
        differ = [name for name in names if wanted.get(name) != shown.get(name)]
    call.output.say(
        *(f"{written} written." for written in files),
        document=TapeDocument(str(file), list(shown), list(map(str, files)), differ),
    )
    if differ:
        named = differ[:MOST_DIFFERENT]
        for name in named:
            call.output.report(_difference(name, wanted.get(name), shown.get(name)))
        more = f" and {len(differ) - len(named)} more" if len(differ) > len(named) else ""
        raise CommandError(
            Exit.ENDED_OTHERWISE,
            "TAPE_DIFFERS",
            f"Other than expected: {', '.join(named)}{more}.",
            next="you: look at what differs; --record writes the texts anew",
        )


def _difference(name: str, expected: str | None, shown: str | None) -> str:
    if expected is None or shown is None:
        return f"{name}: {'not expected' if expected is None else 'never marked'}"
    rows = difflib.unified_diff(
        expected.splitlines()[:MOST_ROWS], shown.splitlines()[:MOST_ROWS], n=0, lineterm=""
    )
    differing = [row for row in rows if not row.startswith(("---", "+++", "@@"))]
    return "\n".join([f"{name}, - expected, + shown:", *differing])
