"""GPUs of all generations, as a stand-in for NVML tells of them: doctor, validate, plan and train
say
the same of each; memory is NVML's, whatever the GPU is called. `plan --gpu` needs none of them."""
import collections
import json
import subprocess
import unittest

import fake_gpu
from described import nothing_of_its_own
from support import ROOT, TRAINX, Refusal, Trainx, main, tiny, version

BUILT = json.loads(subprocess.run([TRAINX, "version", "--json"], capture_output=True,
                                  text=True).stdout or "{}").get("cuda")
UNAVAILABLE, INVALID = 69, 78
Gpu = collections.namedtuple("Gpu", "name capability mib cores mhz memory_mhz bus planned_as")
GPUS = [Gpu(*row) for row in (
    ("NVIDIA A100-SXM4-40GB", 80, 40960, 6912, 1410, 1215, 5120, "a100-40gb"),
    ("NVIDIA A100-SXM4-80GB", 80, 81920, 6912, 1410, 1593, 5120, "a100"),
    ("NVIDIA A10", 86, 23028, 9216, 1695, 6251, 384, "a10"),
    ("NVIDIA GeForce RTX 3090", 86, 24576, 10496, 2100, 9751, 384, "rtx3090"),
    ("NVIDIA GeForce RTX 4090", 89, 24564, 16384, 3105, 10501, 384, "rtx4090"),
    ("NVIDIA L40S", 89, 46068, 18176, 2520, 9001, 384, "l40s"),
    ("NVIDIA L4", 89, 23034, 7424, 2040, 6251, 192, "l4"),
    ("NVIDIA H100 NVL", 90, 95830, 16896, 1785, 2563, 6144, "h100-nvl"),
    ("NVIDIA H200", 90, 143771, 16896, 1980, 3201, 6144, "h200"),
    ("NVIDIA GH200 480GB", 90, 97871, 16896, 1980, 2619, 6144, "gh200"),
    ("NVIDIA B200", 100, 183359, 18944, 1965, 3996, 8192, "b200"),
    ("NVIDIA GeForce RTX 5090", 120, 32607, 21760, 3090, 14001, 512, "rtx5090"))]
MEASURED = ("h100", "h200")


