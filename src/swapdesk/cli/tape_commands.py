"""``tape run`` plays a tape in the sandbox's desk, records it and compares it; ``tour`` shows a
person round."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import CommandError, bad_input, of_unusable_file, own_refusal
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.main import open_desk

if TYPE_CHECKING:
    from swapdesk.settings import Settings
    from swapdesk.tui.tapes.grammar import Tape
    from swapdesk.tui.tapes.player import Player

SEED = 1
"""Of the world that a tape without a terminal plays in."""
MOST_TEXT = 4 << 20
"""Bytes of a file of texts."""
DIFFERENCES = 200
"""Lines of a comparison that are shown."""
IN_SANDBOX = "in the sandbox, which has none that is real"


@click.group()
def tape() -> None:
    """Play keys into the desk of the sandbox."""


@tape.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--headless", is_flag=True, help="Without a terminal, in a new home that is left.")
@click.option("--here", is_flag=True, help="With --headless: in this home, on its sandbox.")
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    help="Compare the texts of the marked moments with this file, which --record writes.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a cast, the texts and a picture of each marked moment here.",
)
@desk_command
def run(
    call: CliContext,
    file: Path,
    headless: bool,
    here: bool,
    check: Path | None,
    record: Path | None,
) -> int:
    """Play the tape FILE: keys, pauses, and waits for texts on the screen.

    It plays in the sandbox alone. In a terminal it plays visibly in this home; ctrl+c stops it,
    and the desk is yours. Ends with 3 where a text never came, with 10 where --check differs.
    """
    if here and not headless:
        raise click.UsageError("--here belongs to --headless.")
    settings = _sandbox_settings(call)
    played = _read_tape(file)
    expected = None if check is None else _read(check, MOST_TEXT, "check").decode(errors="replace")
    from swapdesk.tui.tapes.player import AT_ONCE, TALKING, Player

    player = Player(played, pace=AT_ONCE if here else TALKING, alone=headless)
    if not headless:
        end = open_desk(call, player)
    elif here:
        end = _play_here(settings, player)
    else:
        end = play_repeatable(player)
    if end:
        return end
    _require_played(call, player)
    _tell(call, player, file, expected, record)
    return Exit.DONE


@click.command()
@desk_command
def tour(call: CliContext) -> int:
    """Open the desk of the sandbox with a guide that waits for your own keys.

    From a token to a payout, and found again. ctrl+c ends the tour; the desk is yours then.
    """
    _sandbox_settings(call)
    from swapdesk.tui import tapes
    from swapdesk.tui.tapes.grammar import read_tape
    from swapdesk.tui.tapes.player import Player

    shown = read_tape((Path(tapes.__file__).parent / "tour.tape").read_bytes())
    return open_desk(call, Player(shown, reader=True))


def _sandbox_settings(call: CliContext) -> Settings:
    """Exit 9 on a live profile."""
    settings = call.settings(lenient=True)
    if settings.live:
        raise own_refusal(
            "TAPE_ON_LIVE",
            f"Keys that press themselves are for the sandbox alone, and"
            f" {settings.profile.value} is live.",
            next="you: choose --profile sandbox",
        )
    return settings


def _play_here(settings: Settings, player: Player) -> int:
    from swapdesk.cli.sandbox_lifetime import SandboxLifetime
    from swapdesk.tui.app import run_desk

    sandbox = SandboxLifetime(settings.home)
    try:
        return run_desk(settings, sandbox.ready, player)
    finally:
        sandbox.close()


def play_repeatable(player: Player, seed: int = SEED) -> int:
    """Play in a new home, in a world that is the same at every run and takes no time; the exit
    code of the desk."""
    from swapdesk.cli.sandbox_lifetime import SPEED, require_sandbox

    require_sandbox()
    from swapdesk.paths import Home
    from swapdesk.sandbox.repeatable import open_world, run_repeatable
    from swapdesk.settings import load_settings
    from swapdesk.tui.app import DeskApp
    from swapdesk.tui.tapes.player import timers_of

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
    from swapdesk.tui.tapes.grammar import MOST_BYTES, TapeRefused, read_tape

    try:
        return read_tape(_read(path, MOST_BYTES, "file"))
    except TapeRefused as refused:
        fields = {f"line {one.line}": {"message": one.said} for one in refused.mistakes}
        count = len(fields)
        said = f"{path} is no tape: {count} {'line is' if count == 1 else 'lines are'} wrong."
        raise CommandError(
            Exit.BAD_INPUT, "TAPE_REFUSED", said, next="you: correct the tape", fields=fields
        ) from None


def _read(path: Path, most: int, field: str) -> bytes:
    """The beginning of a file, one byte more than is allowed."""
    if path.exists() and not path.is_file():
        raise bad_input("NO_FILE", f"{path} is no file.", field=field)
    try:
        with path.open("rb") as opened:
            return opened.read(most + 1)
    except OSError as error:
        raise bad_input("NO_FILE", f"{path}: {error.strerror}.", field=field) from None


def _require_played(call: CliContext, player: Player) -> None:
    """Exit 3 where a text never came, 10 where the desk was left before."""
    if player.failure is not None:
        if not call.output.json:
            call.output.report(player.failure.screen)
        raise CommandError(
            Exit.THRESHOLD,
            "NEVER_CAME",
            str(player.failure),
            IN_SANDBOX,
            "you: correct the tape, or give it more patience",
            fields={"screen": {"message": player.failure.screen}} if call.output.json else {},
        )
    if player.left_at is not None:
        raise CommandError(
            Exit.ENDED_OTHERWISE,
            "TAPE_LEFT",
            f"The desk was left in line {player.left_at}, before the tape was over.",
            IN_SANDBOX,
            "you: play it again",
        )


def _tell(
    call: CliContext, player: Player, file: Path, expected: str | None, record: Path | None
) -> None:
    from swapdesk.tui.tapes.recorder import moments_text, write_recording

    shown = moments_text(player.moments)
    files: list[Path] = []
    if record is not None:
        try:
            files = write_recording(record, file.stem, player.cast, player.moments)
        except OSError as error:
            raise of_unusable_file(error, money=IN_SANDBOX) or error from None
    same = expected is None or expected == shown
    if call.output.json:
        call.output.document(
            {
                "tape": str(file),
                "moments": [one.name for one in player.moments],
                "files": [str(one) for one in files],
                "same": None if expected is None else same,
            }
        )
    else:
        call.output.say(*(f"{one} written." for one in files))
    if expected is not None and not same:
        lines = difflib.unified_diff(
            expected.splitlines(), shown.splitlines(), "expected", "shown", n=1, lineterm=""
        )
        if not call.output.json:
            call.output.report("\n".join(list(lines)[:DIFFERENCES]))
        raise CommandError(
            Exit.ENDED_OTHERWISE,
            "TAPE_DIFFERS",
            "The marked moments show other texts than are expected.",
            IN_SANDBOX,
            "you: look at what differs; --record writes the texts anew",
        )
