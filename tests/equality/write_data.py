"""Writes the data that recipes of tests/equality name into FOLDER: python3 write_data.py FOLDER"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "net"))
import cases  # noqa: E402

cases.write_data(pathlib.Path(sys.argv[1]))
