"""What scripts/compare_builds records: recipes of every model, method and precision.

Each trains in about a second. Names are unique: a case is known by its name from build to build.
"""

from . import (
    adapters,
    context,
    data,
    decoders,
    encoders,
    exported,
    folders,
    fp8,
    gpt2,
    mixtures,
    own,
    pipeline,
    plans,
    tensor,
)
from .base import STEPS, Case

__all__ = ["CASES", "STEPS", "Case", "write_data"]


def joined(*parts):
    """All cases of the parts; no name twice."""
    out = {}
    for part in parts:
        for name, case in part.CASES.items():
            if name in out:
                raise ValueError(f"two cases are called {name!r}")
            out[name] = case
    return out


CASES = joined(
    gpt2, fp8, decoders, adapters, mixtures, encoders, own, folders, plans, tensor, context, pipeline
)


def write_data(folder):
    """What recipes name; the same at each call."""
    data.write(folder)
    exported.write(folder / "exported")
    folders.write(folder / "folders")
