"""Sizes that exported_test.py and its reference agree on."""
STEPS, BATCH, LENGTH, VOCABULARY, LABELS = 5, 8, 24, 131, 3
TARGET_LENGTH = 15      # of the texts that seq2seq writes
TASKS = {"bert": "classification", "t5": "seq2seq", "mbart": "seq2seq", "marian": "seq2seq"}
