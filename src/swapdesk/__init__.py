"""swapdesk: a swap desk in a terminal, with the Partner Swap API v2 and a sandbox inside."""

__version__ = "0.1.0"

SITE = ""
"""Address of the site of the documents, with a slash at its end. Empty as long as nobody has one: a
name that is not ours may be anybody's tomorrow, and people who hold money follow it. A release that
has a site names it here; the program, the site and its ``llms.txt`` take it from here."""
