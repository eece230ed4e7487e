"""What the Trainer trains on: 512 samples that go round, in an epoch so long that none ends inside a round."""
import json

import torch

SAMPLES, DISTINCT = 2**18, 512


class Random(torch.utils.data.Dataset):
    """Random ids of the whole length, nothing padded."""

    def __init__(self, length):
        generator = torch.Generator().manual_seed(0)
        self.tokens = torch.randint(1000, 30000, (DISTINCT, length), generator=generator)
        self.labels = torch.randint(2, (DISTINCT,), generator=generator)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i % DISTINCT], "labels": self.labels[i % DISTINCT]}


class Tokens(torch.utils.data.Dataset):
    """Random ids of GPT-2's vocabulary, to be predicted from those before."""

    def __init__(self, length):
        self.tokens = torch.randint(50257, (DISTINCT, length), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i % DISTINCT], "labels": self.tokens[i % DISTINCT]}


class Read(torch.utils.data.Dataset):
    """JSON lines as trainx reads them, padded to `length`; where nothing is padded there is no mask either, which the Trainer is fastest without."""

    def __init__(self, path, length):
        with open(path) as f:
            lines = [json.loads(line) for line in f]
        padded = any(len(line["input_ids"]) < length for line in lines)
        self.samples = [self.sample(line, length, padded) for line in lines]

    @staticmethod
    def sample(line, length, padded):
        ids = line["input_ids"]
        missing = [0] * (length - len(ids))
        out = {"input_ids": torch.tensor(ids + missing), "labels": torch.tensor(line["label"])}
        if "token_type_ids" in line:
            out["token_type_ids"] = torch.tensor(line["token_type_ids"] + missing)
        if padded:
            out["attention_mask"] = torch.tensor([1] * len(ids) + missing)
        return out

    def __len__(self):
        return SAMPLES

    def __getitem__(self, i):
        return self.samples[i % len(self.samples)]
