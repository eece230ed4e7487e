"""The documents of a YAML file as one line of JSON, for pods_test.py."""
import json
import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    print(json.dumps(list(yaml.safe_load_all(file))))
