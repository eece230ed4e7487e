"""Many workers of one launcher: their ranks, what they say, how they end, who is left. Stub workers
stand in the real one's place."""
import contextlib
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import time
import uuid

from processes import state_of, stat_of
from support import LONG, ROOT, TRAINX, Trainx, main, tiny, version

FOREVER = "sleep 600"
GRACE = 12  # seconds from a failure until those who do not end are killed
WAITS = "for time limits and workers that sleep"


def wait_until(true, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


def is_ending(process):
    """Whether SIGKILL is on its way to a process, or the process exits (PF_EXITING)."""
    stat = stat_of(process)
    try:
        status = pathlib.Path("/proc", str(process), "status").read_text()
    except OSError:
        return True
    if not stat:
        return True
    flags = int(stat[1][6])
    pending = int(status.split("ShdPnd:", 1)[1].split()[0], 16)
    return bool(pending >> (signal.SIGKILL - 1) & 1 or flags & 4)


class Launch(Trainx):
    forks = True                        # of launchers; their workers are processes

    def setUp(self):
        super().setUp()
        self.mark = uuid.uuid4().hex
        self.stubs = self.folder / "stubs"
        self.stubs.mkdir()
        self.config = self.recipe(
            tiny().replace("global_batch_size: 8, micro_batch_size: 4",
                           "global_batch_size: 60, grad_accum_steps: 1"))  # for 1 to 6 ranks
        self.run_folder = self.folder / "outputs" / "tiny"
        self.base = {
            "STUB_VERSION": version(), "STUB_FOLDER": str(self.stubs), "STUB_MARK": self.mark,
            "TRAINX_WORKER": str(ROOT / "tests" / "e2e" / "stub_worker.py"), "TERM": "xterm"
        }
        self.addCleanup(self.kill_marked)

    def environment(self, **more):
        env = super().environment()
        for name in list(env):
            if name.startswith(("OMPI_", "PMI", "PET_", "STUB", "MASTER_",
                                "TORCHELASTIC_")) or name in ("RANK", "WORLD_SIZE", "LOCAL_RANK",
                                                              "LOCAL_WORLD_SIZE"):
                del env[name]
        return {**env, **self.base, **more}

    def marked(self):
        """Processes of this test, launchers and whatever they started, found by the environment
        that they inherit."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def check_ended(self):
        """No process outlives its launcher. One that was killed is listed until the kernel has
        taken it apart."""
        self.assertEqual([p for p in self.marked() if not is_ending(p)], [],
                         "a process outlived its launcher")

    def kill_marked(self):
        for process in self.marked():
            with contextlib.suppress(ProcessLookupError):     # it has ended since it was listed
                os.kill(process, signal.SIGKILL)

    def launch(self, *args, expect=0, timeout=60, **env):
        done = self.run_trainx("train", self.config, *args, expect=expect,
                               env=self.environment(**env), timeout=timeout)
        self.check_ended()
        return done

    def begin(self, *args, world, start=0, stderr=subprocess.PIPE, **env):
        """A launcher whose workers have come up."""
        process = subprocess.Popen([TRAINX, "train", self.config, *args], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=stderr, text=True,
                                   env=self.environment(**env))
        wait_until(lambda: len(list(self.stubs.glob(f"job-*-{start}.json"))) == world)
        return process

    def end(self, process, expect):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, expect, err)
        self.check_ended()
        return out, err

    def job(self, rank, start=0):
        return json.loads((self.stubs / f"job-{rank}-{start}.json").read_text())

    def starts(self, rank):
        return len(list(self.stubs.glob(f"job-{rank}-*.json")))

    def signals(self, rank):
        path = self.stubs / f"signals-{rank}"
        return path.read_text().split() if path.exists() else []

    def forget(self):
        for path in self.stubs.iterdir():
            path.unlink()

    def log(self, rank):
        return (self.run_folder / "logs" / f"rank-{rank}.log").read_text()


class Ranks(Launch):
    def test_each_worker_has_its_rank_and_they_meet_at_the_launchers_socket(self):
        self.launch("--nproc-per-node", "4", STUB="meet")
        jobs = [self.job(rank) for rank in range(4)]
        self.assertEqual(
            [(j["rank"], j["world_size"], j["local_rank"], j["local_world_size"]) for j in jobs],
            [(r, 4, r, 4) for r in range(4)])
        self.assertEqual([j["listener"] for j in jobs], [4, -1, -1, -1])
        self.assertEqual({(j["address"], j["port"], j["launcher"])
                          for j in jobs}, {("127.0.0.1", jobs[0]["port"], "trainx")})
        self.assertEqual(len({j["secret"] for j in jobs}), 1)
        self.assertRegex(jobs[0]["secret"], "^[0-9a-f]{64}$")
        self.assertEqual(list((self.folder / "outputs").glob(".*")), [])

    def test_one_worker_opens_nothing(self):
        self.launch(STUB="err plain; terminal")
        job = self.job(0)
        self.assertEqual((job["world_size"], job["port"], job["listener"], job["secret"]),
                         (1, 0, -1, ""))
        self.assertFalse((self.run_folder / "logs").exists())

    def test_hosts_by_flags(self):
        flags = [
            "--nproc", "2", "--nnodes", "2", "--master-addr", "localhost", "--master-port", "12345"
        ]
        for node in (0, 1):
            done = self.launch(*flags, "--node-rank", str(node), STUB="err here")
            self.assertEqual(
                sorted(done.stderr.splitlines()),
                ["[rank 1] here", "here"] if node == 0 else ["[rank 2] here", "[rank 3] here"])
        jobs = [self.job(rank) for rank in range(4)]
        self.assertEqual(
            [(j["rank"], j["world_size"], j["local_rank"], j["local_world_size"]) for j in jobs],
            [(0, 4, 0, 2), (1, 4, 1, 2), (2, 4, 0, 2), (3, 4, 1, 2)])
        self.assertEqual({(j["address"], j["port"], j["listener"], j["launcher"])
                          for j in jobs}, {("localhost", 12345, -1, "flags")})
        self.assertEqual(len({(j["run_id"], j["secret"]) for j in jobs}), 1)
        made = self.folder / "outputs" / ".tiny.secret"
        self.assertEqual((made.stat().st_mode & 0o777, made.stat().st_size), (0o600, 65))
        self.assertEqual(jobs[0]["secret"], made.read_bytes().hex())
        for path in [p for p in self.run_folder.rglob("*") if p.is_file()]:
            self.assertNotIn(made.read_bytes().strip(), path.read_bytes(), path)

    def test_secret_files(self):
        flags = ["--nproc", "1", "--nnodes", "2", "--master-addr", "localhost", "--node-rank", "0"]
        secret = self.folder / "secret"
        secret.write_bytes(self.random.randbytes(40))
        secret.chmod(0o600)
        for named, env in ((["--secret-file",
                             secret], {}), ([], {"TRAINX_SECRET_FILE": str(secret)})):
            self.forget()
            self.launch(*flags, *named, STUB="", **env)
            self.assertEqual(self.job(0)["secret"], secret.read_bytes().hex())
            self.forget()
            self.launch(*named, STUB="", **env, **TORCHRUN)
            self.assertEqual(self.job(1)["secret"], secret.read_bytes().hex())
        self.assertFalse((self.folder / "outputs" / ".tiny.secret").exists())

    def test_secret_files_that_others_may_know_are_refused(self):
        flags = ["--nproc", "1", "--nnodes", "2", "--master-addr", "localhost", "--node-rank", "0"]
        text = "5" * 64
        def write(path, mode=0o600, content=text):
            path.write_text(content)
            path.chmod(mode)

        for case, code, make in (("missing", 66, lambda path: None), ("folder", 66, os.mkdir),
                                 ("pipe", 65,
                                  os.mkfifo), ("device", 65,
                                               lambda path: path.symlink_to("/dev/zero")),
                                 ("readable", 2, lambda path: write(path, 0o644)),
                                 ("group", 2, lambda path: write(path, 0o620)),
                                 ("short", 2, lambda path: write(path, content=text[:31])),
                                 ("long", 2, lambda path: write(path, content=text * 65)),
                                 ("owner", 2, lambda path:
                                  (write(path), os.chown(path, 65534, 65534)))):
            if case == "owner" and os.geteuid() != 0:
                continue
            with self.subTest(case=case):
                path = self.folder / f"secret-{case}"
                make(path)
                said = self.launch(*flags, "--secret-file", path, expect=code, timeout=20).stderr
                self.assertIn(path.name, said)
                self.assertNotIn("555", said)
                self.check_sentence(f"launch.secret/{case}", said)
        self.assertIn("--secret-file",
                      self.launch("--nproc", "2", "--secret-file", path, expect=2).stderr)
        self.assertEqual(list(self.stubs.iterdir()), [])

    def test_flags_that_lack_something_are_refused(self):
        for args, *options in ((["--nproc", "0"], "--nproc-per-node"), ([
                "--nproc", "two"
        ], "--nproc-per-node"), (["--nnodes", "2"], "--nnodes", "--node-rank"), ([
                "--node-rank", "0"
        ], "--nnodes"), (["--max-restarts",
                          "-1"], "--max-restarts"), (["--master-port", "0"], "--master-port"), ([
                              "--nnodes", "2", "--node-rank", "2", "--master-addr", "h"
                          ], "--node-rank", "--nnodes"), ([
                              "--rehearse", "--nnodes", "2", "--node-rank", "1", "--master-addr",
                              "h"
                          ], "--rehearse", "--nnodes")):
            with self.subTest(args=args):
                said = self.launch(*args, expect=2).stderr
                for option in options:
                    self.assertIn(option, said)
                self.check_sentence("launch.flags/" + " ".join(args), said)
        self.assertEqual(list(self.stubs.iterdir()), [])


TORCHRUN = {
    "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "TORCHELASTIC_USE_AGENT_STORE": "True"
}
SRUN = {
    "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_LOCALID": "0", "SLURM_NODEID": "1", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_STEP_NODELIST": "n[1-2]"
}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": "77"
}
BATCH = {
    "SLURM_JOB_ID": "5", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
    "SLURM_NTASKS": "4", "SLURM_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "4"
}


class OtherLaunchers(Launch):
    def secrets(self):
        return sorted(path.name for path in (self.folder / "outputs").glob(".*.secret"))

    def test_a_secret_serves_one_start(self):
        agent = {**TORCHRUN, "TORCHELASTIC_RUN_ID": "a", "TORCHELASTIC_RESTART_COUNT": "0"}
        for first, again in ((SRUN, {"SLURM_RESTART_COUNT": "1"}), (SRUN, {"SLURM_JOB_ID": "6"}),
                             (MPIRUN, {"PMIX_NAMESPACE": "78"}),
                             (agent, {"TORCHELASTIC_RESTART_COUNT": "1"})):
            found = []
            for env in (first, {**first, **again}):
                self.forget()
                self.launch(STUB="", **env)
                found.append(self.job(1)["secret"])
            self.assertNotEqual(*found)
        made = self.secrets()
        self.assertEqual(len(made), 7, made)    # the first two begin alike
        for name in made:
            self.assertRegex(name, r"^\.tiny\.[0-9a-f]{16}\.secret$")
            self.assertEqual((self.folder / "outputs" / name).stat().st_mode & 0o777, 0o600)

    def test_rank_0_removes_the_secret_of_its_start_and_those_of_old_ones(self):
        self.launch(STUB="", **SRUN)
        of_rank_1, = self.secrets()
        self.forget()
        old, young = (self.folder / "outputs" / f".tiny.{c * 16}.secret" for c in "ab")
        others = [self.folder / "outputs" / name for name in (".tiny.secret", ".tiny2.secret")]
        for path in (old, young, *others):
            path.write_text("5" * 64)
        for path in (old, *others):
            os.utime(path, (0, 0))
        begun = self.begin(world=1, STUB="sleep 600",
                           **{**SRUN, "SLURM_PROCID": "0", "SLURM_NODEID": "0"})
        self.assertEqual(self.secrets(), sorted([of_rank_1, young.name, *(p.name for p in others)]))
        begun.terminate()
        self.end(begun, 143)
        self.assertEqual(self.secrets(), sorted([young.name, *(p.name for p in others)]))

    def test_one_worker_with_the_rank_it_was_given_which_speaks_for_itself(self):
        for env, launcher, address in ((TORCHRUN, "torchrun", "127.0.0.1"), (SRUN, "slurm", "n1"),
                                       (MPIRUN, "mpi", "127.0.0.1")):
            with self.subTest(launcher=launcher):
                self.forget()
                done = self.launch(STUB="out data; err words", **env)
                self.assertEqual((done.stdout, done.stderr), ("data\n", "words\n"))
                job = self.job(1)
                self.assertEqual((job["rank"], job["world_size"], job["launcher"], job["address"],
                                  job["listener"]), (1, 2, launcher, address, -1))
                self.assertEqual(len(list(self.stubs.glob("job-*"))), 1)
                self.assertEqual(self.job(1)["port"] == 29501, launcher == "torchrun")
                self.assertIn("--rehearse", self.launch("--rehearse", expect=2, **env).stderr)
                self.assertIn("--max-restarts",
                              self.launch("--max-restarts", "1", expect=2, **env).stderr)

    def test_a_batch_script_is_no_rank_and_flags_go_before_all(self):
        self.launch(**BATCH)
        self.assertEqual(self.job(0)["world_size"], 1)
        self.forget()
        self.launch("--nproc", "2", **TORCHRUN)
        self.assertEqual((self.job(0)["world_size"], self.job(1)["launcher"]), (2, "trainx"))

    def test_half_set_variables_are_refused(self):
        for case, env, *names in (("alone", {"RANK": "1"}, "RANK",
                                   "WORLD_SIZE"), ("beyond", {**TORCHRUN, "RANK": "2"}, "rank 2"),
                                  ("no_number", {**TORCHRUN, "WORLD_SIZE": "x"}, "WORLD_SIZE",
                                   "'x'"), ("mpi", {**MPIRUN, "OMPI_COMM_WORLD_SIZE": ""},
                                            "OMPI_COMM_WORLD_SIZE"),
                                  ("slurm", {**SRUN, "SLURM_LOCALID": ""}, "SLURM_LOCALID")):
            with self.subTest(case=case):
                done = self.launch(expect=2, **env)
                for name in names:
                    self.assertIn(name, done.stderr)
                self.check_sentence(f"launch.environment/{case}", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(list(self.stubs.iterdir()), [])


class DriverThreads(Launch):
    def test_a_thread_that_the_gpu_driver_starts_takes_no_signal_from_the_launcher(self):
        """It would lose SIGCHLD, and the launcher would wait for ever; or end the launcher by
        SIGTERM before the worker has saved."""
        machine = {
            "LD_LIBRARY_PATH": self.fake_nvml(), "CUDA_VISIBLE_DEVICES": "0,1",
            "XDG_CACHE_HOME": str(self.folder / "cache")
        }
        for _ in range(3):
            shutil.rmtree(self.folder / "cache", ignore_errors=True)  # GPUs are looked for anew
            self.forget()
            self.launch("run.device=cpu", STUB="sleep 0.2; exit 7", expect=7, timeout=20, **machine)
        self.forget()
        process = self.begin("run.device=cpu", world=1, STUB=FOREVER, **machine)
        self.assertGreater(len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir())), 1,
                           "the driver's thread is there")
        process.send_signal(signal.SIGTERM)
        self.end(process, 143)
        self.assertEqual(self.signals(0), ["TERM"])


class Words(Launch):
    def test_lines_carry_their_rank_and_stdout_is_rank_0s(self):
        done = self.launch("--nproc", "3", STUB="make-folder; out data; err one\\ntwo")
        self.assertEqual(done.stdout, "data\n")
        self.assertEqual(
            sorted(done.stderr.splitlines()),
            ["[rank 1] one", "[rank 1] two", "[rank 2] one", "[rank 2] two", "one", "two"])
        for rank in (1, 2):
            self.assertRegex(self.log(rank), rf"^-- .*\brank {rank} of 3\b.*\n")
            self.assertEqual(sorted(self.log(rank).splitlines()[1:]), ["data", "one", "two"])
        self.assertEqual(self.log(0).splitlines()[1:], ["one", "two"])
        self.launch("--nproc", "3", STUB="err again")
        self.assertEqual(self.log(2).splitlines()[-1], "again")
        self.assertEqual(self.log(2).count("rank 2 of 3"), 2)

    def test_lines_without_an_end_and_long_ones_arrive_whole(self):
        done = self.launch("--nproc", "2", STUB_0="sleep 0",
                           STUB_1="make-folder; flood 60000; err " + 40000 * "y")
        lines = done.stderr.splitlines()
        self.assertEqual(lines[:60000], [f"[rank 1] {i} " + 90 * "x" for i in range(60000)])
        self.assertEqual("".join(line.removeprefix("[rank 1] ") for line in lines[60000:]),
                         40000 * "y")
        self.assertEqual(self.log(1).count("x\n"), 60000)

    def test_a_run_without_a_folder_leaves_nothing_behind(self):
        self.launch("--nproc", "2", STUB="err refused; exit 78", expect=78)
        self.assertFalse((self.folder / "outputs").exists())

    def test_lines_wait_for_the_folder_that_a_worker_makes(self):
        process = self.begin("--nproc", "2", world=2, STUB_0="sleep 0.5; make-folder; " + FOREVER,
                             STUB_1="err early; " + FOREVER)
        wait_until(lambda:
                   (self.run_folder / "logs" / "rank-1.log").exists() and "early" in self.log(1))
        process.send_signal(signal.SIGTERM)
        self.end(process, 143)

    def test_a_fork_has_logs_of_its_own(self):
        (self.folder / "outputs" / "branch").mkdir(parents=True)
        self.launch("--nproc", "2", "--fork", "branch", STUB="err words")
        self.assertTrue((self.folder / "outputs" / "branch" / "logs" / "rank-1.log").exists())
        self.assertFalse(self.run_folder.exists())

    def test_rank_0_keeps_a_terminal(self):
        screen, terminal = pty.openpty()
        process = self.begin("--nproc", "2", world=2, stderr=terminal, STUB="make-folder; terminal",
                             STUB_1="make-folder; sleep 0.5; terminal")
        os.close(terminal)
        self.end(process, 0)
        text = b""
        try:
            while piece := os.read(screen, 65536):
                text += piece
        except OSError:                 # the terminal's last holder is gone
            pass
        os.close(screen)
        self.assertEqual(text.decode(), "a terminal\r\n\r\x1b[K[rank 1] no terminal\r\n")
        self.assertFalse((self.run_folder / "logs" / "rank-0.log").exists())

    def test_one_sentence_of_several_ranks_is_told_once(self):
        done = self.launch("--nproc", "5", STUB="err trainx: lost\\n  a detail; exit 82",
                           STUB_0="exit 82", STUB_3="err trainx: other; exit 82", expect=82)
        self.assertEqual(
            sorted(done.stderr.splitlines()),
            ["[rank 3] trainx: other", "[ranks 1-2,4]   a detail", "[ranks 1-2,4] trainx: lost"])
        self.assertEqual(
            self.launch("--nproc", "3", STUB="err trainx: lost; exit 82",
                        STUB_0="err trainx: lost; exit 82", expect=82).stderr, "trainx: lost\n")

    def test_a_closing_sentence_does_not_wait_for_the_others(self):
        process = self.begin("--nproc", "2", world=2, STUB_0="sleep 5; exit 82",
                             STUB_1="err trainx: mine; exit 65")
        began = time.monotonic()
        self.assertEqual(process.stderr.readline(), "[rank 1] trainx: mine\n")
        self.assertLess(time.monotonic() - began, 3)
        self.end(process, 65)

    def test_a_reader_that_does_not_read_holds_up_no_signal(self):
        process = self.begin("--nproc", "2", world=2, STUB_0="ignore; " + FOREVER,
                             STUB_1="ignore; flood 100000; " + FOREVER)
        time.sleep(1)                   # the pipe is full
        process.send_signal(signal.SIGUSR2)
        wait_until(lambda: self.signals(0) == ["USR2"] and self.signals(1) == ["USR2"])
        process.kill()
        process.communicate()


class Ends(Launch):
    def test_who_decides(self):
        late = "sleep 0.4; exit 82"
        for code, names, env in (
            (0, None, {"STUB": "exit 0"}),
            (66, None, {"STUB_1": "exit 66", "STUB": late}),
            (69, None, {"STUB_2": "sleep 0.8; exit 69",
                        "STUB": late}),  # those that tell of another's end do not count
            (82, None, {"STUB": late}),
            (81, None, {"STUB_1": "exit 81", "STUB_2": "sleep 2.6; exit 66",
                        "STUB": late}),  # 66 came too late to be the reason
            (65, None, {
                "STUB_1": "sleep 0.3; exit 65", "STUB_2": "sleep 1; exit 66",
                "STUB": "sleep 1.5; exit 82"
            }),
            (74, None, {"STUB_1": "exit 143", "STUB_2": "sleep 0.4; exit 74", "STUB": "exit 143"}),
            (137, ("rank 2", "signal 9 (Killed)"), {"STUB_2": "kill 9", "STUB": late}),
            (139, ("rank 0", "signal 11"), {"STUB_0": "kill 11", "STUB": late})):
            with self.subTest(code=code, env=env):
                done = self.launch("--nproc", "3", expect=code, **env)
                for name in names or ():
                    self.assertIn(name, done.stderr)
                if names:
                    self.check_sentence(f"launch.ended_by_signal/{code}", done.stderr)
                else:
                    self.assertEqual(done.stderr, "")

    def test_a_worker_that_cannot_be_started_leaves_none(self):
        env = self.environment()
        del env["TRAINX_WORKER"]
        copy = self.folder / "bin" / "trainx"      # a trainx with no worker beside it
        copy.parent.mkdir()
        shutil.copy(TRAINX, copy)
        done = subprocess.run([str(copy), "train", self.config, "--nproc", "3"], cwd=self.folder,
                              capture_output=True, text=True, env=env, timeout=60)
        self.assertEqual(done.returncode, 69)
        self.assertIn("trainx-worker", done.stderr)
        self.check_ended()

    def test_those_who_do_not_end_are_made_to(self):
        began = time.monotonic()
        done = self.launch("--nproc", "3", STUB_0="ignore; " + FOREVER, STUB_1="sleep 0.2; exit 69",
                           STUB_2=FOREVER, expect=69, timeout=60)
        took = time.monotonic() - began
        self.assertTrue(GRACE - 0.5 < took < GRACE + 8, took)
        for rank in (0, 2):
            (line,) = [line for line in done.stderr.splitlines() if f"rank {rank} " in line]
            self.check_sentence(f"launch.did_not_end/{rank}", line)
        self.assertEqual((self.signals(0), self.signals(2)), (["TERM"], ["TERM"]))

    def test_a_stopped_worker_is_killed_too(self):
        process = self.begin("--nproc", "2", world=2, STUB_0=FOREVER, STUB_1="sleep 0.5; exit 69")
        os.kill(self.job(0)["pid"], signal.SIGSTOP)
        began = time.monotonic()
        self.assertIn("rank 0", self.end(process, 69)[1])
        # it could not end by itself, and is not waited for
        self.assertLess(time.monotonic() - began, GRACE)

    def test_a_stopped_worker_of_another_launchers_run_is_killed_after_the_hang_limit(self):
        process = self.begin(
            "--nproc", "1", "--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1",
            "--master-port", "29777", "run.hang_limit=1 s", world=1, STUB=FOREVER)
        os.kill(self.job(0)["pid"], signal.SIGSTOP)
        began = time.monotonic()
        self.assertIn("rank 0", self.end(process, 81)[1])
        self.assertLess(time.monotonic() - began, 1 + 10)

    def test_a_worker_that_is_stopped_for_a_moment_goes_on(self):
        process = self.begin("--nproc", "2", "run.hang_limit=1 s", world=2, STUB="sleep 12; exit 0")
        for _ in range(2):
            os.kill(self.job(0)["pid"], signal.SIGSTOP)
            time.sleep(3)
            os.kill(self.job(0)["pid"], signal.SIGCONT)
            time.sleep(0.5)
        self.end(process, 0)

    def test_what_a_worker_started_ends_with_it(self):
        self.launch("--nproc", "2", STUB="child; exit 0")

    def test_kill_9_of_one_rank(self):
        for victim in (0, 3):
            self.forget()
            env = {
                f"STUB_{rank}": FOREVER if rank == victim else "sleep 1.5; exit 82"
                for rank in range(4)
            }
            process = self.begin("--nproc", "4", world=4, **env)
            os.kill(self.job(victim)["pid"], signal.SIGKILL)
            self.assertRegex(self.end(process, 137)[1], rf"\brank {victim}\b.*\bsignal 9\b")


class Signals(Launch):
    def test_each_signal_reaches_each_worker_once(self):
        for world in (1, 4):
            for sent, name, code in ((signal.SIGTERM, "TERM", 143), (signal.SIGINT, "INT", 130),
                                     (signal.SIGUSR1, "USR1", 75)):
                with self.subTest(world=world, signal=name):
                    self.forget()
                    process = self.begin("--nproc", str(world), world=world, STUB=FOREVER)
                    process.send_signal(signal.SIGUSR2)
                    wait_until(lambda: all(self.signals(rank) == ["USR2"] for rank in range(world)))
                    process.send_signal(sent)
                    self.assertEqual(self.end(process, code), ("", ""))
                    self.assertEqual([self.signals(rank) for rank in range(world)],
                                     world * [["USR2", name]])

    def test_a_second_ctrl_c_ends_all_at_once(self):
        process = self.begin("--nproc", "3", world=3, STUB="ignore; " + FOREVER)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: all(self.signals(rank) == ["INT"] for rank in range(3)))
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        self.check_sentence("launch.interrupted_twice", self.end(process, 130)[1])

    def test_ctrl_z_suspends_all_and_fg_wakes_all(self):
        process = self.begin("--nproc", "2", world=2, STUB=FOREVER)
        workers = [self.job(rank)["pid"] for rank in range(2)]
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: all(state_of(pid) == "T" for pid in [process.pid, *workers]))
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: all(state_of(pid) in "SR" for pid in workers))
        process.send_signal(signal.SIGTERM)
        self.end(process, 143)

    def test_kill_9_of_the_launcher_leaves_no_worker(self):
        for world in (1, 4):
            process = self.begin("--nproc", str(world), world=world, STUB="ignore; " + FOREVER)
            guards = int(world > 1)         # of the launcher
            wait_until(lambda: len(self.marked()) == 1 + world + guards)
            process.kill()
            process.communicate()
            wait_until(lambda: self.marked() == [])
            self.forget()
        for _ in range(200 if LONG else 25):   # at any time, also between fork and exec
            process = subprocess.Popen([TRAINX, "train", self.config, "--nproc", "4"],
                                       cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL,
                                       env=self.environment(STUB="ignore; " + FOREVER))
            time.sleep(self.random.uniform(0.0, 0.25))
            process.kill()
            process.wait()
            wait_until(lambda: self.marked() == [])


class Restarts(Launch):
    def test_failures_that_may_pass_start_all_workers_again(self):
        for words in ("exit 69", "exit 74", "exit 81", "exit 82", "kill 9"):
            with self.subTest(words=words):
                self.forget()
                done = self.launch("--nproc", "2", "--max-restarts", "3",
                                   STUB_0="meet; first sleep 0.5; first exit 82",
                                   STUB_1="meet; first " + words)
                self.assertRegex(
                    done.stderr,
                    rf"^warning: .*\b1 of 3\b.*\brank 1\b.*\b{words.split()[1]}\b.*\n$")
                self.check_sentence(f"launch.restart/{words}", done.stderr)
                self.assertEqual((self.starts(0), self.starts(1)), (2, 2))
                self.assertNotEqual(self.job(0, 0)["secret"], self.job(0, 1)["secret"])

    def test_a_worker_alone_restarts_too(self):
        self.launch("--max-restarts", "1", STUB="first kill 9")
        self.assertEqual(self.starts(0), 2)

    def test_no_more_often_than_asked(self):
        done = self.launch("--nproc", "2", "--max-restarts", "2", STUB="exit 69", expect=69)
        self.assertEqual((self.starts(0), done.stderr.count("warning: ")), (3, 2))
        self.forget()
        self.launch("--nproc", "2", STUB="exit 69", expect=69)
        self.assertEqual(self.starts(0), 1)

    def test_not_after_the_users_errors_success_or_a_stop(self):
        for code in (0, 1, 2, 65, 66, 71, 73, 75, 78, 79, 80, 83, 130, 143):
            with self.subTest(code=code):
                self.forget()
                others = f"exit {code}" if code in (
                    0, 75, 130, 143) else "sleep 0.5; exit 82"  # all ranks stop alike
                self.launch("--nproc", "2", "--max-restarts", "3", STUB_0=others,
                            STUB_1=f"exit {code}", expect=code)
                self.assertEqual(self.starts(1), 1)

    def test_not_after_a_signal_that_was_sent(self):
        process = self.begin("--nproc", "2", "--max-restarts", "3", world=2,
                             STUB="ignore; sleep 1; kill 9")
        process.send_signal(signal.SIGTERM)
        self.end(process, 137)
        self.assertEqual(self.starts(0), 1)

    def test_a_signal_between_two_starts_ends_the_run(self):
        process = self.begin("--nproc", "2", "--max-restarts", "3", world=2,
                             STUB="first exit 69; " + FOREVER)
        self.assertIn(" 1 of 3", process.stderr.readline())
        process.send_signal(signal.SIGUSR1)
        self.end(process, 75)
        self.assertEqual(self.starts(0), 1)


if __name__ == "__main__":
    main()
