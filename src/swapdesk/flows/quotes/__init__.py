"""Turns the line that a trader types into routes, compared by what arrives. ``intent_line`` reads
the line, ``quoting`` asks the service, ``ranking`` sorts the usable routes, and ``quote_columns``
shows them."""
