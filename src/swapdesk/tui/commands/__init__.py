"""Verbs of the desk: one class each, from which key, footer, palette and help are made."""
