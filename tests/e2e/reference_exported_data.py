"""Sizes that exported_test.py and its reference agree on."""
STEPS, BATCH, LENGTH, VOCABULARY, LABELS = 5, 8, 24, 131, 3
