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


def write(path, tensors):
    """The file of such tensors, without the format's own library."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text +
                                   b"".join(data for _, _, data in tensors.values()))


def in_folder(folder, stem=""):
    """Of all files of a checkpoint, or of those whose names begin with `stem` (model, optimizer):
    weights and states, whichever rank has saved them."""
    return {name: tensor for file in sorted(pathlib.Path(folder).glob(f"{stem}*.safetensors"))
            for name, tensor in tensors(file).items()}
