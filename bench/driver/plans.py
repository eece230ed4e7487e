"""What trainx decides before a run of its own: `trainx plan` of the same recipe and settings."""
import json
import subprocess

from contestant import ROOT

DECIDED = ("micro_batch_size", "grad_accum_steps", "row_lengths", "compute", "program", "arena_bytes")   # two runs with these alike are one
STATES = ("weights", "master weights", "optimizer state")


class Plan:
    """`decided` is None where trainx refuses; whoever starts the run will say why."""

    def __init__(self, trainx, recipe, settings):
        done = subprocess.run([trainx, "plan", recipe, *settings, "--program", "--json"], cwd=ROOT, capture_output=True, text=True)
        try:
            got = json.loads(done.stdout) if done.returncode == 0 else {}
        except ValueError:
            got = {}
        self.decided = {key: got.get(key) for key in DECIDED} if "program" in got else None
        self.facts = {key: got[key] for key in ("micro_batch_size", "grad_accum_steps", "choices", "parameters", "memory", "total_bytes") if key in got}
        if "memory" in got and "parameters" in got:
            self.facts["states_bytes"] = states_bytes(got)

    def same_as(self, other):
        return self.decided is not None and self.decided == other.decided


def states_bytes(plan):
    """Weights, exact ones beside them, the optimizer's state, and a gradient in fp32 of every parameter: no step of this precision and optimizer takes less."""
    return sum(part["bytes"] for part in plan["memory"] if part["category"] in STATES) + 4 * round(plan["parameters"])
