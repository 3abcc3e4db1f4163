"""Many recipients from one file: read, judged row by row, planned as groups, created once.

``reading`` turns bytes into a ``Sheet`` of cells, ``judging`` one row of it into an order or
its problems, ``planner`` does both for a whole file without holding the screen up, and ``plan``
is what comes out. Nothing of that asks for money or sends anything but ``GET /minMax``.
``creation`` creates the groups of a plan and ``journal`` holds what became of every row.
"""
