"""The order stream: ``hub`` reads the outbox, each ``connection`` is told what it watches."""
