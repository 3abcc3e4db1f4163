"""One call of a command: its output, its options and the desk opened for it; and the decorators
that commands are declared with.
"""

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
    """It signs, pays, creates an order that may be paid at once, or sends what was signed."""
    SPENDS_LIMIT = "spends a limit"
    """It takes from what the account may still ask or create in a window of time."""
    CHANGES_DESK = "changes the desk"
    """It writes files, keys or notes of this machine, or a fault of the sandbox."""
    ONLY_READS = "only reads"


class Declared(Struct, frozen=True):
    """The facts of a command, which stand beside its function.

    ``effect`` is what it does at most. ``prints`` names the types of its JSON documents as
    ``module:Name``; each run prints one of them. A command without documents says what it does
    ``instead``. ``reading``: allowed on a read-only desk, which creates, signs and spends nothing
    and does not ask the process with the keys.
    """

    effect: Effect
    prints: tuple[str, ...] = ()
    instead: str = ""
    reading: bool = False


F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


class CliContext(Struct):
    """One call of a command: what its options say together, and the desk that was opened for it."""

    output: Output
    profile: str | None = None
    theme: str | None = None
    read_only: bool = False
    passphrase_fd: int | None = None
    passphrase: Secret | None = None
    """What was read from the descriptor, which can be read once."""
    opened: Desk | None = None
    sandbox: SandboxLifetime | None = None
    """The sandbox that the desk uses; None on a live profile."""

    @property
    def desk(self) -> Desk:
        """The desk of a command that runs on one (``cli.session``)."""
        assert self.opened is not None
        return self.opened

    @property
    def link(self) -> ConnectedDesk:
        return self.desk.link

    def settings(self, *, lenient: bool = False, mending: bool = False) -> Settings:
        """Reads configuration and environment. Exit 2 when something is wrong, unless ``lenient``;
        ``mending`` also accepts a profile that does not exist."""
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
        """True if a person can be asked: standard input and standard error are terminals."""
        return sys.stdin.isatty() and sys.stderr.isatty()


def _mend_profile(problem: ConfigProblem | None) -> str:
    """The next step for a profile that does not exist; empty where the command named it."""
    if problem is None:
        return ""
    if problem.file is None:
        return f"you: set {problem.key} to a profile that there is, or unset it"
    if problem.key:
        return "you: swapdesk profile use NAME; swapdesk profile list names them"
    return "you: correct the configuration"


def wrong_in_config(settings: Settings) -> list[ConfigProblem]:
    """Problems of ``config.toml`` and the environment, with keys and the theme's name."""

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
    """Exit 2 for the first rule that is broken: whether it is, the code, the argument or option at
    fault, and the sentence."""
    for broken, code, field, message in rules:
        if broken:
            raise bad_input(code, message, field=field)


def reader(read: Callable[[Any], R]) -> Callable[[click.Context, click.Parameter, Any], R | None]:
    """Makes a click callback of ``read``; an option that was not given stays None."""

    def callback(_: click.Context, option: click.Parameter, value: Any) -> R | None:
        return None if value is None else read(value)

    return callback


def read_number(
    text: str, fits: Callable[[Decimal], bool], no_number: str, outside: str
) -> Decimal:
    """A number that ``fits``. ``no_number`` is said of a text that is none, ``outside`` of a number
    that does not fit."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise click.BadParameter(no_number) from None
    if not (number.is_finite() and fits(number)):
        raise click.BadParameter(outside)
    return number


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Combines options and arguments; the last stands first in the help."""

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
"""What the group and every command take: ``--profile``, ``--json``, ``--plain``,
``--read-only`` and ``--passphrase-fd``."""


def desk_command(declared: Declared) -> Callable[[F], F]:
    """Declares a click command: adds the options of every command, and passes the
    :class:`CliContext` first. On a read-only desk a command that is not ``reading`` ends before it
    does anything."""

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
    """The facts of a command made by :func:`desk_command`."""
    declared: Declared = command.callback.declared  # type: ignore[union-attr]
    return declared


def named(place: str) -> Any:
    """Imports what stands at ``module:name``, in this package unless the module has dots."""
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
    """Declares a command that only runs ``work``, named as ``module:function``.

    The click function has the help and the options. ``runner`` opens what the command needs, with
    ``how`` and the options named in ``places``, and passes it to ``work``, followed by the other
    options by name. ``check`` may refuse the options before anything is opened. A command that
    ``signs`` needs ``--yes`` where nobody can be asked.
    """

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
"""With nothing opened. ``work`` takes the call first, as that of all but :data:`on_store`."""
on_desk = functools.partial(_carried_out, "session:run_session")
"""On the connected desk, which ``work`` finds in the call."""
on_keys = functools.partial(_carried_out, "wallet_session:run_wallet")
"""On keys alone: ``work`` takes call and wallet first."""
on_chains = functools.partial(_carried_out, "wallet_session:run_on_chains")
"""On the connected desk with a wallet that is ready."""
on_store = functools.partial(_carried_out, "partner_report:run_on_store", places=("data", "config"))
"""On the store of a service: ``work`` takes output, store and act first."""
in_sandbox = functools.partial(_carried_out, "trigger_report:run_in_sandbox")
"""On the connected desk of a sandbox."""


def _require_text(context: click.Context) -> None:
    """Exit 2 for words that are not UTF-8, which no request, file or journal can hold. Names of
    files may be any bytes."""
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
    """Applies the options of a command; they win over those of the group."""
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
    """Exit 9 on a read-only desk, before the service or the keys are asked."""
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
"""What may stand under the help of a command: title, sentence and rows."""


class WithLists(click.Command):
    """A command with some of :data:`LISTS` under its help."""

    def __init__(self, *words: Any, lists: tuple[str, ...], **more: Any) -> None:
        super().__init__(*words, **more)
        self.lists = lists

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, sentence, rows in map(LISTS.__getitem__, self.lists):
            with formatter.section(title):
                formatter.write_text(sentence)
                formatter.write_dl(rows())
