"""A GPU that computes nothing (fake_cuda.cpp, fake_nvml.c), for tests of the host's side of a run
on a GPU. Its runs need --allow-degraded, fp32 and one rank."""
import functools
import pathlib
import shutil
import subprocess

FOLDER = pathlib.Path(__file__).parent


@functools.cache
def headers():
    """The folder of CUDA's headers; None where there is none."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    folder = pathlib.Path(nvcc).resolve().parents[1] / "include"
    return folder if (folder / "cublasLt.h").exists() else None


def why_not():
    """Why there can be none here; empty: it can be built."""
    if not shutil.which("g++") or not shutil.which("cc"):
        return "no compiler"
    return "" if headers() else "no headers of CUDA"


def build(folder):
    """Makes the libraries in `folder`; the environment of a process that finds them there."""
    versions = folder / "versions.map"
    versions.write_text("libcudart.so.13 { *; };\n")
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", "-isystem", headers(),
                    "-o", folder / "libcudart.so.13", FOLDER / "fake_cuda.cpp",
                    f"-Wl,--version-script={versions}", "-Wl,-soname,libcudart.so.13"], check=True)
    (folder / "libcublasLt.so.13").symlink_to("libcudart.so.13")
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", "-w", "-o", folder / "libnvidia-ml.so.1",
                    FOLDER / "fake_nvml.c"], check=True)
    return {"LD_LIBRARY_PATH": str(folder), "CUDA_VISIBLE_DEVICES": "0",
            "XDG_CACHE_HOME": str(folder / "cache")}
