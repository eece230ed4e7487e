"""GPUs of two hosts, which one machine pretends to be: NCCL between them goes through sockets. The
losses and weights of one host to the bit in every mode; a rank that dies ends all. Of hosts with
two GPUs each, weights are gathered by copies within a host."""
import json
import os
import signal

from gpu_checks import needs_gpus, visible_gpus
from support import main
from two_hosts import HANG, KILLED, PEER_ENDED, TwoHosts

SIZES = "num_layers: 4, num_heads: 4, hidden_size: 256, max_positions: 128"
RECIPE = f"""\
run: {{name: r, seed: 3, duration: 20 steps, deterministic: true, hang_limit: {HANG} s}}
model: {{type: gpt2, options: {{{SIZES}}}}}
data: {{type: stories, sequence_length: 128, samples: 4096, eval_samples: 64}}
batch: {{global_batch_size: 48, micro_batch_size: 4}}
precision: {{compute: bf16}}
optimizer: {{type: adamw, lr: 1e-3}}
checkpoint: {{every: 10 steps}}
eval: {{every: 10 steps, batches: 1}}
metrics: {{every: 1 steps}}
"""
MODES = {mode: [f"parallel.mode={mode}"] for mode in ("dp", "ddp")} | {
    mode: [f"parallel.mode={mode}", "parallel.shard_ranks=2"]
    for mode in ("zero1", "zero2", "zero3")}
# Of NCCL: sockets between hosts that no faster network joins; and nothing else within them.
SOCKETS = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo", "NCCL_MNNVL_ENABLE": "0",
           "NCCL_NVLS_ENABLE": "0"}
APART = SOCKETS | {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}


class GpusOfHosts(TwoHosts):
    on_gpu = True
    nccl = {}                           # its variables on each host

    def setUp(self):
        super().setUp()
        self.config = self.recipe(RECIPE)

    def environment_of(self, number):
        gpus, each = visible_gpus()[:self.world], self.world // 2
        if number is None:
            return self.environment(CUDA_VISIBLE_DEVICES=",".join(gpus))
        return self.environment(
            CUDA_VISIBLE_DEVICES=",".join(gpus[each * number:each * (number + 1)]),
            NCCL_HOSTID=f"host{number}", TRAINX_LOG="debug", **self.nccl)


@needs_gpus(2)
class GpusOfTwoHosts(GpusOfHosts):
    world = 2
    nccl = APART

    def test_every_mode_has_the_bits_of_one_host(self):
        for mode, settings in MODES.items():
            with self.subTest(mode=mode):
                self.assert_bits_of_one_host(mode, settings)

    def test_the_network_is_measured_over_nccl(self):
        told = json.loads(self.measure_network("--json", ranks=1))
        self.assertEqual(told["transport"], "NCCL")
        self.assertTrue(all(host["gpus"] for host in told["hosts"]), told["hosts"])
        self.assertIn("NET/Socket", told["nccl"])
        for each in (*told["pairs"], told["all"], told["across"]):
            self.assertGreater(each["bytes_per_second"], 0)

    def test_a_rank_that_is_killed_ends_both_hosts(self):
        for mode in ("ddp", "zero3"):
            with self.subTest(mode=mode):
                started = self.start(f"killed-{mode}", *MODES[mode], "run.duration=1000000 steps",
                                     "checkpoint.every=1000000 steps")
                self.wait_for_training(f"killed-{mode}", started)
                os.kill(self.random.choice(self.workers()), signal.SIGKILL)
                self.assert_all_end(started, (PEER_ENDED, KILLED))


@needs_gpus(4)
class TwoGpusOfTwoHosts(GpusOfHosts):
    world = 4
    nccl = SOCKETS

    def test_shards_within_a_host_train_as_on_one(self):
        """Losses differ by rounding: sums of four ranks go round the ring in another order."""
        for mode in ("zero1", "zero3"):
            with self.subTest(mode=mode):
                self.train_on_one(f"{mode}-one", *MODES[mode])
                self.train(f"{mode}-two", *MODES[mode])
                logs = self.folder / "outputs" / f"{mode}-two" / "logs"
                for rank in range(self.world):
                    self.assertIn("gathers by copies", (logs / f"rank-{rank}.log").read_text())
                one, two = ([m["loss"] for m in self.metrics(f"{mode}-{name}") if "loss" in m]
                            for name in ("one", "two"))
                self.assertEqual(len(one), 20)
                for a, b in zip(one, two, strict=True):
                    self.assertLess(abs(a - b), 1e-6 * a, mode)


if __name__ == "__main__":
    main()
