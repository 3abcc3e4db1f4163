"""The entry point: ``swapdesk`` opens the desk, ``swapdesk COMMAND`` runs a command. A command's
module is imported when the command is called, and the libraries it needs only when it runs, so that
``--version`` or ``config`` does not load a network client."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NoReturn

import click

from swapdesk import __version__
from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, global_options, named, narrow
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    of_error,
)
from swapdesk.cli.output import (
    Output,
    OutputLost,
    ReaderLeft,
    escape_foreign,
    replace_closed,
    silence,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from swapdesk.flows.demo.demonstration import DemoChoice
    from swapdesk.tui.tapes.player import Player


COMMANDS: dict[str, str] = {
    "quote": "desk_commands:quote",
    "swap": "create_commands:swap",
    "send": "create_commands:send",
    "sign": "create_commands:sign",
    "fund": "create_commands:fund",
    "batch": "batch_commands:batch",
    "tokens": "desk_commands:tokens",
    "chains": "desk_commands:chains",
    "orders": "desk_commands:orders",
    "account": "desk_commands:account",
    "why": "desk_commands:why",
    "inspect": "desk_commands:inspect",
    "support": "desk_commands:support",
    "trigger": "sandbox_commands:trigger",
    "api": "desk_commands:api",
    "listen": "desk_commands:listen",
    "wallet": "wallet_commands:wallet",
    "demo": "sandbox_commands:demo",
    "serve": "sandbox_commands:serve",
    "worker": "sandbox_commands:worker",
    "node": "sandbox_commands:node",
    "partner": "partner_commands:partner",
    "backup": "partner_commands:backup",
    "config": "config_command:config",
    "profile": "config_command:profile",
    "tape": "sandbox_commands:tape",
    "tour": "sandbox_commands:tour",
    "doctor": "config_command:doctor",
    "completion": "completion_command:completion",
    "commands": "contract_commands:list_commands",
    "schema": "contract_commands:schema",
    "errors": "contract_commands:errors",
    "docs": "contract_commands:docs",
}
"""The function of each command, by the command's name, as ``module:function`` within this
package."""

OBJECTS_BETWEEN_COLLECTIONS = 150_000
"""How many objects are allocated between two garbage collections. The modules that connecting
imports must not cause one."""

ENDS = "Exit codes: " + " | ".join(f"{end.value} {end.means}" for end in Exit) + "."


class CommandTable(click.Group):
    """A click group that imports a command only when its name is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        command: click.Command = named(place)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        as_usual = ctx.resilient_parsing or args[0] in COMMANDS or args[0].startswith("-")
        if not as_usual:
            import difflib

            near = difflib.get_close_matches(args[0], list(COMMANDS), n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Returns the names of commands for the shell's completion. Click's own method would import
        every command to get its help."""
        from click.shell_completion import CompletionItem

        return [
            *(CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]


@click.group(
    cls=CommandTable,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=ENDS,
)
@click.version_option(__version__, prog_name="swapdesk")
@global_options
@click.option(
    "--theme", metavar="NAME", shell_complete=completion.themes, help="The palette of the desk."
)
@click.pass_context
def swapdesk(
    context: click.Context,
    theme: str | None,
    profile: str | None,
    as_json: bool,
    plain: bool,
    read_only: bool,
    passphrase_fd: int | None,
) -> int | None:
    """A swap desk in a terminal, with a complete local sandbox.

    Without a command it opens the desk. The profile is the sandbox unless one is chosen.
    """
    call = CliContext(Output("table"), theme=theme)
    narrow(call, profile, as_json, plain, read_only, passphrase_fd)
    context.obj = call
    if context.invoked_subcommand is not None:
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
        return None
    return open_desk(call)


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Yields (full name, command) for the desk itself, every command, every group of commands and
    every command of a group."""
    return _below("swapdesk", swapdesk)


def _below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            below = command.get_command(context, inner)
            assert below is not None
            yield from _below(f"{name} {inner}", below)


def commands() -> dict[str, click.Command]:
    """Returns every command that can be run, by its name without ``swapdesk``. Groups that only
    contain commands are left out."""
    return {
        name.partition(" ")[2]: command
        for name, command in every_command()
        if not isinstance(command, click.Group)
    }


def open_desk(
    call: CliContext, demo: DemoChoice | None = None, player: Player | None = None
) -> int:
    """Opens the desk's screens, even with wrong settings, which the desk then shows. ``player`` is
    a tape, a file of keys to press. Returns the exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise bad_input("NO_TERMINAL", "The desk needs a terminal. Commands work without one: -h.")
    if os.environ.get("TERM") == "dumb":
        raise bad_input(
            "NO_TERMINAL",
            "This terminal shows lines only (TERM is dumb), and the desk needs one that it can draw"
            " on. Commands work there: -h.",
        )
    # What is imported stays: a search for garbage among it only keeps the first frame waiting.
    gc.disable()
    try:
        from swapdesk.tui.app import run_desk
    finally:
        gc.freeze()
        gc.enable()
    while True:
        settings = call.settings(lenient=True)
        if settings.live:
            ended = run_desk(settings, None)
        else:
            from swapdesk.cli.sandbox_lifetime import SandboxLifetime

            with closing(SandboxLifetime(settings.home)) as sandbox:
                ended = run_desk(settings, sandbox.ready, player, demo=demo)
        if isinstance(ended, int):
            return ended
        call.profile, player, demo = ended, None, None


def run(arguments: Sequence[str]) -> int:
    """Runs one command line, prints its error if any, and returns its exit code."""
    import logging

    logging.getLogger("swapdesk").addHandler(logging.NullHandler())
    output = Output("json" if "--json" in arguments else "table")
    try:
        ended = swapdesk.main(list(arguments), prog_name="swapdesk", standalone_mode=False)
        _flush()
        return int(ended) if isinstance(ended, int) else Exit.DONE
    except ReaderLeft:
        silence(sys.stdout)
        return Exit.DONE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the last line of defence
        refused = _refused(error, arguments)
        if refused is None:
            return _report_defect(output, error)
        output.failure(refused)
        return refused.exit


def _refused(error: Exception | KeyboardInterrupt, arguments: Sequence[str]) -> CommandError | None:
    """Returns the CommandError to print for an error of a command; None for a defect of the
    program."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, click.ClickException):
        return of_removed(error, arguments) or _usage(error)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return CommandError(Exit.INTERRUPTED, "INTERRUPTED", "Interrupted.")
    if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
        error = OutputLost(error)
    if isinstance(error, OutputLost):
        silence(sys.stdout)
        return CommandError(
            Exit.NOT_WRITTEN,
            "NOT_WRITTEN",
            f"The output could not be written: {error}. What the command did stands.",
        )
    return of_error(error)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF})
