"""Quotes: a question (``asking``), its price over all routes (``pricing``), its rows (``rows``).

``engine`` connects them and stores the quotes before they are answered. A standard route is one
leg, a private one two legs on different venues; the leg whose amount is known is priced first.
``gather`` bounds the wait for the venues. Markup is taken once, from the leg that pays the
receiver.

``bounds`` finds the amounts that a private route takes, and those that can be asked for by the
amount received; ``GET /minMax`` states both and quotes keep them. ``PayoutRotation`` draws the
payout wallet of a private route from those that did not pay the partner's recent orders. The figure
of a refusal is tried on whole routes before it is stated.
"""
