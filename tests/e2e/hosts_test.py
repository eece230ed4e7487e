"""Ranks of two hosts, each with a network of its own: the losses and weights of one host to the
bit in every mode; a rank that dies and a cable that is cut end all, in a sentence; the same command
goes on."""
import os
import signal

from support import main, sampled
from two_hosts import HANG, KILLED, PEER_ENDED, STOOD_STILL, TwoHosts

WAITS = "for time limits of ranks"
RECIPE = f"""\
run: {{name: r, seed: 3, duration: 10 steps, deterministic: true, hang_limit: {HANG} s}}
model: {{type: gpt2, options: {{num_layers: 2, num_heads: 2, hidden_size: 32, max_positions: 32}}}}
data: {{type: stories, sequence_length: 32, samples: 512, eval_samples: 30}}
batch: {{global_batch_size: 24, micro_batch_size: 2}}
optimizer: {{type: adamw, lr: 3e-3, options: {{weight_decay: 0.1}}}}
checkpoint: {{every: 4 steps}}
eval: {{every: 5 steps, batches: 5}}
metrics: {{every: 1 steps}}
"""
STAGES = ("zero1", "zero2", "zero3")
# `auto` shards among the ranks of one host where there are two: other sums in another order.
MODES = {mode: [f"parallel.mode={mode}"] for mode in ("dp", "ddp")} | {
    mode: [f"parallel.mode={mode}", "parallel.shard_ranks=4"] for mode in STAGES} | {
    f"{mode} hybrid": [f"parallel.mode={mode}", "parallel.shard_ranks=2"] for mode in STAGES}


class RanksOfTwoHosts(TwoHosts):
    networks = True

    def setUp(self):
        super().setUp()
        print(f"  1 ms and 10 Gbit/s between hosts: {self.hosts.is_slow_link}")
        self.config = self.recipe(RECIPE)
        self.seed_setting = f"run.seed={self.random.randrange(1000)}"

    def environment_of(self, number):
        return self.environment(OMP_NUM_THREADS="1")

    @sampled
    def test_every_mode_has_the_bits_of_one_host(self):
        for mode in self.drawn(MODES, few=2):
            with self.subTest(mode=mode):
                self.assert_bits_of_one_host(mode, [*MODES[mode], self.seed_setting])
                self.assertIn("TCP", self.told(0))

    def test_a_rank_that_is_killed_ends_both_hosts(self):
        started = self.start("killed", "parallel.mode=zero3", "run.duration=100000 steps")
        self.wait_for_training("killed", started)
        os.kill(self.random.choice(self.workers()), signal.SIGKILL)
        self.assert_all_end(started, (PEER_ENDED, KILLED))

    def test_a_cut_cable_ends_both_hosts_and_the_same_command_goes_on(self):
        mode = self.random.choice(list(MODES))
        print(f"  {mode}")
        settings = [*MODES[mode], self.seed_setting, "run.duration=400 steps"]
        started = self.start("cut", *settings)
        self.wait_for_training("cut", started)
        self.hosts.cut_cable()
        self.assert_all_end(started, (PEER_ENDED, STOOD_STILL))
        self.hosts.mend_cable()
        self.train("cut", *settings)
        self.train_on_one("whole", *settings)
        self.assert_same("whole", "cut")


if __name__ == "__main__":
    main()
