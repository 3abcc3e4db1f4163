"""Where the documents are: pages of the site, and the same pages as files beside the program."""

from __future__ import annotations

SITE = ""
"""Address of the site, with a slash at its end. Empty as long as nobody has one: a name that is not
ours may be anybody's tomorrow, and people who hold money follow it. A release that has a site names
it here; the program, the site itself and ``llms.txt`` take it from here."""
