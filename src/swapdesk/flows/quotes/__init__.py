"""From the line a trader types to routes that are compared by what arrives.

``intent_line`` reads the line, ``quote_request`` is what is asked for, ``quoting`` asks,
``ranking`` orders the usable routes as the trader wants and says why the others are none,
``quote_columns`` shows them and explains a figure step by step.
"""
