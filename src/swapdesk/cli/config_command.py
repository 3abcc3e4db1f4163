"""``config show``: every value and where it came from."""

from __future__ import annotations

import click

from swapdesk.cli.call import Call, config_error, desk_command


@click.group()
def config() -> None:
    """Show the configuration."""


@config.command()
@desk_command
def show(call: Call) -> None:
    """Print name, value and origin of every setting; secrets are masked."""
    settings = call.settings(lenient=True)
    rows = list(settings.rows())
    if call.output.json:
        values = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        call.output.document({"settings": values})
    elif call.output.form == "plain":
        call.output.say(*(f"{name} is {value or 'not set'} ({why})." for name, value, why in rows))
    else:
        call.output.table(("name", "value", "origin"), rows)
    if settings.problems:
        raise config_error(settings)
