"""Predicts how training scales: profiles of nets, clusters, and a model of one iteration."""
