"""The definitions that scripts/make_models.py writes to models/."""
