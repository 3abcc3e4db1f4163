"""swapdesk: a swap desk in a terminal, with the Partner Swap API v2 and a sandbox inside."""

__version__ = "1.0.0"
