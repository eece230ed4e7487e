"""Links between GPUs in plans: as NVML tells them, as data sheets have them, as --links says."""
import json
import tempfile
import unittest

from support import ROOT, Trainx, main

RECIPE = ROOT / "configs" / "bench" / "gpt2.yaml"
SETTINGS = ["data.train=none", "batch={global_batch_size: 8, micro_batch_size: 4}"]


class Links(Trainx):
    forks = True

    def here(self, links=None, **environment):
        """The plan of two ranks on this machine, with the tests' NVML."""
        if not hasattr(self, "nvml"):
            self.nvml = self.fake_nvml()
        told = {} if links is None else {"FAKE_LINKS": ",".join(map(str, links))}
        done = self.run_trainx("plan", RECIPE, *SETTINGS, "run.device=gpu", "parallel.world_size=2",
                               "--json", env=self.environment(
                                   LD_LIBRARY_PATH=self.nvml, FAKE_GPUS="2", CUDA_VISIBLE_DEVICES="0,1", XDG_CACHE_HOME=tempfile.mkdtemp(dir=self.folder), **told, **environment))
        return json.loads(done.stdout)

    def there(self, gpu, *words, world=2, code=0):
        done = self.run_trainx("plan", RECIPE, *SETTINGS, "precision=fp16", "--gpu", gpu, "--world", world,
                               *words, "--json", expect=code)
        return json.loads(done.stdout) if code == 0 else done

    def test_nvml_tells_the_links_of_this_machine(self):
        switched = self.here(links=(18, 5, 16, 0))
        few = self.here(links=(4, 5, 16, 0))
        pcie = self.here(links=(0, 4, 16, 0))
        narrow = self.here(links=(0, 4, 8, 0))
        apart = self.here(links=(0, 4, 16, 5))
        self.assertEqual([p["links"]["kind"] for p in (switched, few, pcie, narrow, apart)],
                         ["nvlink", "nvlink", "pcie", "pcie", "host"])
        self.assertFalse(any(p["links"]["of_data_sheet"] for p in (switched, pcie, apart)))
        self.assertAlmostEqual(switched["links"]["bytes_per_s"] / 450e9, 1, delta=0.01)
        times = [p["time"]["step_ms"] for p in (switched, few, pcie, narrow)]
        self.assertEqual(times, sorted(times))
        self.assertEqual(apart["links"]["copy_bytes_per_s"], 0)

    def test_nccl_without_peer_access_goes_through_the_host(self):
        linked = self.here(links=(18, 5, 16, 0))
        apart = self.here(links=(18, 5, 16, 0), NCCL_P2P_DISABLE="1")
        self.assertEqual(apart["links"]["kind"], "host")
        self.assertGreater(apart["time"]["step_ms"], 1.5 * linked["time"]["step_ms"])

    def test_a_bridge_of_the_data_sheet_can_be_said(self):
        without, bridged = self.there("rtx3090"), self.there("rtx3090", "--links", "nvlink")
        self.assertEqual([p["links"]["kind"] for p in (without, bridged)], ["host", "nvlink"])
        self.assertLess(bridged["time"]["step_ms"], without["time"]["step_ms"])
        self.assertEqual(self.there("a40")["links"]["kind"], "pcie")
        self.assertEqual(self.there("h200")["links"]["kind"], "nvlink")
        self.assertEqual(self.there("h200", "--links", "host")["links"]["kind"], "host")

    def test_links_that_a_gpu_does_not_have_are_refused(self):
        self.assertIn("pcie", self.there("rtx4090", "--links", "nvlink", code=2).stderr)
        self.assertIn("4", self.there("rtx3090", "batch.global_batch_size=16", "--links", "nvlink",
                                      world=4,
                                      code=2).stderr)
        self.there("h200", "--links", "infiniband", code=2)

    def test_plans_for_gpus_that_no_build_computes_on_say_so(self):
        for gpu in ("k80", "v100", "t4", "titanrtx"):
            notes = self.there(gpu)["notes"]
            self.assertTrue(any("plan alone" in note for note in notes), (gpu, notes))
            text = self.run_trainx("plan", RECIPE, *SETTINGS, "precision=fp16", "--gpu", gpu).stdout
            self.assertNotIn("kernels expected", text)

    def test_advice_fills_tiles_where_they_were_measured_alone(self):
        for gpu in ("a100", "rtx3090", "l40s", "rtx4090", "v100"):
            for batch in (4, 8, 16, 32):
                done = self.run_trainx(
                    "plan", RECIPE, "data.train=none", "precision=fp16", "memory.budget=1 TiB",
                    f"batch={{global_batch_size: {batch}, micro_batch_size: {batch}}}", "--gpu", gpu, "--json")
                for advice in json.loads(done.stdout)["advice"]:
                    for key, size in advice["better"].items():
                        if isinstance(size, int) and key != "batch.grad_accum_steps":
                            self.assertEqual(size % 8, 0, (gpu, batch, advice))


if __name__ == "__main__":
    main()
