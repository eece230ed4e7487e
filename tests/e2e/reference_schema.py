"""Recipes as an editor sees them: YAML 1.2's core schema, and jsonschema. Reads JSON lines {"yaml":
text} on stdin and answers each with {"errors": [...]},
or {"unreadable": why} where the text is no YAML. The only argument is the schema, which is checked
first against its own meta-schema."""
import json
import re
import sys

import jsonschema
import yaml


class Core(yaml.SafeLoader):
    """PyYAML knows YAML 1.1, to which 3e-4 is text and `on` is true."""
    yaml_implicit_resolvers = {}


def resolver(tag, expression, first, construct):
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{expression})$"), first)
    Core.add_constructor(f"tag:yaml.org,2002:{tag}", lambda loader, node: construct(node.value))


def whole(text):
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


def real(text):
    return float(
        text.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf").replace(
            ".nan", "nan").replace(".NaN", "nan").replace(".NAN", "nan"))


resolver("null", "null|Null|NULL|~|", ["n", "N", "~", ""], lambda text: None)
resolver("bool", "true|True|TRUE|false|False|FALSE", list("tTfF"),
         lambda text: text.lower() == "true")
resolver("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789"), whole)
resolver(
    "float",
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    list("-+0123456789."), real)


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for line in sys.stdin:
        try:
            recipe = yaml.load(json.loads(line)["yaml"], Core)
        except yaml.YAMLError as error:
            answer = {"unreadable": str(error)}
        else:
            answer = {
                "errors": [
                    f"{error.json_path}: {error.message[:200]}"
                    for error in validator.iter_errors(recipe)
                ]
            }
        print(json.dumps(answer), flush=True)


main()
