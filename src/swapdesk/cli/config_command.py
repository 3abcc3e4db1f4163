"""``config show``: every value and where it came from."""

from __future__ import annotations

from collections.abc import Mapping

import click
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, config_error, desk_command, wrong_in_config


class SettingValue(Struct, frozen=True):
    """A setting as it is written, secrets masked, and where it came from: ``default``."""

    value: str
    origin: str


class ConfigDocument(Struct, frozen=True):
    """Every setting by its name."""

    settings: Mapping[str, SettingValue]


@click.group()
def config() -> None:
    """Show the configuration."""


@config.command()
@desk_command
def show(call: CliContext) -> None:
    """Print name, value and origin of every setting; secrets are masked.

    Ends with 2 when something is wrong in config.toml, its keys or a theme file.
    """
    from swapdesk.tui.palette_files import read_palettes

    settings = call.settings(lenient=True)
    rows = list(settings.rows())
    if call.output.json:
        values = {name: SettingValue(value, origin) for name, value, origin in rows}
        call.output.document(ConfigDocument(values))
    elif call.output.form == "plain":
        call.output.say(*(f"{name} is {value or 'not set'} ({why})." for name, value, why in rows))
    else:
        call.output.table(("name", "value", "origin"), rows)
    problems = [*wrong_in_config(settings), *read_palettes(settings.home.themes).problems]
    if problems:
        raise config_error(problems)
