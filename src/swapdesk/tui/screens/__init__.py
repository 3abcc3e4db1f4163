"""One module a page: its class, and below it the pure functions that make its rows."""