"""Error numbers of a full disk or a closed stream, for output that click writes itself."""


def _report_defect(output: Output, error: BaseException) -> int:
    output.failure(
        CommandError(Exit.DEFECT, "DEFECT", f"swapdesk has a defect: {type(error).__name__}.")
    )
    if not output.json:
        from swapdesk.tui.crash_report import crash_report

        output.report(crash_report(error))
    return Exit.DEFECT


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error) from None


def _usage(error: click.ClickException) -> CommandError:
    context = getattr(error, "ctx", None)
    where = f" See {context.command_path} -h." if context is not None else ""
    # A list of choices comes over several lines; a sentence is one.
    message = " ".join(error.format_message().split())
    end = "" if message.endswith((".", "?", "!")) else "."
    return bad_input("USAGE", f"{message}{end}{where}")


def main() -> NoReturn:
    ended: list[int] = []
    # Registered before any library registers its own: it runs last.
    atexit.register(_leave, ended)
    gc.freeze()
    gc.enable()
    replace_closed()
    escape_foreign()
    load_libraries_lean()
    if os.environ.get(completion.VARIABLE):
        answer_shell()
    code = run(sys.argv[1:])
    # The process ends: what is left is not searched for garbage once more.
    gc.freeze()
    ended.append(code)
    sys.exit(code)


def _leave(ended: Sequence[int]) -> None:
    """Ends the process at once with the exit code in ``ended``, which saves 7 ms. If ``ended`` is
    empty or an output cannot be written, Python ends as usual."""
    if ended:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended[0])


def answer_shell() -> NoReturn:
    """Prints the words that complete the command line at the shell's cursor (``cli.completion``),
    and exits."""
    # It would show a complaint between the words that are typed.
    silence(sys.stderr)
    gc.disable()
    swapdesk(prog_name="swapdesk")
    raise AssertionError("click ends the process")


def load_libraries_lean() -> None:
    """Prevents libraries from importing unused parts, and so saves a fifth of a short command's
    time."""
    sys.modules.setdefault("httpx2._main", None)  # type: ignore[arg-type]
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


REMOVED: dict[str, str] = {
    "demo swap": "run swapdesk tape run docs/tapes/swap.tape",
    "demo dex": "run swapdesk tape run docs/tapes/dex.tape",
    "serve --record": "put a proxy between client and service that records what is told",
    "serve --replay": "start each test with swapdesk serve --sandbox --seed N",
    "support diff": "compare the two JSON files with diff",
}
"""Removed commands and options, each mapped to what to do instead."""


def of_removed(error: click.ClickException, line: Sequence[str]) -> CommandError | None:
    """Returns an error (exit 2) if the command line uses a removed command or option; otherwise
    None."""
    context = getattr(error, "ctx", None)
    if context is None:
        return None
    words = {word.partition("=")[0] for word in line}
    for gone, instead in REMOVED.items():
        command, _, word = gone.rpartition(" ")
        if f"swapdesk {command}".rstrip() == context.command_path and word in words:
            return bad_input(
                "REMOVED",
                f"swapdesk {gone} is gone in this version. Instead: {instead}.",
                next=f"you: {instead}",
            )
    return None
