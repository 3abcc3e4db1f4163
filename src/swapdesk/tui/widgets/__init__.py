"""The widgets of the desk, one per file. The screens pass plain data to ``show`` of a widget, which
draws the lines that a pure function makes of the data."""
