"""Quotes: a request becomes a question (``asking``), which is priced over all routes (``pricing``)
and answered in rows (``rows``).

``engine`` connects these steps and stores the quotes before they are answered. A standard route has
one leg, a private one two legs on different venues; the leg whose amount is known is priced first.
``gather`` limits the wait for the venues. Markup is taken once, from the leg that pays the
receiver.

``bounds`` finds the amounts that a private route takes, and those that can be asked for by the
amount received. ``GET /minMax`` states both kinds of bounds, and quotes obey them.
``PayoutRotation`` draws the payout wallet of a private route from wallets that did not pay the
partner's recent orders. The amount that a refusal names is tried on whole routes before.
"""
