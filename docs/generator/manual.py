"""The manual page, from click: every command with its options, as ``man swapdesk`` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from generator.commands import (
    OF_ALL,
    every_command,
    meaning,
    own_options,
    paragraphs,
    spellings,
    usage,
)
from generator.markdown import COMMAND
from swapdesk import __version__
from swapdesk.cli.cli_context import WithLists
from swapdesk.cli.command_error import Exit


def manual_page() -> str:
    (name, whole), *commands = every_command()
    summary, *more = paragraphs(whole)
    of_all = [
        param for param in whole.params if isinstance(param, click.Option) and param.name in OF_ALL
    ]
    lines = [
        f'.\\" Made by {COMMAND}: change the source that it names, not this page.',
        f'.TH SWAPDESK 1 "" "swapdesk {__version__}"',
        ".SH NAME",
        f"{name} \\- {_text(summary[:1].lower() + summary[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(usage(name, whole))}",
        ".SH DESCRIPTION",
        *_paragraphs(more),
        ".SH OPTIONS",
        *_options(own_options(whole)),
        ".SS Of every command",
        *_options(of_all),
        ".SH COMMANDS",
    ]
    for name, command in commands:
        if isinstance(command, click.Group):
            continue
        lines += [f".SS {_text(usage(name, command))}", *_paragraphs(paragraphs(command))]
        if isinstance(command, WithLists):
            what = "operations" if "operations" in command.lists else "codes"
            lines += [".PP", f"{_text(f'{name} --help')} lists the {what}."]
        lines += _options(own_options(command))
    lines.append(".SH EXIT STATUS")
    for end in Exit:
        lines += [".TP", f".B {end.value}", _text(end.means)]
    return "\n".join(lines) + "\n"


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield ".PP"
        yield _text(text)


def _options(options: Iterable[click.Option]) -> Iterator[str]:
    for option in options:
        if not option.hidden:
            yield ".TP"
            yield f".B {_text(', '.join(spellings(option)))}"
            yield _text(meaning(option))


def _text(text: str) -> str:
    """One line in which nothing is a request of roff, and no dash a hyphen that is copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    escaped = "".join(
        character if character.isascii() else f"\\[u{ord(character):04X}]" for character in escaped
    )
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
