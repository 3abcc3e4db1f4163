"""The simulated exchanges behind the service's venue protocol: ``exchange``, its ``pricing``."""
