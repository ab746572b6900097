"""Measurements and fault injection: what tries the product out, and is no part of it."""
