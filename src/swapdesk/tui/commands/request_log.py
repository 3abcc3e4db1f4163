"""Verbs of the request log."""

from swapdesk.tui.commands.command import Verb

REQUESTS = Verb(
    "requests",
    "g",
    "requests",
    "Every call to the service and its answer, and what the desk said.",
    place=80,
    opens="swapdesk.tui.screens.request_log.RequestLogScreen",
)
SHOW_ALL = Verb(
    "show-all", "enter", "show all", "Read the whole request and answer under the cursor."
)
COPY_REQUEST_ID = Verb(
    "copy-request-id",
    "y",
    "copy request id",
    "Copy the request id, which support asks for.",
    current=True,
)
COPY_AS_COMMAND = Verb(
    "copy-as-command",
    "Y",
    "copy as command",
    "Copy a command line that makes the same call; a writing one still needs --yes.",
    current=True,
)
FILTER_CALLS = Verb(
    "filter-calls", "slash", "filter", "Keep calls that match, as: quotes 422, or: failed."
)
BACK = Verb(
    "back", "escape", "back", "Close the whole call or the filter, then back to the screen before."
)
