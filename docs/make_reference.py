"""Writes the pages of ``docs/reference`` from the tables of the program.

Run it with ``.venv/bin/python docs/make_reference.py``. With ``--conformance`` it prints the page
of the sentences of the specification, gaps first, and writes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from generator.api import api_page
from generator.commands import commands_page
from generator.configuration import configuration_page
from generator.conformance import conformance_page
from generator.errors import errors_page
from generator.json_documents import json_page, require_version, schemas_file
from generator.keys import keys_page
from generator.manual import manual_page
from generator.metrics import metrics_page
from generator.sandbox import sandbox_page

TARGET = Path(__file__).parent / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "api.md": api_page,
    "commands.md": commands_page,
    "configuration.md": configuration_page,
    "errors.md": errors_page,
    "json.md": json_page,
    "keys.md": keys_page,
    "metrics.md": metrics_page,
    "sandbox.md": sandbox_page,
    "schemas.json": schemas_file,
    "swapdesk.1": manual_page,
}


def main() -> None:
    if sys.argv[1:] == ["--conformance"]:
        sys.stdout.write(conformance_page())
        return
    TARGET.mkdir(exist_ok=True)
    kept = TARGET / "schemas.json"
    if kept.exists():
        # What other programs read is not taken away by running this.
        require_version(json.loads(kept.read_text("utf-8")), json.loads(schemas_file()))
    for name, make in PAGES.items():
        (TARGET / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
