"""Quotes: a request becomes a question (``asking``), is priced over all routes (``pricing``) and
answered in rows (``rows``); ``engine`` connects these steps.

A standard route has one leg, a private one two legs on different venues. ``bounds`` finds the
amounts that private routes take and that can be received. ``GET /minMax`` states them, and quotes
obey them.
"""
