"""The rules that every payload passes before it is signed. Pure: no clock, no chain, no file.

``facts`` says what has to be read for a claim, ``case`` is all that a rule may look at,
``registry`` lists every rule by subject, and ``verdict`` judges a payload: findings, the lines
for the screen and what has to be typed. What is missing refuses. ``lines`` says whether a field
agrees with what was promised; what is said of it are ``field_words``, and those of bundles and
withdrawals.
"""
