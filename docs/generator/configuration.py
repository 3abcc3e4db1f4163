"""Settings, from the tables of ``config.toml`` and from what reading the environment gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import asdict

from generator.markdown import code, codes, page, section, sentence, table
from generator.source import ROOT, said_of
from swapdesk import certificates, config_file
from swapdesk.paths import Home
from swapdesk.settings import Options, Settings, Value, load_settings

HOME = "SWAPDESK_HOME"
NOWHERE = Home.at(Path("/nonexistent"))
"""A home without a file."""
OF_TABLES = {
    "keys": "Keys of commands, by the name of the command: [keys.md](keys.md).",
    "profiles": "A table for each profile: `[profiles.NAME]`.",
    "secret_file": "File (0600) that holds the secret of the key.",
}
"""Keys of the file that are no value of the settings by themselves."""


def configuration_page() -> str:
    meanings = {name: sentence(text) for name, text in said_of(Settings).items()} | OF_TABLES
    given = load_settings({}, NOWHERE)
    options = load_settings({}, NOWHERE, Options(profile="sandbox", theme="ink"))
    return page(
        "Configuration",
        "Values of `config.toml`, of the environment and of the command line. `swapdesk config"
        " show` prints each with its origin. [interfaces.md](../interfaces.md) has the rules:"
        " precedence, places of files, what is refused.",
        section(
            "Keys of config.toml",
            "An unknown key is reported with its line and the nearest name.",
            _keys(config_file.TOP_KEYS, given, meanings),
        ),
        section(
            "Keys of a profile",
            "They stand under `[profiles.NAME]`. `[profiles.sandbox]` takes"
            f" {codes(config_file.SANDBOX_KEYS)} alone.",
            _keys(config_file.PROFILE_KEYS, given, meanings),
        ),
        section(
            "Environment",
            "A variable that is empty counts as absent.",
            table(("Variable", "Sets", "Meaning"), sorted(_variables(meanings))),
        ),
        section(
            "Options",
            table(
                ("Option", "Sets"),
                ((code(value.name), code(name)) for name, value in _values(options) if value.name),
            ),
        ),
    )


def _keys(kinds: Mapping[str, str], given: Settings, meanings: Mapping[str, str]) -> str:
    values = dict(_values(given))
    rows = []
    for name, kind in kinds.items():
        default = str(values[name]) if name in values and name != "rpc" else ""
        rows.append((code(name), _value_of(kind), code(default), meanings[name]))
    return table(("Key", "Value", "Default", "Meaning"), rows)


def _value_of(kind: str) -> str:
    """What a key takes, in the words of the refusal of anything else."""
    return config_file._SAID[kind].removeprefix("must be ")


def _values(settings: Settings) -> Iterator[tuple[str, Value[object]]]:
    for name, value in asdict(settings).items():
        if isinstance(value, Value):
            yield name, value


def _variables(meanings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Every variable that the code reads, with what it sets when nothing else is said."""
    named = set(re.findall(r'"(SWAPDESK_[A-Z_]+)"', (ROOT / "settings.py").read_text()))
    others = named - {"SWAPDESK_PROFILE"}
    values = {
        value.name: name
        for environ in (
            {"SWAPDESK_PROFILE": "sandbox"},
            dict.fromkeys(others, "https://example.com"),
        )
        for name, value in _values(load_settings(environ, NOWHERE))
        if value.name in named and (value.name, name) != ("SWAPDESK_API_URL", "profile")
    }
    assert values.keys() == named, f"not read alone: {sorted(named - values.keys())}"
    for variable, name in values.items():
        yield code(variable), code(name), meanings[name]
    yield code(certificates.VARIABLE), code("ca_file"), meanings["ca_file"]
    yield code(HOME), code("home"), "Directory of everything that the desk keeps."
