"""Commands that print the program's stable interfaces: ``schema``, ``errors`` and ``commands`` for
programs, and ``docs`` for the pages that people read.

The list of commands comes from click and :class:`Declared`. The list of error codes comes from
``OWN_ROWS`` and from the tables of the service, of calls and of the wallet.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, Declared, Effect, declared_of, desk_command
from swapdesk.cli.command_error import (
    OWN_CODES,
    REVIEW,
    UNPAID,
    CommandError,
    ErrorCodeFacts,
    Exit,
    Retry,
    bad_input,
    code_facts,
    of_client_error,
    of_wallet_error,
)
from swapdesk.cli.main import commands, swapdesk
from swapdesk.documents import WrittenPlace, all_places, places_of, subjects
from swapdesk.toml_document import nearest


@click.command()
@click.argument("command", nargs=-1)
@desk_command(Declared(Effect.ONLY_READS, reading=True, prints=("schemas:SchemaDocument",)))
def schema(call: CliContext, command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND, such as "orders list", prints with --json. Without a
    COMMAND, print the schemas of all commands and of the error document.

    The schemas are of the dialect 2020-12 and are printed as JSON also without --json. Fields may
    be added at any time; a new schemaVersion says that a field was removed or changed its meaning
    or type.
    """
    from swapdesk.cli.schemas import SchemaDocument, all_schemas, document_types, schema_of

    name = " ".join(" ".join(command).split()).removeprefix("swapdesk ")
    printed = document_types()
    if name and name not in printed:
        if other := commands().get(name):
            instead = declared_of(other).instead
            raise bad_input("NO_SCHEMA", f"swapdesk {name} {instead}.", field="command")
        below = [name_below for name_below in printed if name_below.startswith(f"{name} ")]
        hint = f" There are {', '.join(below)}." if below else ""
        raise bad_input(
            "NO_SUCH_COMMAND",
            f"There is no command {name!r} with a document.{hint}",
            field="command",
            candidates=below,
        )
    call.output.document(SchemaDocument(schema_of(name) if name else all_schemas()))


@click.command()
@desk_command(
    Declared(Effect.ONLY_READS, reading=True, prints=("contract_commands:ErrorsDocument",))
)
def errors(call: CliContext) -> None:
    """List every code that a command can end with: what it means, whether to try again, where the
    money is, who acts next, and the exit code.

    A service may have codes of its own; those are treated by their HTTP status.
    """
    output = call.output
    codes = error_codes()
    output.table(
        ("code", "exit", "again", "means", "money", "next"),
        [
            (
                code.code,
                " or ".join(map(str, code.exits)),
                code.retry,
                code.means,
                code.money,
                code.next,
            )
            for code in codes
        ],
        document=ErrorsDocument(codes, tuple(ExitFacts(end.value, end.means) for end in Exit)),
    )
    if output.form == "table":
        output.talk(*(f"Exit {end.value}: {end.means}." for end in Exit))


class DocsDocument(Struct, frozen=True):
    """The pages and sections about a given name; without a name, all pages."""

    pages: tuple[WrittenPlace, ...]


@click.command()
@click.argument("name", nargs=-1, shell_complete=completion.subjects)
@desk_command(Declared(Effect.ONLY_READS, reading=True, prints=("contract_commands:DocsDocument",)))
def docs(call: CliContext, name: tuple[str, ...]) -> None:
    """Say where the documents speak of NAME: an error code, a command, an exit code, or a screen by
    the name in its frame.

    Without a NAME the pages are listed. The pages are files beside the program; if the release has
    a web site, their addresses on it are named, too.
    """
    words = " ".join(name)
    places = places_of(words) if words else all_places()
    if not places:
        near = nearest(words.casefold(), {subject.casefold(): subject for subject in subjects()})
        hint = f" Did you mean {near}?" if near else ""
        message = (
            f"Nothing is written about {words!r}.{hint}" if words else "No documents are here."
        )
        raise bad_input("NO_SUCH_PAGE", message, field="name")
    call.output.table(
        ("about", "page", "file"),
        [(place.about, place.address or place.page, place.file or "") for place in places],
        document=DocsDocument(tuple(places)),
    )


@click.command("commands")
@desk_command(
    Declared(Effect.ONLY_READS, reading=True, prints=("contract_commands:CommandsDocument",))
)
def list_commands(call: CliContext) -> None:
    """List every command with its arguments, its options, and the strongest effect it can have: it
    moves money, spends a limit, changes the desk, or only reads."""
    listed = [_command_facts(name, command) for name, command in commands().items()]
    call.output.table(
        ("command", "effect", "read-only", "does"),
        [
            (
                command.name,
                command.effect,
                "works" if command.read_only else "refused",
                command.help,
            )
            for command in listed
        ],
        plain=[f"swapdesk {command.name} {command.effect}: {command.help}" for command in listed],
        document=CommandsDocument(
            tuple(listed),
            tuple(_option(option) for option in _options(swapdesk.params) if option.name in OF_ALL),
        ),
    )


OF_ALL = ("profile", "as_json", "plain", "passphrase_fd")
"""Options that every command has; ``swapdesk commands`` lists them once."""


class ArgumentFacts(Struct, frozen=True):
    """An argument of a command; ``many`` is True if it may be given more than once."""

    name: str
    required: bool
    many: bool
    choices: tuple[str, ...]


