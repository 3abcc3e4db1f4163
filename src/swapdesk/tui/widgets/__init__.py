"""One widget a file: plain data in by ``show``, lines out of a pure function."""
