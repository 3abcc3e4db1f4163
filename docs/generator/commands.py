"""Commands with their arguments and options, from click."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

import click

from generator.markdown import code, codes, page, section, sentence, table
from swapdesk.cli.cli_context import WithLists, declared_of
from swapdesk.cli.contract_commands import OF_ALL, option_value
from swapdesk.cli.main import every_command, swapdesk


def commands_page() -> str:
    commands = list(every_command())
    whole = dict(commands)["swapdesk"]
    listed = [
        (
            f"[`{name}`](#{name.replace(' ', '-').lower()})",
            sentence(paragraphs(command)[0]),
            _effect(command),
        )
        for name, command in commands
        if not isinstance(command, click.Group)
    ]
    return page(
        "Commands",
        "Every command with its arguments and options, as `swapdesk COMMAND --help` states them."
        " [errors.md](errors.md) has the exit codes, [json.md](json.md) what `--json` prints.",
        "What a command does at most: `moves money`, `spends a limit` of quotes or creates,"
        " `changes the desk` (its files, keys or the sandbox), or `only reads`. One with a `*` is"
        " refused on a desk that only reads. `swapdesk commands --json` has this for programs.",
        table(("Command", "Does", "Effect"), listed),
        section(
            "Options of every command",
            "They stand before or after the name of the command; what is said later wins.",
            _options(param for param in whole.params if param.name in OF_ALL),
        ),
        *(_command(name, command) for name, command in commands),
    )


def _effect(command: click.Command) -> str:
    declared = declared_of(command)
    return declared.effect if declared.reading else f"{declared.effect} *"


def _command(name: str, command: click.Command) -> str:
    return section(
        name,
        code(usage(name, command)),
        *paragraphs(command),
        _options(own_options(command)),
        *_lists(command),
    )


def usage(name: str, command: click.Command) -> str:
    # A command keeps the help option of the first context that asks for it.
    context = click.Context(command, **swapdesk.context_settings)
    return " ".join([name, *command.collect_usage_pieces(context)])


def own_options(command: click.Command) -> list[click.Option]:
    """Those that not every command has."""
    return [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.name not in OF_ALL
    ]


def paragraphs(command: click.Command) -> list[str]:
    parts = inspect.cleandoc(command.help or "").split("\n\n")
    assert parts[0], f"{command.name} has no help"
    return [" ".join(part.split()) for part in parts]


_LISTS = {
    ("operations",): "METHOD and PATH are those of [api.md](api.md).",
    ("exchanges", "venues"): "CODE is an exchange or an on-chain venue:"
    " [sandbox.md](sandbox.md#exchanges).",
    ("exchanges",): "CODE is an exchange: [sandbox.md](sandbox.md#exchanges).",
}


def _lists(command: click.Command) -> Iterator[str]:
    if isinstance(command, WithLists):
        yield _LISTS[command.lists]


def _options(parameters: Iterable[click.Parameter]) -> str:
    rows = []
    for parameter in parameters:
        assert isinstance(parameter, click.Option)
        if parameter.hidden:
            continue
        assert parameter.help, f"{parameter.opts[0]} has no help"
        rows.append((codes(spellings(parameter)), _default(parameter), meaning(parameter)))
    return table(("Option", "Default", "Meaning"), rows)


def spellings(option: click.Option) -> list[str]:
    """Every name of the option, with its value."""
    value = "" if option.is_flag else f" {option_value(option)}"
    return [f"{spelling}{value}" for spelling in (*option.opts, *option.secondary_opts)]


def _default(option: click.Option) -> str:
    value = option.to_info_dict()["default"]
    return code(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""


def meaning(option: click.Option) -> str:
    parts = [sentence(option.help or "")]
    if isinstance(option.type, click.IntRange):
        low, high = option.type.min, option.type.max
        if high is not None:
            parts.append(f"{low:,} to {high:,}.")
        elif low:
            parts.append(f"At least {low:,}.")
    if option.required:
        parts.append("Must be given.")
    if option.multiple and "repeatable" not in parts[0]:
        parts.append("May be repeated.")
    return " ".join(parts)
