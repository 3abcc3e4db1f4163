"""The own account, as the command line and the screen show it; pure.

``limits`` says how much of each window is used and when it would be used up, ``months`` steps
through the calendar, ``chart`` scales volumes to bars.
"""
