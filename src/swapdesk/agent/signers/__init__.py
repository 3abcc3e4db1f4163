"""Unlocked keys. They sign what they are given; whether to is decided before them."""
