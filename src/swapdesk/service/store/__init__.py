"""What is kept: one protocol (``protocol``), and SQLite behind it with one writer (``writer``)."""
