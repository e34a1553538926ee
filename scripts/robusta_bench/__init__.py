"""Measures what surrounds the arithmetic of a training: its start, and how it bears other programs."""
