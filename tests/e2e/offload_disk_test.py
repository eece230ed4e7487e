"""The optimizer on a disk: what has no room is refused beforehand, nothing is left of it, and a
disk that fails loses no checkpoint. tests/equality/offload.yaml holds that no loss and no byte of a
checkpoint changes."""
import os
import resource
import subprocess
import time

from offloading import Offloading
from processes import children_of, files_of
from support import TRAINX, main


class OffloadToDisk(Offloading):
    more = "schedule: {type: constant}\n"

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def on_disk(self, where="disk", **more):
        settings = {"where": where, "folder": self.disk} | more
        return "memory.optimizer_offload={" + ", ".join(f"{key}: {value}"
                                                        for key, value in settings.items()) + "}"

    def assert_same(self, name, other):
        super().assert_same(name, other)
        self.assertEqual(list(self.disk.iterdir()), [])

    def mount(self, kind, *options):
        disk = self.folder / kind
        disk.mkdir()
        if subprocess.run(
            ["mount", "-t", kind, *options, kind, str(disk)], capture_output=True).returncode != 0:
            self.skipTest(f"{kind} cannot be mounted here")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", str(disk)]))
        return disk

    def between(self, *settings):
        """Host memory with which some groups have to go to the disk."""
        low, high = (self.plan(self.on_disk(), *settings)["total_bytes"],
                     self.plan("memory.optimizer_offload=cpu", *settings)["total_bytes"])
        self.assertLess(low, high)
        return f"{(low + high) // 2} B"

    def test_it_may_lie_in_three_places(self):
        self.write(micro=4)
        wide = ["model.options.hidden_size=128"]  # so that memory between neighbouring splits tells
        three = self.on_disk("cpu+disk", host_budget=self.between(*wide), share=0.3, read_ahead=1)
        groups = self.plan(three, *wide)["optimizer_groups"]
        self.assertTrue(0 < groups["on_disk"] < groups["all"], groups)
        self.assertTrue(0 < groups["on_device"] < groups["all"], groups)
        self.train("plain", *wide)
        self.train("three", *wide, three)
        self.assert_same("three", "plain")

    def test_every_rank_has_its_share_in_a_file_of_its_own(self):
        mode = self.random.choice(("ddp", "zero1", "zero2", "zero3", "dp"))
        self.write(micro=6)
        cut = [f"parallel={{mode: {mode}, world_size: 2}}", "precision=bf16"]
        self.train(mode, *cut)
        self.train(mode + "-d", self.on_disk(), *cut)
        self.assert_same(mode + "-d", mode)

    def wait_for_checkpoint(self, process, name, after=0):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if any(
                    int(path.name.split("-")[1]) > after
                    for path in (self.folder / "outputs" / name).glob("checkpoint-*")
                    if path.name.split("-")[1].isdigit()):
                return
            time.sleep(0.05)
        self.fail("no checkpoint within two minutes")

    def newest(self, name):
        return int(os.path.realpath(self.folder / "outputs" / name / "latest").rsplit("-", 1)[1])

    def assert_goes_on(self, name):
        """To what an uninterrupted run without offload has."""
        more = f"run.duration={self.newest(name) + 3} steps"
        self.train(name, self.on_disk(), more)
        self.train("uninterrupted", more)
        self.assertEqual(self.saved(name), self.saved("uninterrupted"))

    def test_killed_it_leaves_nothing_and_goes_on(self):
        self.write(steps=100000)
        process = self.start_trainx("train", "r.yaml", "run.name=killed", self.on_disk())
        self.wait_for_checkpoint(process, "killed")
        self.assertEqual(list(self.disk.iterdir()), [])           # the file has no name
        workers = children_of(process.pid)
        files = [file for pid in workers for file in files_of(pid)]
        self.assertTrue(any(str(self.disk) in file and "(deleted)" in file for file in files),
                        files)
        self.kill(process)
        self.assertEqual(list(self.disk.iterdir()), [])
        held = [file for pid in workers for file in files_of(pid) if str(self.disk) in file]
        self.assertEqual(held, [], "space that nobody can free")
        self.assert_goes_on("killed")

    def test_a_disk_that_fails_ends_the_run_with_a_sentence_and_the_checkpoint_stays(self):
        self.ends_with_a_sentence_where_the_disk_fails(self.on_disk())

    def test_a_disk_that_fails_with_weights_on_it_does_too(self):
        self.ends_with_a_sentence_where_the_disk_fails(
            "memory.parameter_offload=disk", f"memory.optimizer_offload.folder={self.disk}")

    def ends_with_a_sentence_where_the_disk_fails(self, *settings):
        self.write(steps=100000)
        process = subprocess.Popen([TRAINX, "train", "r.yaml", "run.name=failing", *settings],
                                   cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        self.wait_for_checkpoint(process, "failing")
        # No write beyond this place of any file succeeds any more: those into the disk's file fail
        # first, which are made in every step.
        size = (self.folder / "outputs/failing/metrics.jsonl").stat().st_size
        limit = (
            size + (64 << 10)
        ) // 4096 * 4096  # between blocks: what is left of a direct transfer after one that stopped within a block would be invalid, not too large
        self.assertLess(limit, self.plan(*settings)["disk_bytes"] // 2)
        for pid in children_of(process.pid):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
        _, said = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 74, said)
        (line,) = [line for line in said.splitlines() if line.startswith("trainx: ")]
        self.assertIn(str(self.disk), line)
        self.check_sentence("offload.disk_fails", line)
        self.assertEqual(self.status("failing")["exit_code"], 74)
        self.run_trainx("ckpt", "verify", "outputs/failing")
        self.assert_goes_on("failing")

    def test_what_has_no_room_is_refused_before_training(self):
        self.write()
        small = self.mount("tmpfs", "-o", "size=256k")
        done = self.train("r", self.on_disk(folder=small), expect=71)
        for name in ("256 KiB", "memory.optimizer_offload.folder", "cpu+disk"):
            self.assertIn(name, done.stderr)
        self.assertFalse((self.folder / "outputs" / "r" / "metrics.jsonl").exists())

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (300 << 10, 300 << 10))

        done = subprocess.run([TRAINX, "train", "r.yaml", self.on_disk()], cwd=self.folder,
                              capture_output=True, text=True, env=self.environment(),
                              preexec_fn=limit_files)
        self.assertEqual(done.returncode, 71, done.stderr)
        self.assertIn(str(self.disk), done.stderr)
        done = self.train("r", self.on_disk(folder="/proc/nowhere"), expect=73)
        self.assertIn("/proc/nowhere", done.stderr)
        weights = ["memory.parameter_offload=disk", "model.options.hidden_size=128"]
        done = self.train("r", *weights, f"memory.optimizer_offload.folder={small}", expect=71)
        for name in ("memory.parameter_offload", "memory.optimizer_offload.folder",
                     "memory.parameter_offload: cpu"):
            self.assertIn(name, done.stderr)
        self.assertIn(
            "/proc/nowhere",
            self.train("r", *weights, "memory.optimizer_offload.folder=/proc/nowhere",
                       expect=73).stderr)

    def test_a_file_system_without_direct_transfers_is_used_through_the_page_cache_and_said(self):
        self.write()
        memory = self.mount("ramfs")
        done = self.train("cached", self.on_disk(folder=memory))
        said = [line for line in done.stderr.splitlines() if "page cache" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(str(memory), said[0])
        self.assertIn("direct I/O", said[0])
        done = self.train("direct", self.on_disk())
        self.assertIn(str(self.disk), done.stderr)
        self.assert_same("cached", "direct")

    def test_the_plan_says_what_is_on_the_disk_and_what_passes_through_memory(self):
        self.write()
        wide = ["model.options.hidden_size=256", "model.options.num_layers=8", "precision=bf16"]
        cpu, disk, far = self.plan(*wide, "memory.optimizer_offload=cpu"), self.plan(
            *wide, self.on_disk(read_ahead=1)), self.plan(*wide, self.on_disk(read_ahead=4))
        parameters = disk["parameters"]
        self.assertLess(abs(disk["disk_bytes"] / (10 * parameters) - 1),
                        0.05)  # both moments and the low 16 bits of each weight
        self.assertLess(abs(disk["optimizer_copies"]["from_disk"] / (10 * parameters) - 1), 0.05)
        self.assertEqual(disk["optimizer_copies"]["from_disk"], disk["optimizer_copies"]["to_disk"])
        self.assertLess(disk["host_bytes"], cpu["host_bytes"] - 8 * parameters)
        self.assertGreater(far["host_bytes"], disk["host_bytes"])
        text = self.run_trainx("plan", "r.yaml", *wide, self.on_disk(), "--gpu", "h200").stdout
        for said in ("on the disk", f" {self.disk}", *(row["category"] for row in disk["on_host"])):
            self.assertIn(said, text)

    def test_an_evaluation_needs_none_of_the_disk(self):
        self.write()
        precision = self.random.choice(("fp32", "bf16", "fp16"))
        self.train("plain", f"precision={precision}")
        self.train("disk", self.on_disk(), f"precision={precision}")
        want = self.run_trainx("eval", "outputs/plain").stdout
        self.disk.rmdir()
        self.disk.write_text("no folder")
        self.assertEqual(self.run_trainx("eval", "outputs/disk").stdout, want)
        done = self.train("again", self.on_disk(), f"precision={precision}", expect=73)
        self.assertIn(str(self.disk), done.stderr)          # which training would need
        self.disk.unlink()
        self.disk.mkdir()
        weights = [f"memory.optimizer_offload.folder={self.disk}", "memory.parameter_offload=disk",
                   f"precision={precision}"]
        self.train("weights", *weights)                   # which an evaluation has there as well
        self.assertEqual(self.run_trainx("eval", "outputs/weights").stdout, want)
        self.disk.rmdir()
        self.disk.write_text("no folder")
        self.assertIn(str(self.disk), self.run_trainx("eval", "outputs/weights", expect=73).stderr)

    def test_what_can_have_no_effect_is_refused_in_a_sentence(self):
        self.write()
        for settings, key, names in (("{where: cpu, folder: here}", "folder",
                                      "cpu+disk"), ("{share: 0.5}", "share", "cpu+disk"),
                                     ("{where: cpu, share: 1}", "share",
                                      "1"), ("{where: disk, host_budget: 1 GiB}", "host_budget",
                                             "cpu+disk"), ("dsik", "where", "'disk'"),
                                     ("{nvme_path: /x}", "nvme_path",
                                      "'memory.optimizer_offload.folder'")):
            with self.subTest(settings=settings):
                self.refused("validate", "r.yaml", f"memory.optimizer_offload={settings}",
                             key=f"memory.optimizer_offload.{key}", names=names,
                             sentence=f"recipe.optimizer_offload/{settings}")
        self.refused("validate", "r.yaml", self.on_disk(), "checkpoint.asynchronous=true",
                     key="checkpoint.asynchronous")


if __name__ == "__main__":
    main()