def runs_on(gpu, architectures):
    """Code runs within a major capability, PTX on all that come later."""
    for architecture in architectures.split(","):
        number, _, kind = architecture.partition("-")
        if number.endswith("a"):
            if int(number[:-1]) == gpu.capability:
                return True
        elif int(number) <= gpu.capability and (
                kind != "real" or int(number) // 10 == gpu.capability // 10):
            return True
    return False


class Generations(Trainx):
    forks = True

    def told(self, gpu, **more):
        """The environment of a machine with two such GPUs."""
        if not hasattr(self, "nvml"):
            self.nvml = self.fake_nvml()
        fields = (gpu.name, gpu.capability, gpu.mib, gpu.cores, gpu.mhz, gpu.memory_mhz, gpu.bus)
        return self.environment(**{"LD_LIBRARY_PATH": self.nvml, "CUDA_VISIBLE_DEVICES": "0,1",
                                   "FAKE_GPU": ",".join(map(str, fields)),
                                   "XDG_CACHE_HOME": str(self.folder / "cache"), **more})

    def ask(self, gpu, *command):
        done = self.run_trainx(*command, "--json", env=self.told(gpu), expect=None)
        return done.returncode, done

    def worker(self):
        """One that answers, so that the real one need not be built."""
        path = self.folder / "worker"
        path.write_text(f"#!/bin/sh\necho '{nothing_of_its_own(version())}'\n")
        path.chmod(0o755)
        return str(path)

    def examine(self, gpu):
        told = self.told(gpu, TRAINX_WORKER=self.worker())
        return json.loads(self.run_trainx("doctor", "--json", env=told, expect=None).stdout)

    def print_row(self, gpu, planned_bytes, rates, answer):
        print(f"  {gpu.name:24} {gpu.mib / 1024:7.1f} GiB {planned_bytes / 2**30:5.1f} GiB  "
              f"{rates:10} {answer}")

    def refusals(self, report, gpu):
        return [f"{f['problem']}; {f['remedy']}" for f in report["findings"]
                if f["weight"] == "error" and f["problem"].startswith(gpu.name)]

    @unittest.skipUnless(BUILT, "built without CUDA")
    def test_doctor_validate_plan_and_train_say_the_same(self):
        recipe = self.recipe(tiny())
        print("\n  GPU                         memory    plan's     rates      "
              "doctor, validate, plan, train")
        for gpu in GPUS:
            with self.subTest(gpu=gpu.name):
                report = self.examine(gpu)
                first = report["gpus"]["gpus"][0]
                self.assertEqual((first["name"], first["compute_capability"]),
                                 (gpu.name, gpu.capability))
                self.assertEqual(first["memory_bytes"], gpu.mib << 20)
                rates = "measured" if gpu.planned_as in MEASURED else "estimated"
                self.assertEqual(first["rates"], rates)
                refusals = self.refusals(report, gpu)
                if runs_on(gpu, report["gpus"]["built_architectures"]):
                    self.assertEqual(refusals, [])
                    self.run_trainx("validate", recipe, env=self.told(gpu))
                    plan = json.loads(self.ask(gpu, "plan", recipe)[1].stdout)
                    self.assertEqual(plan["rates"], rates)
                    share = plan["budget_bytes"] / (gpu.mib << 20)
                    self.assertTrue(0.975 < share < 1, f"{share} of NVML's memory")
                    self.print_row(gpu, plan["budget_bytes"], rates, "take it")
                    continue
                (sentence,) = refusals
                self.assertIn("TRAINX_CUDA_ARCHITECTURES", sentence)
                for device in ("auto", "gpu"):
                    for command in ("validate", "plan", "train"):
                        code, done = self.ask(gpu, command, recipe, f"run.device={device}")
                        self.assertEqual(code, UNAVAILABLE, (command, done.stdout, done.stderr))
                        self.assertIn(sentence, Refusal(done).message, command)
                self.run_trainx("validate", recipe, "run.device=cpu", env=self.told(gpu))
                planned = json.loads(self.run_trainx("plan", recipe, "--gpu", gpu.planned_as,
                                                     "--json").stdout)["budget_bytes"]
                self.print_row(gpu, planned, rates, "refuse it by one sentence")
        self.assertFalse((self.folder / "outputs").exists())

    @unittest.skipIf(fake_gpu.why_not() or not BUILT, fake_gpu.why_not() or "built without CUDA")
    def test_what_is_valid_trains(self):
        """A GPU that computes nothing, of each capability: the worker refuses none of them."""
        libraries = self.folder / "libraries"
        libraries.mkdir()
        stand_in = fake_gpu.build(libraries)
        recipe = self.recipe(tiny())
        trained, built = [], self.examine(GPUS[0])["gpus"]["built_architectures"]
        for gpu in GPUS:
            if not runs_on(gpu, built) or gpu.capability in trained:
                continue
            trained.append(gpu.capability)
            with self.subTest(gpu=gpu.name):
                self.run_trainx("train", recipe, f"run.name=on{gpu.capability}", "run.device=gpu",
                                "--allow-degraded", env=self.told(gpu, **stand_in))
        print(f"  trained on capabilities {trained}")
        self.assertTrue(trained)

    @unittest.skipUnless(BUILT, "built without CUDA")
    def test_gpus_that_cuda_13_has_no_code_for(self):
        volta = Gpu("Tesla V100-SXM2-32GB", 70, 32768, 5120, 1530, 877, 4096, "")
        (sentence,) = self.refusals(self.examine(volta), volta)
        self.assertIn("7.5", sentence)
        recipe = self.recipe(tiny())
        for command in ("validate", "plan", "train"):
            code, done = self.ask(volta, command, recipe)
            self.assertEqual(code, UNAVAILABLE)
            self.assertIn(sentence, Refusal(done).message)

    def test_unknown_gpus_are_planned_by_what_nvml_tells(self):
        """Its name is another's, which counts for nothing."""
        recipe = ROOT / "configs" / "gpt2_124m.yaml"

        def planned(**changed):
            gpu = Gpu("NVIDIA H200", 90, 47000, 8448, 1700, 2619, 2560, "")._replace(**changed)
            code, done = self.ask(gpu, "plan", recipe, "data.train=none", "run.device=gpu",
                                  "memory.fit=true")
            self.assertEqual(code, 0, done.stdout + done.stderr)
            return json.loads(done.stdout)

        plan = planned()
        self.assertEqual(plan["rates"], "estimated")
        self.assertTrue(0.975 < plan["budget_bytes"] / (47000 << 20) < 1)
        self.assertGreater(planned(cores=4224)["time"]["gemm_ms"], 1.5 * plan["time"]["gemm_ms"])
        self.assertGreater(planned(bus=1280)["time"]["memory_ms"],
                           1.5 * plan["time"]["memory_ms"])

    def test_each_name_has_a_plan_and_the_same_advice_on_sizes(self):
        settings = (
            "model={type: bert, options: {num_layers: 4, hidden_size: 750, num_heads: 6, mask_token: 1, special_tokens: [0, 1]}}",
            "precision=fp16", "batch={global_batch_size: 32, micro_batch_size: 32}",
            "data={type: stories, sequence_length: 128}")
        recipe = self.recipe("run: {name: x}\n", "x.yaml")
        for name in ("h100", "t4", *(gpu.planned_as for gpu in GPUS)):
            with self.subTest(gpu=name):
                plan = json.loads(self.run_trainx("plan", recipe, *settings, "--gpu", name,
                                                  "--json").stdout)
                self.assertEqual(plan["rates"], "measured" if name in MEASURED else "estimated")
                self.assertIn("hidden_size", " ".join(k for a in plan["advice"]
                                                      for k in a["better"]))
                self.assertGreater(plan["time"]["step_ms"], 0)

    def test_what_a_generation_lacks_is_refused(self):
        recipe = self.recipe(tiny())
        self.refused("plan", recipe, "--gpu", "t4", "precision.compute=bf16", code=INVALID,
                     names=("precision.compute", "t4", "fp16"))
        self.refused("plan", recipe, "--gpu", "t4", "precision.compute=tf32", code=INVALID,
                     names=("precision.compute", "t4", "fp32"))
        for precision in ("fp16", "fp32"):
            self.run_trainx("plan", recipe, "--gpu", "t4", f"precision.compute={precision}")
        self.run_trainx("plan", recipe, "--gpu", "a100-40gb", "precision.compute=bf16")


if __name__ == "__main__":
    main()
