"""configs/cluster/jobset.yaml and trainjob.yaml: pods that get what the controllers of JobSet and
Kubeflow Trainer set train one run together. The controllers are stand-ins (pods.py); trainx and its
ranks are real, on CPUs."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import hosts
import pods
from ports import free_ports
from support import ROOT, TRAINX, Trainx, main, tiny

CONFIGS = ROOT / "configs" / "cluster"
ADDRESS = "127.0.0.1"
# Exit codes after which the same command may end otherwise: docs/cli.md has all of them.
RESTARTED = {0, 69, 74, 81, 82}
SAVED = {75, 143}
MOST_SECONDS = 120
NOTHING = "TRAINX_REFERENCE_PYTHON names no python that reads YAML (scripts/setup --reference)"


class Pods(Trainx):
    def setUp(self):
        super().setUp()
        self.config = self.recipe(tiny().replace("micro_batch_size: 4", "micro_batch_size: 2"))
        self.outputs = self.folder / "outputs"
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.running:
            process.kill()
            process.wait()

    def manifests(self, name):
        return pods.documents(CONFIGS / name)

    def jobs(self):
        """Each manifest's JobSet with its pods."""
        jobset, trainjob = self.manifests("jobset.yaml"), self.manifests("trainjob.yaml")
        return {"jobset.yaml": (pods.of_kind(jobset, "JobSet")["spec"],
                                pods.pods_of_jobset(jobset), jobset),
                "trainjob.yaml": (pods.of_kind(trainjob, "TrainingRuntime")["spec"]["template"]
                                  ["spec"], pods.pods_of_trainjob(trainjob), trainjob)}

    def environment(self, **more):
        env = {k: v for k, v in super().environment(OMP_NUM_THREADS="1").items()
               if not k.startswith("PET_")}
        return {**env, **more}

    def local(self, word):
        """A path of a container, as one of this machine."""
        word = word.replace("/recipe/recipe.yaml", self.config)
        return word.replace("/outputs", str(self.outputs))

    def start(self, started, address=ADDRESS, before=(), **more):
        """A trainx for each pod. They meet at `address` in the place of the first pod's name."""
        (port,) = free_ports(1)
        for number, pod in enumerate(started):
            names = {"PET_MASTER_ADDR": address, "PET_MASTER_PORT": str(port)}
            environment = self.environment(**{k: names.get(k, v)
                                              for k, v in pod.environment.items()}, **more)
            command = [TRAINX, *map(self.local, pod.command[1:])]
            if "--master-addr" in command:
                command[command.index("--master-addr") + 1] = address
                command += ["--master-port", str(port)]
            with open(self.errors(number), "wb") as errors:
                self.running.append(subprocess.Popen([*before, *command], cwd=self.folder,
                                                     stdout=subprocess.DEVNULL, stderr=errors,
                                                     env=environment))
        return self.running[-len(started):]

    def errors(self, number):
        return self.folder / f"errors-{number}"

    def told(self):
        return "".join(p.read_text() for p in sorted(self.folder.glob("errors-*")))

    def ends(self, started, code=0):
        self.assertEqual([process.wait(MOST_SECONDS) for process in started],
                         len(started) * [code], self.told())

    def wait_until(self, true):
        end = time.monotonic() + MOST_SECONDS
        while not true():
            self.assertLess(time.monotonic(), end, self.told())
            time.sleep(0.05)

    def trained(self, ranks, steps=20):
        self.assertEqual([m["step"] for m in self.metrics("tiny")][-1], steps)
        resolved = (self.outputs / "tiny" / "resolved.yaml").read_text()
        self.assertRegex(resolved, rf"world_size: {ranks}\b")


