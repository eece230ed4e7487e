#!/usr/bin/env python3
"""A Slurm of this machine alone, for tests: munged, slurmctld and a slurmd for each pretended node,
a folder of their own, without cgroups. Nodes and the controller can fail and come back.

As root, with Debian's slurm-wlm and munge:   tests/e2e/cluster.py COMMAND [ARGUMENTS]
runs the command with SLURM_CONF set, and ends the cluster afterwards."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from ports import free_ports

NODES = ("t1", "t2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")

CONF = """\
ClusterName=trainx
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=10
MinJobAge=600
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
{settings}
"""


class Cluster:
    """With `with`. `environment`: what srun and sbatch need to find it."""

    @staticmethod
    def missing():
        """Why there can be none here; empty where there can."""
        lacking = ", ".join(p for p in PROGRAMS if not shutil.which(p))
        if lacking:
            return f"{lacking} not installed (apt-get install slurm-wlm munge)"
        return "not root" if os.geteuid() != 0 else ""

    def __init__(self, nodes=NODES, settings=""):
        """`settings`: more lines of slurm.conf."""
        self.nodes, self.settings = nodes, settings

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trainx-slurm-"))
        self.folder.chmod(0o755)        # munged refuses a socket that others cannot reach
        self.processes = {}             # by what they are: munged, slurmctld, a node
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if "slurmctld" in self.processes:
            subprocess.run(["scancel", "--user=root", "--signal=KILL"], env=self.environment,
                           capture_output=True, timeout=30)
            wait_until(lambda: not self.ask("squeue", "--noheader"), 20, raises=False)
        for process in reversed(self.processes.values()):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              timeout=30).stdout.strip()

    def begin(self, name, *command):
        with open(self.folder / f"{name}.out", "a") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    def begin_controller(self):
        self.begin("slurmctld", "slurmctld", "-D", "-i")

    def begin_node(self, node):
        self.begin(node, "slurmd", "-D", "-N", node)

    def kill(self, name):
        """kill -9 of the controller or of a node's slurmd."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def saves_state(self):
        """Whether the controller has written what it knows at this moment of all jobs, so that it
        knows it when it is started again; asked later."""
        state, now = self.folder / "state" / "job_state", time.time()
        return lambda: state.exists() and state.stat().st_mtime > now

    def tasks(self, node):
        """Processes of jobs on a node, and the slurmstepds above them."""
        found, daemons = [], set()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
                parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
                of_parent = pathlib.Path(f"/proc/{parent}/comm").read_text().strip()
            except OSError:
                continue
            if (f"SLURMD_NODENAME={node}".encode() in environment
                    and f"SLURM_CONF={self.environment['SLURM_CONF']}".encode() in environment):
                found.append(int(process.name))
                if of_parent.startswith("slurmstepd"):
                    daemons.add(parent)
        return found, daemons

    def kill_daemons(self, node):
        """Those of Slurm on a node; processes of jobs live on, which nobody can reach."""
        daemons = self.tasks(node)[1]
        self.kill(node)
        kill_all(daemons)

    def kill_node(self, node):
        """As a host ends that loses power: all at once, and nobody is told."""
        processes, daemons = self.tasks(node)
        self.kill(node)
        kill_all([*daemons, *processes])

    def start(self):
        f = self.folder
        (f / "munge.key").write_bytes(os.urandom(128))
        (f / "munge.key").chmod(0o600)
        (f / "state").mkdir()
        ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                          "CPUs=4 State=UNKNOWN" for node, port in zip(self.nodes, ports[1:]))
        (f / "slurm.conf").write_text(CONF.format(host=host, folder=f, ports=ports, nodes=nodes,
                                                  settings=self.settings))
        # Slurm asks what cgroups there are even where it uses none, and where none are mounted, or
        # no systemd answers, its nodes end. Those of version 1 are asked nothing.
        (f / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.begin("munged", "munged", "--foreground", "--force", f"--key-file={f}/munge.key",
                   f"--socket={f}/munge.socket", f"--pid-file={f}/munge.pid",
                   f"--log-file={f}/munge.log", f"--seed-file={f}/munge.seed")
        wait_until(lambda: (f / "munge.socket").exists(), 20)
        self.begin_controller()
        for node in self.nodes:
            self.begin_node(node)
        wait_until(self.is_idle, 60)

    def is_idle(self):
        states = self.ask("sinfo", "--noheader", "--Node", "--partition=all", "--format=%t")
        return states.split() == len(self.nodes) * ["idle"]


def kill_all(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def wait_until(true, seconds, raises=True):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            if raises:
                raise RuntimeError("the cluster did not come up")
            return
        time.sleep(0.1)


def main():
    if problem := Cluster.missing():
        sys.exit(problem)
    with Cluster() as cluster:
        try:
            sys.exit(subprocess.run(sys.argv[1:] or ["sinfo"], env=cluster.environment).returncode)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
