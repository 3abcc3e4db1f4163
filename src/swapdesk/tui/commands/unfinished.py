"""Verbs of the page about create requests that an earlier run left open."""

from swapdesk.tui.commands.command import Verb

OPEN_FOUND = Verb("open-found", "enter", "open", "Open the order under the cursor.")
GO_ON = Verb("go-on", "o", "orders", "Go on to the orders.")
BACK = Verb("back", "escape", "first screen", "Back to the first screen.")
