"""Hosts that one machine pretends to be. Each has a name and a boot id of its own, by which trainx
tells hosts apart, and sees its own processes alone; with `networks` each has a network of its own,
and a pair of virtual cables joins them."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

# A shell is the first process of a host, which nobody in there could kill.
BEGIN = ('hostname "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && "$@"; '
         "exit $?")
CABLE = "cable"
MARK = "TRAINX_TEST_HOSTS"


def _quiet(*command):
    return subprocess.run(command, capture_output=True, text=True).returncode == 0


def living(mark):
    """Processes whose environment holds the mark, without those that are only listed until
    somebody asks for them."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state not in "ZX" and mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found


def kill_all(mark):
    for process in living(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Host:
    def __init__(self, folder, number, network=None):
        self.name, self.network, self.address = f"host{number}", network, "127.0.0.1"
        if network:
            self.address = f"10.77.0.{number + 1}"
        self.boot_id = pathlib.Path(folder) / f"boot-id-{number}"
        self.boot_id.write_text(f"{uuid.uuid4()}\n")

    def command(self, *command):
        network = ("ip", "netns", "exec", self.network) if self.network else ()
        return [*network, "unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child",
                "--mount-proc", "sh", "-c", BEGIN, "sh", self.name, str(self.boot_id),
                *map(str, command)]


class Hosts:
    """Two of them, until close()."""
    def __init__(self, folder, networks=False):
        self.mark = uuid.uuid4().hex
        names = [f"trainx-{self.mark[:8]}-{k}" if networks else None for k in range(2)]
        self.all = [Host(folder, k, name) for k, name in enumerate(names)]
        self.is_slow_link = networks and self._connect()

    def _connect(self):
        """Whether the cable has the time and the width of a network between hosts: a kernel may
        lack what lets cables have them."""
        first, second = self.all
        for host in self.all:
            subprocess.run(["ip", "netns", "add", host.network], check=True)
        subprocess.run(["ip", "link", "add", CABLE, "netns", first.network, "type", "veth", "peer",
                        "name", CABLE, "netns", second.network], check=True)
        for host in self.all:
            ip = ("ip", "-n", host.network)
            subprocess.run([*ip, "addr", "add", f"{host.address}/24", "dev", CABLE], check=True)
            for device in ("lo", CABLE):
                subprocess.run([*ip, "link", "set", device, "up"], check=True)
        return all(_quiet("tc", "-n", host.network, "qdisc", "add", "dev", CABLE, "root", "netem",
                          "delay", "1ms", "rate", "10gbit") for host in self.all)

    def cut_cable(self, state="down"):
        subprocess.run(["ip", "-n", self.all[0].network, "link", "set", CABLE, state], check=True)

    def mend_cable(self):
        self.cut_cable("up")

    def start(self, command, environment, errors, output=lambda _: os.devnull, folder=None):
        """A process on each host: `command(number, host)`, in `environment(number)`, which writes
        its sentences to the path `errors(number)`, and what it prints to `output(number)`."""
        started = []
        for number, host in enumerate(self.all):
            with open(errors(number), "wb") as said, open(output(number), "wb") as printed:
                started.append(subprocess.Popen(
                    host.command(*command(number, host)), stdout=printed, stderr=said, cwd=folder,
                    env={**environment(number), MARK: self.mark}))
        return started

    def living(self):
        return living(self.mark)

    def close(self):
        kill_all(self.mark)
        end = time.monotonic() + 10
        while self.living() and time.monotonic() < end:
            time.sleep(0.02)
        for host in self.all:
            if host.network:
                _quiet("ip", "netns", "del", host.network)


def why_not(folder, networks=False):
    """Why there can be none here; empty: they can be."""
    tools = ("unshare", "mount", "hostname", *(("ip",) if networks else ()))
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        return f"no {missing[0]}"
    if not _quiet(*Host(folder, 0).command("true")):
        return "namespaces need root"
    name = f"trainx-{uuid.uuid4().hex[:8]}"
    if networks and not (_quiet("ip", "netns", "add", name) and _quiet("ip", "netns", "del", name)):
        return "networks of their own need root"
    return ""
