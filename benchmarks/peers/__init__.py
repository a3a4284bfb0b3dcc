"""Rival packages, one short adapter each."""