class OptionFacts(Struct, frozen=True):
    """An option of a command. ``value`` is the placeholder of its value; None if the option takes
    none."""

    names: tuple[str, ...]
    value: str | None
    default: str | None
    required: bool
    many: bool
    choices: tuple[str, ...]
    help: str


class CommandFacts(Struct, frozen=True, rename="camel"):
    """A command. ``readOnly`` means that a read-only desk allows the command; ``documents`` means
    that its JSON output has a schema."""

    name: str
    help: str
    effect: Effect
    read_only: bool
    documents: bool
    arguments: tuple[ArgumentFacts, ...]
    options: tuple[OptionFacts, ...]


class CommandsDocument(Struct, frozen=True):
    """All commands, and the options that every command takes."""

    commands: tuple[CommandFacts, ...]
    options: tuple[OptionFacts, ...]


def _command_facts(name: str, command: click.Command) -> CommandFacts:
    declared = declared_of(command)
    return CommandFacts(
        name=name,
        help=" ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split()),
        effect=declared.effect,
        read_only=declared.reading,
        documents=bool(declared.prints),
        arguments=tuple(
            ArgumentFacts(
                argument.make_metavar(click.Context(command)).strip("[]."),
                argument.required,
                argument.nargs != 1,
                _choices(argument),
            )
            for argument in command.params
            if isinstance(argument, click.Argument)
        ),
        options=tuple(
            _option(option) for option in _options(command.params) if option.name not in OF_ALL
        ),
    )


def _options(params: list[click.Parameter]) -> list[click.Option]:
    return [
        parameter
        for parameter in params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]


def _option(option: click.Option) -> OptionFacts:
    default = option.to_info_dict()["default"]
    typed = isinstance(default, (int, str)) and not isinstance(default, bool)
    return OptionFacts(
        names=(*option.opts, *option.secondary_opts),
        value=None if option.is_flag else option_value(option),
        default=str(default) if typed else None,
        required=option.required,
        many=option.multiple,
        choices=_choices(option),
        help=option.help or "",
    )


def option_value(option: click.Option) -> str:
    """Returns the placeholder of an option's value in the help: ``SECONDS``, ``in|out``, ``N``."""
    if option.metavar is not None:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, click.types.IntParamType):
        return "N"
    return option.type.name.upper()


def _choices(parameter: click.Parameter) -> tuple[str, ...]:
    return (
        tuple(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else ()
    )


class ExitFacts(Struct, frozen=True):
    """An exit code with its meaning."""

    exit: int
    means: str


class ErrorsDocument(Struct, frozen=True):
    """All error codes and all exit codes."""

    codes: tuple[ErrorCodeFacts, ...]
    exits: tuple[ExitFacts, ...]


_RETRY = {
    "ALREADY_SUBMITTED": Retry.NO,
    "AGENT_GONE": Retry.YES,
    "STALE_REVIEW": Retry.YES,
    "UNRESOLVED": Retry.LATER,
}
"""Whether a repetition helps, for error codes of other packages whose exit code would mislead."""


def error_codes() -> tuple[ErrorCodeFacts, ...]:
    """Returns the facts of every error code, once and in alphabetical order. For codes of both desk
    and service, the desk's message is used."""
    codes: dict[str, ErrorCodeFacts] = {}
    for facts in (*OWN_CODES.values(), *_raised(), *_of_rules()):
        first = codes.setdefault(facts.code, facts)
        exits = tuple(sorted({*first.exits, *facts.exits}))
        status = first.status if first.status is not None else facts.status
        codes[facts.code] = replace(first, exits=exits, status=status)
    return tuple(codes[code] for code in sorted(codes))


def _raised() -> Iterator[ErrorCodeFacts]:
    from swapdesk.client import errors as client
    from swapdesk.wallet.protocol import REFUSALS, AgentGone, AgentMissing, Refused
    from swapdesk.wire.errors import STATUS_OF

    calls = (
        client.RequestRefused("The request cannot be made"),
        client.Unreachable(""),
        client.NoAnswer(""),
        *(client.AnswerRefused("", reason, 200) for reason in client.ANSWER_REASONS),
    )
    wallet = (
        *((Refused(code, means), means) for code, means in REFUSALS.items()),
        (AgentMissing(""), "No process with the keys could be started."),
        (AgentGone(""), "The process with the keys ended or cannot be understood."),
    )
    errors: tuple[tuple[CommandError, str, int | None], ...] = (
        *((of_client_error(error), "", None) for error in calls),
        *(
            (of_client_error(client.api_error(status, code)), "", status)
            for code, status in STATUS_OF.items()
        ),
        *((of_wallet_error(error), means, None) for error, means in wallet),
    )
    for error, means, status in errors:
        yield code_facts(
            error.code,
            (error.exit,),
            means or error.message.strip(),
            error.money,
            error.next,
            _RETRY.get(error.code),
            status,
        )


def _of_rules() -> Iterator[ErrorCodeFacts]:
    from swapdesk.flows.failure_messages import rule_next
    from swapdesk.wallet.rule_codes import PAYLOADS, RULES, SPENDING

    meanings = {
        **{code: f'The wallet refuses what breaks "{holds}".' for code, holds in RULES.items()},
        **{code: f"The wallet refuses: {why}." for code, why in PAYLOADS.items()},
        **{code: f"Your spending policy refuses: {why}." for code, why in SPENDING.items()},
    }
    for code, means in meanings.items():
        yield code_facts(code, (Exit.OWN_REFUSAL,), means, UNPAID, rule_next(code, REVIEW))
