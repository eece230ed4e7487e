"""Learning rates of transformers' schedules: JSON on stdin [{"name", "lr", "warmup", "steps",
"arguments"}, ...], a list of steps + 1 rates for each on stdout."""
import json
import sys

import torch
from transformers import get_scheduler
from transformers.optimization import get_wsd_schedule


def rates(case):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=case["lr"])
    if case["name"] == "warmup_stable_decay":
        schedule = get_wsd_schedule(optimizer, num_warmup_steps=case["warmup"],
                                    num_training_steps=case["steps"], **case["arguments"])
    else:
        schedule = get_scheduler(case["name"], optimizer, case["warmup"], case["steps"],
                                 case["arguments"])
    out = []
    for _ in range(case["steps"] + 1):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return out


json.dump([rates(case) for case in json.load(sys.stdin)], sys.stdout)
