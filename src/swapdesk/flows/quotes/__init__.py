"""From the line a trader types to routes that are compared by what arrives.

``intent_line`` reads the line, ``quote_wish`` is what is asked for, ``quoting`` asks,
``usability`` says why a route cannot be used, ``ranking`` orders the others, ``quote_order``
arranges them as the trader wants, ``waterfall`` explains a figure step by step.
"""
