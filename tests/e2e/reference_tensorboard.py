"""What TensorBoard's own reader finds in a folder: a JSON object of tag -> [[step, value], ...]."""
import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

found = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
found.Reload()
print(
    json.dumps({
        tag: [[event.step, event.value]
              for event in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }))
