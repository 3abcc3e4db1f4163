"""One run of a command: its output, its options and the desk that was opened for it. The module
also has the decorators that declare commands."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from swapdesk.certificates import trust
from swapdesk.cli import completion
from swapdesk.cli.command_error import CommandError, Exit, bad_input
from swapdesk.cli.output import Output

if TYPE_CHECKING:
    from swapdesk.cli.sandbox_lifetime import SandboxLifetime
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.desk import Desk
    from swapdesk.secret import Secret
    from swapdesk.settings import Settings
    from swapdesk.toml_document import ConfigProblem


class Effect(StrEnum):
    MOVES_MONEY = "moves money"
    """The command may sign, pay, create an order that may be paid at once, or send signed
    transactions."""
    SPENDS_LIMIT = "spends a limit"
    """The command may use up part of a limit on quotes or orders per minute, hour or day."""
    CHANGES_DESK = "changes the desk"
    """The command may write files, keys or notes on this machine, or set a fault in the sandbox."""
    ONLY_READS = "only reads"


class Declared(Struct, frozen=True):
    """The facts about a command, declared beside its function."""

    effect: Effect
    """The strongest effect that the command can have."""
    prints: tuple[str, ...] = ()
    """The types of its JSON documents, as ``module:Name``."""
    instead: str = ""
    """Describes the output of a command without JSON documents."""
    reading: bool = False
    """True if a read-only desk allows the command."""


F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


class CliContext(Struct):
    """One run of a command: its options, and the desk that was opened for it."""

    output: Output
    profile: str | None = None
    theme: str | None = None
    read_only: bool = False
    passphrase_fd: int | None = None
    passphrase: Secret | None = None
    """The pass phrase read from ``passphrase_fd``, because a descriptor can be read only once."""
    opened: Desk | None = None
    sandbox: SandboxLifetime | None = None
    """The sandbox that the desk uses; None on a live profile."""

    @property
    def desk(self) -> Desk:
        assert self.opened is not None
        return self.opened

    @property
    def link(self) -> ConnectedDesk:
        return self.desk.link

    def settings(self, *, lenient: bool = False, mending: bool = False) -> Settings:
        """Reads configuration and environment. Raises CommandError (exit 2) for any problem. With
        ``lenient`` or ``mending``, wrong settings are ignored. A missing profile is then still an
        error; with ``mending``, only if an option names it."""
        from swapdesk.paths import UnsafePlace, find_home, keep_private
        from swapdesk.settings import Options, SettingsError, load_settings

        options = Options(profile=self.profile, theme=self.theme, read_only=self.read_only)
        home = find_home(os.environ)
        try:
            self.output.talk(*keep_private(home))
            settings = load_settings(os.environ, home, options, mending=mending)
        except UnsafePlace as error:
            raise bad_input("UNSAFE_PLACE", f"{error}.", field="home") from None
        except SettingsError as error:
            message = str(error)
            ended = message if message.endswith("?") else f"{message}."
            raise bad_input(
                "NO_SUCH_PROFILE", ended, field="profile", next=_mend_profile(error.problem)
            ) from None
        if not (lenient or mending) and (problems := wrong_in_config(settings)):
            raise config_error(problems)
        if settings.live:
            trust(settings.ca_file.value or "")
        return settings

    @property
    def interactive(self) -> bool:
        return sys.stdin.isatty() and sys.stderr.isatty()


def _mend_profile(problem: ConfigProblem | None) -> str:
    if problem is None:
        return ""
    if problem.file is None:
        return f"you: set {problem.key} to a profile that there is, or unset it"
    if problem.key:
        return "you: swapdesk profile use NAME; swapdesk profile list names them"
    return "you: correct the configuration"


def wrong_in_config(settings: Settings) -> list[ConfigProblem]:
    """Returns all problems of ``config.toml`` and of the environment, including unknown commands in
    ``[keys]`` and an unknown theme."""

    problems = list(settings.problems)
    if settings.keys:
        from swapdesk.tui.commands import all_commands
        from swapdesk.tui.commands.keymap import checked_keymap

        problems += checked_keymap(settings.keys, all_commands(), settings.key_problem)[1]
    if settings.theme.origin != "default":
        from swapdesk.palette_files import read_palettes

        misnamed = settings.misnamed_theme(read_palettes(settings.home.themes).all)
        problems += [misnamed] if misnamed is not None else []
    return problems


def config_error(problems: Sequence[ConfigProblem]) -> CommandError:
    return CommandError(
        Exit.BAD_INPUT,
        "CONFIG",
        "; ".join(str(problem) for problem in problems),
        fields={problem.key or "config.toml": {"message": str(problem)} for problem in problems},
    )


def require(*rules: tuple[bool, str, str, str]) -> None:
    """Raises CommandError (exit 2) for the first rule that is broken. A rule is four values:
    whether it is broken, the error code, the field at fault, and the message."""
    for broken, code, field, message in rules:
        if broken:
            raise bad_input(code, message, field=field)


def reader(read: Callable[[Any], R]) -> Callable[[click.Context, click.Parameter, Any], R | None]:
    """Returns a click callback that converts an option's text with ``read``. None, for an option
    that was not given, stays None."""

    def callback(_: click.Context, option: click.Parameter, value: Any) -> R | None:
        return None if value is None else read(value)

    return callback


def read_number(
    text: str, fits: Callable[[Decimal], bool], no_number: str, outside: str
) -> Decimal:
    """Returns the number in ``text``. Raises click.BadParameter: with the message ``no_number`` if
    there is no number, or ``outside`` if ``fits`` returns False."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(no_number) from None
    if not (number.is_finite() and fits(number)):
        raise click.BadParameter(outside)
    return number


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Combines several click decorators for options and arguments into one decorator. The help
    lists the options in reverse order."""

    def decorated(command: F) -> F:
        for decorate in decorators:
            command = decorate(command)
        return command

    return decorated


global_options = options(
    click.option(
        "--passphrase-fd",
        type=click.IntRange(0),
        metavar="N",
        help="Read the wallet's pass phrase from this descriptor instead of asking.",
    ),
    click.option(
        "--read-only", is_flag=True, help="Create, sign and spend nothing, whatever is asked."
    ),
    click.option("--plain", "plain", is_flag=True, help="Sentences instead of tables."),
    click.option(
        "--json", "as_json", is_flag=True, help="One JSON document, or one object per line."
    ),
    click.option(
        "--profile",
        metavar="NAME",
        shell_complete=completion.profiles,
        help="The profile to use; sandbox by default.",
    ),
)
"""The options of the program and of every command: ``--profile``, ``--json``, ``--plain``,
``--read-only`` and ``--passphrase-fd``."""


def desk_command(declared: Declared) -> Callable[[F], F]:
    """Returns a decorator for a click command, whose first argument becomes a :class:`CliContext`.
    On a read-only desk the command is refused unless ``declared.reading`` is True."""

    def decorated(command: F) -> F:
        @global_options
        @click.pass_context
        @functools.wraps(command)
        def with_call(
            context: click.Context,
            /,
            *args: Any,
            profile: str | None,
            as_json: bool,
            plain: bool,
            read_only: bool,
            passphrase_fd: int | None,
            **kwargs: Any,
        ) -> Any:
            call = context.find_object(CliContext) or CliContext(Output("table"))
            narrow(call, profile, as_json, plain, read_only, passphrase_fd)
            _require_text(context)
            if not declared.reading:
                refuse_to_write(call)
            return command(call, *args, **kwargs)

        with_call.declared = declared  # type: ignore[attr-defined]
        return with_call  # type: ignore[return-value]

    return decorated


def declared_of(command: click.Command) -> Declared:
    """Returns the facts that :func:`desk_command` attached to a command."""
    declared: Declared = command.callback.declared  # type: ignore[union-attr]
    return declared


def named(place: str) -> Any:
    """Imports and returns an object. ``place`` has the form ``module:name``; a module without dots
    is in this package."""
    module, _, name = place.partition(":")
    return getattr(
        importlib.import_module(module if "." in module else f"{__package__}.{module}"), name
    )


def _carried_out(
    runner: str,
    work: str,
    declared: Declared,
    *,
    places: tuple[str, ...] = (),
    check: Callable[..., None] | None = None,
    signs: bool = False,
    **how: bool,
) -> Callable[[F], F]:
    """Returns a decorator for a command that calls ``work`` through ``runner``, both given as
    ``module:function``. ``check`` first gets all options. Then the options in ``places`` go to the
    runner, the others to ``work``."""

    def decorated(command: F) -> F:
        @functools.wraps(command)
        def carry_out(call: CliContext, **options: Any) -> Any:
            if signs and not (options["yes"] or call.interactive):
                raise bad_input("NEEDS_YES", "Signing without a terminal needs --yes.", field="yes")
            if check is not None:
                check(**options)
            where = {name: options.pop(name) for name in places}
            return named(runner)(call, lambda *on: named(work)(*on, **options), **how, **where)

        carry_out.work = work  # type: ignore[attr-defined]
        return desk_command(declared)(carry_out)  # type: ignore[return-value]

    return decorated


def run_alone(call: CliContext, work: Callable[[CliContext], Any]) -> Any:
    return work(call)


on_call = functools.partial(_carried_out, "cli_context:run_alone")
"""Returns a decorator for a command that needs nothing opened. ``work`` gets the
:class:`CliContext` first."""
on_desk = functools.partial(_carried_out, "session:run_session")
"""Returns a decorator for a command on the connected desk, which is ``call.desk``."""
on_keys = functools.partial(_carried_out, "wallet_session:run_wallet")
"""Returns a decorator for a command that needs only the wallet's keys. ``work`` gets the
:class:`CliContext` and the wallet first."""
on_chains = functools.partial(_carried_out, "wallet_session:run_on_chains")
"""Returns a decorator for a command on the connected desk, with a wallet that can sign."""
on_store = functools.partial(_carried_out, "partner_report:run_on_store", places=("data", "config"))
"""Returns a decorator for an operator's command. ``work`` first gets the output, the service's
database, and a record of who acts and when."""
in_sandbox = functools.partial(_carried_out, "trigger_report:run_in_sandbox")
"""Returns a decorator for a command on the desk connected to a sandbox."""


def _require_text(context: click.Context) -> None:
    """Raises click.BadParameter (exit 2) if an argument is not UTF-8."""
    for given in context.command.params:
        value = context.params.get(given.name or "")
        for word in value if isinstance(value, tuple) else (value,):
            # Bytes that are no UTF-8 are lone surrogates in an argument.
            if isinstance(word, str) and any("\ud800" <= ch <= "\udfff" for ch in word):
                raise click.BadParameter("It is not UTF-8.", context, given)


def narrow(
    call: CliContext,
    profile: str | None,
    as_json: bool,
    plain: bool,
    read_only: bool,
    passphrase_fd: int | None,
) -> None:
    """Applies the options that follow a command's name. They replace options before the name, but
    ``--read-only`` is never switched off."""
    if as_json and plain:
        raise click.UsageError("--json and --plain are two forms of the same data; choose one.")
    if as_json or plain:
        call.output.form = "json" if as_json else "plain"
    if profile is not None:
        call.profile = profile
    if passphrase_fd is not None:
        call.passphrase_fd = passphrase_fd
    call.read_only = call.read_only or read_only


def refuse_to_write(call: CliContext) -> None:
    """Raises CommandError (exit 9) on a read-only desk. Called before the service or the wallet is
    used."""
    if not call.settings().reads_only:
        return
    from swapdesk.flows.failure_messages import MAY_WRITE

    raise CommandError(
        Exit.OWN_REFUSAL,
        "READ_ONLY",
        "This desk only reads: it creates, signs and spends nothing.",
        next=MAY_WRITE,
    )


Rows = list[tuple[str, str]]


def exchange_rows() -> Rows:
    from swapdesk.sandbox.tables import VENUE_ROWS

    return [
        (row.code, row.name if row.enabled else f"{row.name}, not enabled") for row in VENUE_ROWS
    ]


def on_chain_rows() -> Rows:
    from swapdesk.sandbox.tables import ON_CHAIN_NAMES

    return list(ON_CHAIN_NAMES.items())


def operation_rows() -> Rows:
    from swapdesk.wire.operations import OPERATIONS

    return [
        (f"{operation.method} {operation.path}", f"{operation.name}: {operation.summary}.")
        for operation in OPERATIONS
    ]


LISTS: dict[str, tuple[str, str, Callable[[], Rows]]] = {
    "exchanges": (
        "Exchanges of the sandbox",
        'CODE is one of these; a live service lists its own: "swapdesk api GET /swaps".',
        exchange_rows,
    ),
    "venues": (
        "On-chain venues of the sandbox",
        "CODE of a route of type dex.",
        on_chain_rows,
    ),
    "operations": (
        "Operations",
        "METHOD and PATH, and the name that faults of the sandbox know.",
        operation_rows,
    ),
}
"""Lists that can be printed at the end of a command's help, by name: title, sentence, and a
function that returns the rows."""


class WithLists(click.Command):
    """A click command whose help ends with lists. ``lists`` are the keys of these lists in
    :data:`LISTS`."""

    def __init__(self, *words: Any, lists: tuple[str, ...], **more: Any) -> None:
        super().__init__(*words, **more)
        self.lists = lists

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, sentence, rows in map(LISTS.__getitem__, self.lists):
            with formatter.section(title):
                formatter.write_text(sentence)
                formatter.write_dl(rows())
