"""Writes transformers.TrainingArguments as its own to_json_string does: JSON on stdin [[file,
{argument: value}], ...]."""
import json
import pathlib
import sys

import torch
from transformers import TrainingArguments


class OnThisMachine(TrainingArguments):
    device = property(lambda self: torch.device("cpu")
                      )  # asking the accelerate package for one changes no setting


for file, arguments in json.load(sys.stdin):
    pathlib.Path(file).write_text(OnThisMachine(**arguments).to_json_string())
