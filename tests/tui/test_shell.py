"""Keys, themes and configuration of the user on a running desk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual._compositor import LayoutUpdate
from textual.driver import Driver
from textual.events import Paste
from textual.screen import Screen

from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.tokens import TokensScreen
from tui.desk_run import DeskRun, Market


def configure(market: Market, text: str) -> Path:
    file = market.settings.home.config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


async def test_configured_keys_work_and_are_shown_everywhere(market: Market) -> None:
    configure(market, '[keys]\norders = "z"\nrefresh = ["ctrl+r", "f5"]\nkeys = "f1"\n')
    async with market.desk((120, 40)) as run:
        await run.to_quotes()
        assert "ctrl+r refresh, 1 quote" in run.text
        assert run.text.endswith("f1 keys")
        await run.press("f1", sees="Everywhere")
        rows = run.text.split("\n")
        assert any(" z " in row and "Open orders" in row for row in rows)
        assert any("ctrl+r" in row and "Ask again for all routes" in row for row in rows)
        await run.press("f1")
        await run.settle(lambda: "Everywhere" not in run.text, "the help closed")
        await run.press("o")
        assert not isinstance(run.app.screen, OrdersScreen)
        asked = market.network.seen.count("GET /v2/quotes")
        await run.press("f5")
        await run.settle(lambda: market.network.seen.count("GET /v2/quotes") == asked + 1)
        await run.press("z")
        run.screen(OrdersScreen)


async def test_a_configured_letter_is_a_key_only_while_the_line_is_empty_and_never_pasted(
    market: Market,
) -> None:
    configure(market, '[keys]\ntokens = "z"\n')
    async with market.ready_desk() as run:
        home = run.app.screen
        await run.press("z", to=TokensScreen)
        await run.press("escape")
        await run.settle(lambda: run.app.screen is home, "the first screen")
        await run.type("0.5 z")
        assert "0.5 z" in run.text
        await run.press("escape", "t")
        # The letter that was taken away from the verb is text like any other.
        assert run.app.screen.line.value == "t"
        await run.press("ctrl+u")
        run.app.post_message(Paste("zzz"))
        await run.settle(lambda: home.line.value == "zzz", "the paste")
        assert run.app.screen is home


async def test_what_is_wrong_is_said_in_one_notice_and_kept(market: Market) -> None:
    file = configure(market, 'theme = "irs"\nglyfs = 1\n[keys]\nordrs = "z"\ntokens = "o"\n')
    themes = market.settings.home.themes
    themes.mkdir(parents=True)
    (themes / "mine.toml").write_text('acent = "#ffffff"\n')
    async with market.desk((200, 60)) as run:
        await run.ready()
        await run.settle(lambda: run.app.notices.count, "a notice")
        said = [one.text for one in run.app.notices]
        assert "config.toml:2: glyfs is unknown; did you mean glyphs?" in run.text
        assert "And 4 more: g shows them." in run.text
        wanted = [
            (f"{file}:4: keys.ordrs is no command", "did you mean orders?"),
            (f"{file}:5: keys.tokens wants o, which belongs to orders", ""),
            (f"{file}:1: theme names no theme 'irs'", "did you mean iris?"),
            (f"{themes / 'mine.toml'}:1: acent is unknown", "did you mean accent?"),
        ]
        for begins, ends in wanted:
            assert any(one.startswith(begins) and one.endswith(ends) for one in said), (
                begins,
                said,
            )
        assert run.app.theme == "ink"
        await run.press("g", sees="mine.toml:1: acent")
        await run.press("escape", "t")
        run.screen(TokensScreen)


async def test_glyphs_and_palette_are_of_the_files_and_an_edit_is_drawn_on_the_next_tick(
    market: Market,
) -> None:
    themes = market.settings.home.themes
    themes.mkdir(parents=True)
    configure(market, 'theme = "mine"\nglyphs = "ascii"\n')
    (themes / "mine.toml").write_text('accent = "#ffffff"\n')
    async with market.ready_desk() as run:
        assert run.app.theme == "mine"
        assert run.text.isascii()
        (themes / "mine.toml").write_text('accent = "#123456"\n# edited')
        run.app.tick()
        await run.settle(lambda: run.app.theme_variables["accent"] == "#123456", "the colour")
        (themes / "mine.toml").write_text("accent = 3\n")
        run.app.tick()
        await run.see("mine.toml:1: accent must be a text.")
        assert run.app.theme == "ink"


async def choose_theme(run: DeskRun, name: str) -> None:
    await run.ready()
    await run.press("ctrl+p")
    await run.enter(f"theme {name}", sees=f"Theme {name}")
    assert run.app.theme == name


async def test_the_palette_goes_on_with_another_profile(market: Market) -> None:
    configure(market, '[profiles.main]\nurl = "https://api.example/v2"\n')
    async with market.ready_desk() as run:
        await run.press("ctrl+p")
        await run.type("profile")
        assert "Profile sandbox" not in run.text
        await run.press("enter")
        assert (run.app.return_code, run.app.next_profile) == (0, "main")


async def test_a_theme_of_the_palette_is_kept(market: Market) -> None:
    async with market.desk() as run:
        await choose_theme(run, "beacon")
        assert "It is kept in config.toml." in run.text
    async with market.desk() as run:
        assert run.app.theme == "beacon"
        market.settings.home.config_file.chmod(0o666)
        await choose_theme(run, "paper")
        assert "Theme paper, until you quit: config.toml cannot be changed." in run.text


async def test_ctrl_q_tells_how_to_leave_and_who_comes_back_from_the_shell_sees_all(
    market: Market,
) -> None:
    async with market.ready_desk() as run:
        for key in ("ctrl+q", "ctrl+c"):
            run.app.screen.clear_notice()
            await run.press(key, sees="q quits.")
        assert run.app.is_running
        painted: list[object] = []
        display = run.app._display

        def seen(screen: Screen[Any], update: Any) -> None:
            painted.append(update)
            display(screen, update)

        run.app._display = seen  # type: ignore[method-assign]
        run.app.post_message(Driver.SignalResume())
        await run.settle(lambda: any(isinstance(one, LayoutUpdate) for one in painted), "a picture")
