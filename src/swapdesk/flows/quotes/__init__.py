"""Turns the line that a trader types into routes, compared by what arrives.

``intent_line`` reads the line, and ``quote_request`` holds what is asked for. ``quoting`` asks the
service. ``ranking`` sorts the usable routes as the trader wants, and says why the other routes
cannot be used. ``quote_columns`` shows the routes and explains a figure step by step.
"""
