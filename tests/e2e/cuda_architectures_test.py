"""Which GPUs a build compiles kernels for, and compilers that configuring refuses."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from support import ROOT, main

RELEASE = "80-real;86-real;89-real;90-real;100-real;120-real;120-virtual"
NVCC = """#!/bin/sh
echo 'nvcc: NVIDIA (R) Cuda compiler driver'
echo 'Cuda compilation tools, release {release}, V{release}.51'
"""


class CudaArchitecturesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def script(self, text, *settings):
        """What CMake says to a script, and its exit code; programs of the folder come first."""
        path = self.folder / "script.cmake"
        path.write_text(f"include({ROOT}/cmake/CudaArchitectures.cmake)\n{text}\n")
        env = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        env.pop("CUDACXX", None)
        done = subprocess.run(
            ["cmake", *settings, "-P", path], capture_output=True, text=True, env=env
        )
        return done.returncode, done.stdout + done.stderr

    def chosen(self, *settings):
        code, said = self.script(
            'chosen_architectures(list)\nmessage(NOTICE "chosen: ${list}")', *settings
        )
        self.assertEqual(code, 0, said)
        return said.split("chosen: ")[1].strip()

    def test_lists(self):
        self.program("nvidia-smi", "#!/bin/sh\nexit 9\n")
        self.assertEqual(self.chosen(), "90-real")
        self.assertEqual(self.chosen("-DTRAINX_CUDA_ARCHITECTURES=release"), RELEASE)
        self.assertEqual(self.chosen("-DTRAINX_CUDA_ARCHITECTURES=80-real;90-real"),
                         "80-real;90-real")

    def test_gpus_of_this_machine(self):
        for shown, expected in (
            ("8.9\\n", "89-real"),
            ("12.0\\n8.6\\n12.0\\n", "86-real;120-real"),
            ("7.0\\n8.0\\n", "80-real"),
            ("7.0\\n", "90-real"),
            ("[N/A]\\n", "90-real"),
        ):
            self.program("nvidia-smi", f"#!/bin/sh\nprintf '{shown}'\n")
            self.assertEqual(self.chosen(), expected, shown)

    def test_nvcc_that_miscompiles(self):
        for release, refused in (("13.0", False), ("13.1", False), ("13.2", True), ("13.3", False)):
            self.program("nvcc", NVCC.format(release=release))
            code, said = self.script("refuse_wrong_nvccs()")
            self.assertEqual(code != 0, refused, said)
            self.assertEqual("13.2" in said and "TRAINX_WITH_CUDA=OFF" in said, refused, said)

    def test_configuring_refuses_it(self):
        nvcc = self.program("nvcc", NVCC.format(release="13.2"))
        done = subprocess.run(
            ["cmake", "-S", ROOT, "-B", self.folder / "build"],
            capture_output=True, text=True, env=os.environ | {"CUDACXX": str(nvcc)},
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("13.2", done.stderr)
        self.assertFalse((self.folder / "build" / "build.ninja").exists())


if __name__ == "__main__":
    main()
