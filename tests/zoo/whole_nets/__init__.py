"""Published nets whole, all their layers in their order, but narrower: scripts/learn_wholes.py trains them."""
