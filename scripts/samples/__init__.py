"""Makes the samples of the source systems from the licensed data: `python -m scripts.samples DATA`."""
