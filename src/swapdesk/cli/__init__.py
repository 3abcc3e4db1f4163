"""The commands. ``main`` names them; ``*_command`` and ``*_commands`` are what click reads, the
other modules what they do. ``call`` and ``session`` are one call and the desk behind it."""