@unittest.skipUnless(pods.PYTHON, NOTHING)
class Manifests(Pods):
    """What trainx relies on in them."""

    def test_jobs_end_or_start_again_as_a_whole(self):
        table = (ROOT / "docs" / "cli.md").read_text().split("<!-- generated: exit-codes -->")[1]
        table = table.split("<!-- end generated -->")[0]
        codes = {int(n) for n in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
        for name, (spec, started, _) in self.jobs().items():
            with self.subTest(manifest=name):
                job, container = started[0].job, started[0].container
                self.assertEqual((job["backoffLimit"], job["completionMode"]), (0, "Indexed"))
                self.assertEqual(job["parallelism"], job["completions"])
                self.assertEqual(started[0].spec["restartPolicy"], "Never")
                gone, saved, broken = job["podFailurePolicy"]["rules"]
                self.assertEqual([r["action"] for r in (gone, saved, broken)], 3 * ["FailJob"])
                self.assertEqual(gone["onPodConditions"][0]["type"], "DisruptionTarget")
                for rule, wanted in ((saved, SAVED), (broken, codes - RESTARTED - SAVED)):
                    rule = rule["onExitCodes"]
                    self.assertEqual((rule["operator"], rule["containerName"]),
                                     ("In", container["name"]))
                    self.assertEqual(rule["values"], sorted(wanted), "Kubernetes wants an order")
                again, never = spec["failurePolicy"]["rules"]
                self.assertEqual((again["action"], never["action"]),
                                 ("RestartJobSetAndIgnoreMaxRestarts", "FailJobSet"))
                self.assertEqual([r["onJobFailureReasons"] for r in (again, never)],
                                 2 * [["PodFailurePolicy"]])
                self.assertGreater(spec["failurePolicy"]["maxRestarts"], 0)
                # the words of Kubernetes' Job controller
                for told, is_counted in (("condition DisruptionTarget", False),
                                         ("exit code 143", False), ("exit code 75", False),
                                         ("exit code 78", True), ("exit code 1", True)):
                    said = f"Pod a/b: {told} matching FailJob"
                    found = any(re.search(pattern, said)
                                for pattern in again["onJobFailureMessagePatterns"])
                    self.assertEqual(found, not is_counted, said)

    def test_pods_share_a_folder_and_have_memory_for_nccl(self):
        for name, (_, started, manifests) in self.jobs().items():
            with self.subTest(manifest=name):
                spec, container = started[0].spec, started[0].container
                volumes = {v["name"]: v for v in spec["volumes"]}
                mounts = {m["mountPath"]: volumes[m["name"]] for m in container["volumeMounts"]}
                claim = pods.of_kind(manifests, "PersistentVolumeClaim")
                self.assertEqual(mounts["/outputs"]["persistentVolumeClaim"]["claimName"],
                                 claim["metadata"]["name"])
                self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteMany"])
                self.assertIn("configMap", mounts["/recipe"])
                self.assertEqual(mounts["/dev/shm"]["emptyDir"]["medium"], "Memory")
                self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], 60)
                self.assertIn("run.output_dir=/outputs", started[0].command)
                self.assertIn("/recipe/recipe.yaml", started[0].command)

    def test_hosts_are_counted_alike_wherever_they_are_named(self):
        manifests = self.manifests("jobset.yaml")
        started = pods.pods_of_jobset(manifests)
        name = pods.of_kind(manifests, "JobSet")["metadata"]["name"]
        for number, pod in enumerate(started):
            flags = dict(zip(pod.command, pod.command[1:]))
            self.assertEqual(flags["--nnodes"], str(len(started)))
            self.assertEqual(flags["--node-rank"], str(number))
            self.assertEqual(flags["--master-addr"], f"{name}-workers-0-0.{name}")
            self.assertEqual(pod.container["resources"]["limits"][pods.GPUS], 8)


@unittest.skipUnless(pods.PYTHON, NOTHING)
class Jobs(Pods):
    def test_pods_of_a_jobset_train_together(self):
        started = pods.pods_of_jobset(self.manifests("jobset.yaml"))
        self.ends(self.start(started))
        self.trained(len(started))
        secret = self.outputs / ".tiny.secret"
        self.assertEqual(secret.stat().st_mode & 0o777, 0o600)

    def test_pods_of_a_trainjob_train_together(self):
        # a host without GPUs has a worker for each CPU
        started = pods.pods_of_trainjob(self.manifests("trainjob.yaml"), {"cpu": 2})
        self.ends(self.start(started))
        self.trained(2 * len(started))

    def test_a_pod_that_is_evicted_makes_all_save_and_the_next_start_goes_on(self):
        started = self.start(pods.pods_of_trainjob(self.manifests("trainjob.yaml")),
                             TRAINX_SET="run.duration=100000 steps")
        path = self.outputs / "tiny" / "metrics.jsonl"
        self.wait_until(lambda: path.exists() and path.read_text().count("\n") > 4)
        self.random.choice(started).send_signal(signal.SIGTERM)
        self.ends(started, 128 + signal.SIGTERM)
        saved = self.status("tiny")["step"]
        steps = saved + 10
        self.ends(self.start(pods.pods_of_trainjob(self.manifests("trainjob.yaml")),
                             TRAINX_SET=f"run.duration={steps} steps"))
        self.trained(2, steps)

    def test_a_wrong_recipe_ends_all_pods_with_a_code_that_fails_the_job(self):
        pathlib.Path(self.config).write_text("run: {nam: x}\n")
        started = pods.pods_of_jobset(self.manifests("jobset.yaml"))
        self.ends(self.start(started), 78)
        self.assertIn(78, started[0].job["podFailurePolicy"]["rules"][-1]["onExitCodes"]["values"])

    def test_other_commands_in_a_pod(self):
        (_, second) = pods.pods_of_trainjob(self.manifests("trainjob.yaml"), {"cpu": 2})
        environment = self.environment(**second.environment)
        shown = self.run_trainx("show", self.config, env=environment).stdout
        self.assertRegex(shown, r"world_size: 4\b")
        for key, *words in (("pods.sweep", "sweep", self.config, "optimizer.lr=1e-3,3e-4"),
                            ("pods.bench_lr", "bench", "lr", self.config),
                            ("pods.rehearse", "train", self.config, "--rehearse")):
            self.refused(*words, code=2, names="PET_NNODES", sentence=key, env=environment)
        self.refused("train", self.config, "parallel.world_size=2", code=78,
                     key="parallel.world_size", sentence="pods.world_size", env=environment)

    @unittest.skipUnless(shutil.which("unshare") and os.geteuid() == 0, "namespaces need root")
    def test_a_name_that_is_known_late_is_waited_for(self):
        if why := hosts.why_not(self.folder):
            self.skipTest(why)
        manifests = self.manifests("jobset.yaml")
        name = pods.of_kind(manifests, "JobSet")["metadata"]["name"]
        address = f"{name}-workers-0-0.{name}"
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n")
        started = self.start(pods.pods_of_jobset(manifests), address,
                             ("unshare", "--mount", "sh", "-c",
                              f'mount --bind "{names}" /etc/hosts && exec "$@"', "sh"))
        self.wait_until(lambda: all(address in self.errors(k).read_text()
                                    for k in range(len(started))))
        with open(names, "a") as file:
            file.write(f"127.0.0.1 {address}\n")
        self.ends(started)
        self.trained(len(started))


if __name__ == "__main__":
    main()
