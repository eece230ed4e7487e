"""Stands in for the controllers of Kubernetes: the pods that a manifest's job has, each with the
command and the variables that its containers get."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
READ = pathlib.Path(__file__).with_name("reference_manifests.py")
GPUS = "nvidia.com/gpu"


@dataclasses.dataclass
class Pod:
    job: dict                           # the Job's spec
    command: list                       # with variables in their places
    environment: dict

    @property
    def spec(self):
        return self.job["template"]["spec"]

    @property
    def container(self):
        (container,) = self.spec["containers"]
        return container


def documents(path):
    told = subprocess.run([PYTHON, READ, path], capture_output=True, text=True, check=True,
                          timeout=60)
    return json.loads(told.stdout)


def of_kind(manifests, kind, name=None):
    (found,) = [m for m in manifests
                if m["kind"] == kind and name in (None, m["metadata"]["name"])]
    return found


def resolved(word, environment):
    """Kubernetes leaves a variable that the container does not have as it is."""
    return re.sub(r"\$\((\w+)\)", lambda m: environment.get(m[1], m[0]), word)


def pods_of(job, command, variables):
    """Those of an Indexed Job."""
    pods = []
    for index in range(job["completions"]):
        environment = {"JOB_COMPLETION_INDEX": str(index), **variables(index)}
        pods.append(Pod(job, [resolved(word, environment) for word in command], environment))
    return pods


def pods_of_jobset(manifests):
    (replicated,) = of_kind(manifests, "JobSet")["spec"]["replicatedJobs"]
    job = replicated["template"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    return pods_of(job, container["command"], lambda index: {})


def pods_of_trainjob(manifests, resources=None):
    """`resources`: of a host, in the place of those that the TrainJob asks for."""
    asked = of_kind(manifests, "TrainJob")
    name, trainer, reference = asked["metadata"]["name"], asked["spec"]["trainer"], asked["spec"][
        "runtimeRef"]
    runtime = of_kind(manifests, reference["kind"], reference["name"])
    assert runtime["apiVersion"].split("/")[0] == reference["apiGroup"]
    assert "torch" in runtime["spec"]["mlPolicy"]
    (replicated,) = [r for r in runtime["spec"]["template"]["spec"]["replicatedJobs"]
                     if r["template"]["metadata"]["labels"]["trainer.kubeflow.org/"
                                                            "trainjob-ancestor-step"] == "trainer"]
    limits = resources or trainer["resourcesPerNode"]["limits"]
    workers = "auto" if int(limits.get(GPUS, 0)) else str(max(1, int(limits.get("cpu", 0))))
    hosts = trainer["numNodes"]
    job = {**replicated["template"]["spec"], "parallelism": hosts, "completions": hosts}
    return pods_of(job, trainer["command"], lambda index: {
        "PET_NNODES": str(hosts), "PET_NPROC_PER_NODE": workers, "PET_NODE_RANK": str(index),
        "PET_MASTER_ADDR": f"{name}-{replicated['name']}-0-0.{name}", "PET_MASTER_PORT": "29500"})
