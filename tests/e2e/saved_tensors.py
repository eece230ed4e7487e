"""What a safetensors file holds, read without the format's own library."""
import json
import pathlib
import struct


def tensors(path):
    """Name -> (dtype, shape, bytes)."""
    data = pathlib.Path(path).read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[slice(*(8 + n + at for at in t["data_offsets"]))])
            for name, t in header.items()}


def in_folder(folder, stem=""):
    """Of all files of a checkpoint, or of those whose names begin with `stem` (model, optimizer):
    weights and states, whichever rank has saved them."""
    return {name: tensor for file in sorted(pathlib.Path(folder).glob(f"{stem}*.safetensors"))
            for name, tensor in tensors(file).items()}
