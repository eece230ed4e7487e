"""Text from a model on a GPU: the CPU's greedy tokens, within the context and beyond it."""
import json

from gpu_checks import needs_gpus
from support import ROOT, Trainx, main



@needs_gpus(1)
class GenerateOnGpu(Trainx):
    on_gpu = True

    def generated(self, *args):
        return json.loads(
            self.run_trainx("generate", "outputs/run", "--prompt", "Once", *args, "--json").stdout)

    def test_greedy_tokens_are_the_cpus(self):
        self.run_trainx("train", ROOT / "configs" / "quickstart.yaml", "run.name=run",
                        "run.device=gpu", "run.duration=300 steps")
        length = self.generated("--max-tokens", "1")["context_length"]
        for tokens in (length // 2, length + 40):
            cpu, gpu = (self.generated("--temperature", "0", "--max-tokens", str(tokens),
                                       "--device", device) for device in ("cpu", "gpu"))
            self.assertEqual(cpu["ids"], gpu["ids"])
            self.assertIn("CPU", cpu["device"])
            self.assertNotIn("CPU", gpu["device"])
        seen = [self.generated("--seed", "3")["ids"] for _ in range(2)]
        self.assertEqual(*seen)

    def test_a_gpu_that_is_hidden_gives_way_to_the_cpu_unless_it_was_asked_for(self):
        self.run_trainx("train", ROOT / "configs" / "quickstart.yaml", "run.name=run",
                        "run.device=cpu", "run.duration=2 steps", "schedule.warmup=0 steps")
        hidden = self.environment(CUDA_VISIBLE_DEVICES="")
        self.assertIn(
            "CPU",
            json.loads(
                self.run_trainx("generate", "outputs/run", "--prompt", "Once", "--device", "auto",
                                "--json", env=hidden).stdout)["device"])
        self.assertIn(
            "GPU",
            self.run_trainx("generate", "outputs/run", "--prompt", "Once", "--device", "gpu",
                            env=hidden, expect=69).stderr)


if __name__ == "__main__":
    main()
