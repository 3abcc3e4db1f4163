"""Widgets, one per file. A widget takes plain data by ``show`` and draws the lines that a pure
function returns."""
