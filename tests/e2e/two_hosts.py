"""What tests of runs on two hosts share."""
import time

import hosts
import processes
from ports import free_ports
from support import TRAINX, Trainx, sha256

HANG = 4                                # seconds
PEER_ENDED, STOOD_STILL, KILLED = 82, 81, 137


class TwoHosts(Trainx):
    networks = False                    # each host has one of its own
    world = 4                           # ranks; half of them on each host

    def setUp(self):
        super().setUp()
        if why := hosts.why_not(self.folder, self.networks):
            self.skipTest(why)
        self.hosts = hosts.Hosts(self.folder, self.networks)
        self.addCleanup(self.hosts.close)

    def environment_of(self, number):
        """Of the processes of a host; None: of a run on one host."""
        return self.environment()

    def start(self, name, *settings):
        (port,) = free_ports(1)
        return self.hosts.start(
            lambda number, host: [
                TRAINX, "train", self.config, f"run.name={name}", *settings,
                f"run.output_dir={self.folder}/outputs",
                *self.flags(number, self.world // 2, port)],
            self.environment_of, self.errors)

    def flags(self, number, ranks, port):
        """Of trainx on a host, with so many ranks."""
        return [f"--nproc-per-node={ranks}", "--nnodes=2", f"--node-rank={number}",
                f"--master-addr={self.hosts.all[0].address}", f"--master-port={port}"]

    def run_on_both(self, command, environment=None):
        """The exit codes; what the hosts print is in `printed(number)`."""
        started = self.hosts.start(command, environment or self.environment_of, self.errors,
                                   self.printed, self.folder)
        return [process.wait(timeout=120) for process in started]

    def measure_network(self, *more, ranks):
        """What `doctor --hosts` prints, with so many ranks on each host."""
        (port,) = free_ports(1)
        codes = self.run_on_both(lambda number, _: [TRAINX, "doctor", "--hosts", *more,
                                                    *self.flags(number, ranks, port)])
        self.assertEqual(codes, [0, 0], self.told())
        self.assertEqual(self.printed(1).read_text(), "", "rank 0 alone prints")
        return self.printed(0).read_text()

    def printed(self, number):
        return self.folder / f"printed-{number}"

    def errors(self, number):
        return self.folder / f"errors-{number}"

    def told(self, number=None):
        wanted = (0, 1) if number is None else (number,)
        return "".join(self.errors(k).read_text() for k in wanted)

    def train(self, name, *settings):
        codes = [process.wait(timeout=300) for process in self.start(name, *settings)]
        self.assertEqual(codes, [0, 0], self.told())

    def train_on_one(self, name, *settings):
        self.run_trainx("train", self.config, f"run.name={name}",
                        f"parallel.world_size={self.world}", *settings,
                        env=self.environment_of(None))

    def assert_same(self, one, other):
        numbers = [[(m["step"], m.get("loss"), m.get("eval_loss")) for m in self.metrics(name)]
                   for name in (one, other)]
        self.assertEqual(*numbers)
        files = [{file.name: sha256(file)
                  for file in self.weights(name).parent.glob("*.safetensors")}
                 for name in (one, other)]
        self.assertEqual(*files)
        self.assertIn("model", "".join(files[0]))

    def assert_bits_of_one_host(self, mode, settings):
        name = mode.replace(" ", "-")
        self.train_on_one(f"{name}-one", *settings)
        self.train(f"{name}-two", *settings)
        self.assert_same(f"{name}-one", f"{name}-two")

    def wait_for_training(self, name, started):
        path, end = self.folder / "outputs" / name / "metrics.jsonl", time.monotonic() + 120
        while not (path.exists() and path.read_text().count("\n") > 6):
            self.assertLess(time.monotonic(), end, self.told())
            self.assertEqual([process.poll() for process in started], [None, None], self.told())
            time.sleep(0.05)

    def assert_all_end(self, started, codes):
        began = time.monotonic()
        while self.hosts.living() and time.monotonic() < began + HANG + 10:
            time.sleep(0.05)
        self.assertEqual(self.hosts.living(), [], self.told())
        for number, process in enumerate(started):
            self.assertIn(process.wait(), codes, self.told(number))
            self.assertRegex(self.told(number), r"rank \d", f"host {number} says why")

    def workers(self):
        return [p for p in self.hosts.living()
                if processes.name_of(p).startswith("trainx-worker")]
