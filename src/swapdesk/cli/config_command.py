"""``config show``: every value and where it came from."""

from __future__ import annotations

import click

from swapdesk.cli.cli_context import CliContext, config_error, desk_command, wrong_in_config


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
        values = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        call.output.document({"settings": values})
    elif call.output.form == "plain":
        call.output.say(*(f"{name} is {value or 'not set'} ({why})." for name, value, why in rows))
    else:
        call.output.table(("name", "value", "origin"), rows)
    problems = [*wrong_in_config(settings), *read_palettes(settings.home.themes).problems]
    if problems:
        raise config_error(problems)
