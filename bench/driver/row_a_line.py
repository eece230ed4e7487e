"""JSON with a row a line: containers deeper than `depth` levels are not broken."""
import json


def dumps(value, depth, indent=0):
    """Text without a newline at its end. depth 2: {"rows": [...]} has a line for each row."""
    if depth == 0 or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner, outer = " " * (indent + 1), " " * indent
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}: {dumps(v, depth - 1, indent + 1)}" for k, v in value.items()]
    else:
        parts = [dumps(v, depth - 1, indent + 1) for v in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{outer}{closing}"
