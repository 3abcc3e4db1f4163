"""From the line a trader types to routes that are compared by what arrives.

``intent_line`` reads the line, ``quote_request`` is what is asked for, ``quoting`` asks,
``ranking`` orders the usable routes and says why the others are none, ``quote_order``
arranges them as the trader wants, ``waterfall`` explains a figure step by step.
"""
