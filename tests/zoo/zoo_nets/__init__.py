"""Families of small nets in the manner of published ones; tests/zoo/make_nets.py writes them to tests/zoo/families/."""
