"""Wrong files of the user: commands name file, line, key and nearest name, and end with 2."""

from __future__ import annotations

import pytest

from cli.desks import InProcess

WRONG = [
    ('thema = "ink"', ":1: thema is unknown; did you mean theme?"),
    ('theme = "irs"', ":1: theme names no theme 'irs'"),
    ('theme = "irs"', "; did you mean iris?"),
    ('glyphs = "asci"', ":1: glyphs must be auto, unicode or ascii; did you mean ascii?"),
    ('[keys]\ncopy-adress = "c"', ":2: keys.copy-adress is no command; did you mean copy-address?"),
    ('[keys]\ntokens = "o"', ":2: keys.tokens wants o, which belongs to orders"),
    ('[keys]\nquit = "ctrl+m"', ":2: keys.quit ctrl+m is sent by terminals as enter"),
    ('[keys]\nquit = "ctr+x"', ":2: keys.quit 'ctr+x' is no key"),
    ("[keys]\nquit = 3", ":2: keys.quit must be a key or a list of keys"),
    ("[keys]\nquit = []", ":2: keys.quit must name a key"),
    ("keys = 3", ":1: keys must be a table of command = key"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_configuration(here: InProcess, text: str, said: str) -> None:
    (here.home / "config.toml").write_text(text)
    ended = here("config", "show", "--json")
    assert ended.code == 2
    assert said in ended.error["message"]
    assert str(here.home / "config.toml") in ended.error["message"]


def test_other_commands_end_with_2_as_well(here: InProcess) -> None:
    (here.home / "config.toml").write_text('[keys]\ntokens = "o"\n')
    ended = here("chains", "--json")
    assert ended.code == 2
    assert list(ended.error["fields"]) == ["keys.tokens"]


def test_a_wrong_theme_file_is_named_where_the_configuration_is_shown(here: InProcess) -> None:
    (here.home / "themes").mkdir()
    (here.home / "themes" / "mine.toml").write_text('acent = "#ffffff"\n')
    ended = here("config", "show", "--json")
    assert ended.code == 2
    assert "mine.toml:1: acent is unknown; did you mean accent?" in ended.error["message"]


def test_keys_and_their_origin_are_shown(here: InProcess) -> None:
    (here.home / "config.toml").write_text('[keys]\ntokens = ["f6", "ctrl+o"]\n')
    ended = here.made("config", "show")
    shown = ended["settings"]["keys.tokens"]
    assert shown == {"value": "f6,ctrl+o", "origin": "config.toml"}
