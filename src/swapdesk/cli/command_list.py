"""Every command with what it takes and what it does, from click and the tables of the program."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from msgspec import Struct

from swapdesk.cli.effects import EFFECTS, Effect
from swapdesk.cli.output import Output
from swapdesk.cli.schemas import DOCUMENTS

OF_ALL = ("profile", "as_json", "plain", "passphrase_fd")
"""Options that every command has, told once. ``--read-only`` is told where it matters."""


class ArgumentFacts(Struct, frozen=True):
    """``many``: it may be given more than once."""

    name: str
    required: bool
    many: bool
    choices: tuple[str, ...]


class OptionFacts(Struct, frozen=True):
    """Every spelling in ``names``. ``value`` is what stands for its value, None for a switch;
    ``default`` as it is typed."""

    names: tuple[str, ...]
    value: str | None
    default: str | None
    required: bool
    many: bool
    choices: tuple[str, ...]
    help: str


class CommandFacts(Struct, frozen=True, rename="camel"):
    """``effect`` is what it does at most; ``readOnly``: it works on a desk that only reads.
    ``documents``: ``swapdesk schema`` has its schema."""

    name: str
    help: str
    effect: Effect
    read_only: bool
    documents: bool
    arguments: tuple[ArgumentFacts, ...]
    options: tuple[OptionFacts, ...]


class CommandsDocument(Struct, frozen=True):
    """Every command, and the options that all of them take."""

    commands: tuple[CommandFacts, ...]
    options: tuple[OptionFacts, ...]


def every_command() -> Iterator[tuple[str, click.Command]]:
    """The desk itself, every command and every command of a group, by the whole name."""
    from swapdesk.cli.main import swapdesk

    return _below("swapdesk", swapdesk)


def commands() -> dict[str, click.Command]:
    """Every command that does something, by its words without ``swapdesk``."""
    return {
        name.partition(" ")[2]: command
        for name, command in every_command()
        if not isinstance(command, click.Group)
    }


def _below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _below(f"{name} {inner}", found)


def report_commands(output: Output) -> None:
    listed = [_facts(name, command) for name, command in commands().items()]
    from swapdesk.cli.main import swapdesk

    whole = [one for one in swapdesk.params if one.name in OF_ALL]
    output.table(
        ("command", "effect", "read-only", "does"),
        [
            (one.name, one.effect, "works" if one.read_only else "refused", one.help)
            for one in listed
        ],
        plain=[f"swapdesk {one.name} {one.effect}: {one.help}" for one in listed],
        document=CommandsDocument(tuple(listed), tuple(map(_option, _options(whole)))),
    )


def _facts(name: str, command: click.Command) -> CommandFacts:
    effect = EFFECTS[name]
    return CommandFacts(
        name=name,
        help=" ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split()),
        effect=effect.effect,
        read_only=effect.read_only,
        documents=name in DOCUMENTS,
        arguments=tuple(
            ArgumentFacts(
                one.make_metavar(click.Context(command)).strip("[]."),
                one.required,
                one.nargs != 1,
                _choices(one),
            )
            for one in command.params
            if isinstance(one, click.Argument)
        ),
        options=tuple(_option(one) for one in _options(command.params) if one.name not in OF_ALL),
    )


def _options(params: list[click.Parameter]) -> list[click.Option]:
    return [one for one in params if isinstance(one, click.Option) and not one.hidden]


def _option(one: click.Option) -> OptionFacts:
    default = one.to_info_dict()["default"]
    said = isinstance(default, (int, str)) and not isinstance(default, bool)
    return OptionFacts(
        names=(*one.opts, *one.secondary_opts),
        value=None if one.is_flag else option_value(one),
        default=str(default) if said else None,
        required=one.required,
        many=one.multiple,
        choices=_choices(one),
        help=one.help or "",
    )


def option_value(option: click.Option) -> str:
    """What stands for the value in the help: ``SECONDS``, ``in|out``, ``N``."""
    if option.metavar is not None:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, click.types.IntParamType):
        return "N"
    return option.type.name.upper()


def _choices(one: click.Parameter) -> tuple[str, ...]:
    found = one.type.choices if isinstance(one.type, click.Choice) else ()
    return tuple(map(str, found))
