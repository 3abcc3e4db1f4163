"""The pages of the desk, one module for each. A module has the class of its page and, below it, the
pure functions that make the rows of the page."""
