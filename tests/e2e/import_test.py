"""trainx import: files that transformers writes itself, and DeepSpeed's and Accelerate's, become recipes that validate and train."""
import json
import os
import pathlib
import subprocess
import unittest

from support import Trainx, main

PYTHON = os.environ.get("TRAINX_REFERENCE_PYTHON", "")
SMALL = ["model.options={num_layers: 1, num_heads: 1, hidden_size: 16}", "data.samples=64", "data.eval_samples=8"]
CHOSEN = ["--model", "gpt2", "--data", "stories", "--sequence-length", "16"]
# As accelerate config and DeepSpeed's documentation have them, with values of our own.
DEEPSPEED = {
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 100,
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto", "warmup_type": "linear"}},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": True}, "allgather_partitions": True, "overlap_comm": True, "reduce_bucket_size": 5e8},
}
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  gradient_clipping: 1.0
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: false
  zero_stage: 2
distributed_type: DEEPSPEED
downcast_bf16: 'no'
enable_cpu_affinity: false
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 2
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: false
"""


class Import(Trainx):
    def file(self, name, contents):
        path = self.folder / name
        path.write_text(contents if isinstance(contents, str) else json.dumps(contents, indent=2))
        return path

    def imported(self, *files, out="imported.yaml", chosen=CHOSEN, more=()):
        """The recipe's settings and what was not mapped; the recipe lies in `out`."""
        done = self.run_trainx("import", *files, *chosen, *more, "--json")
        answer = json.loads(done.stdout)
        self.file(out, answer["recipe"])
        self.assertEqual(answer["missing"], [])
        shown = json.loads(self.run_trainx("show", out, "--json").stdout)
        return {key: value["value"] for key, value in shown.items()}, {row["key"]: row["why"] for row in answer["not_mapped"]}

    @unittest.skipUnless(PYTHON, "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)")
    def test_what_transformers_writes_trains(self):
        cases = {
            "defaults": {},
            "cosine": {"max_steps": 6, "learning_rate": 3e-3, "lr_scheduler_type": "cosine", "warmup_steps": 2, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 3, "weight_decay": 0.1,
                       "adam_beta2": 0.95, "logging_steps": 1, "save_steps": 3, "save_total_limit": 2, "eval_strategy": "steps", "eval_steps": 3, "seed": 5, "gradient_checkpointing": True},
            "wsd": {"max_steps": 8, "lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": {"num_decay_steps": 3, "decay_type": "1-sqrt"}, "warmup_steps": 0.25, "optim": "sgd",
                    "optim_args": "momentum=0.9", "logging_steps": 1, "save_strategy": "no"},
            "epochs": {"num_train_epochs": 2, "per_device_train_batch_size": 16, "lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {"num_cycles": 2}, "logging_strategy": "epoch",
                       "save_strategy": "epoch", "full_determinism": True, "dataloader_num_workers": 2, "max_grad_norm": 0.5, "report_to": "none"},
        }
        written = [[str(self.folder / f"{name}.json"), {"output_dir": f"runs/{name}", "use_cpu": True, **arguments}] for name, arguments in cases.items()]
        done = subprocess.run([PYTHON, pathlib.Path(__file__).with_name("reference_training_arguments.py")], input=json.dumps(written), capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        settings = {}
        for name in cases:
            with self.subTest(name):
                settings[name], left = self.imported(f"{name}.json", out=f"{name}.yaml")
                self.assertEqual(left, {"save_strategy": "a run's last step is always saved"} if name == "wsd" else {})
                self.run_trainx("validate", f"{name}.yaml")
                self.run_trainx("train", f"{name}.yaml", *SMALL, *(["run.duration=2 steps"] if name == "defaults" else []))
                self.assertTrue((self.folder / "runs" / name / "latest" / "model.safetensors").exists())
        self.assertEqual({k: settings["defaults"][k] for k in ("run.duration", "optimizer.lr", "optimizer.options.weight_decay", "schedule.type", "batch.global_batch_size")},
                         {"run.duration": "3 epochs", "optimizer.lr": "5e-5", "optimizer.options.weight_decay": "0", "schedule.type": "linear", "batch.global_batch_size": "8"})
        self.assertEqual({k: settings["cosine"][k] for k in ("batch.global_batch_size", "batch.grad_accum_steps", "schedule.warmup", "memory.activation_checkpoint", "eval.every", "checkpoint.keep_last")},
                         {"batch.global_batch_size": "6", "batch.grad_accum_steps": "3", "schedule.warmup": "2 steps", "memory.activation_checkpoint": "full", "eval.every": "3 steps", "checkpoint.keep_last": "2"})
        lines = [json.loads(line) for line in (self.folder / "runs/cosine/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([round(m["lr"], 9) for m in lines if "loss" in m][:3], [0.0015, 0.003, 0.003])
        self.assertEqual((settings["wsd"]["schedule.warmup"], settings["wsd"]["schedule.decay"], settings["wsd"]["optimizer.options.momentum"]), ("2 steps", "3 steps", "0.9"))
        self.assertEqual((settings["epochs"]["schedule.cycles"], settings["epochs"]["data.workers"], settings["epochs"]["run.deterministic"]), ("2", "2", "true"))

    def test_deepspeed_and_accelerate_go_with_training_arguments(self):
        arguments = self.file("args.json", {"output_dir": "runs/ds", "max_steps": 4, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "learning_rate": 1e-3, "warmup_steps": 2,
                                            "logging_steps": 1, "use_cpu": True, "deepspeed": "ds.json"})
        settings, left = self.imported(arguments, self.file("ds.json", DEEPSPEED), "--world", "2")
        self.assertEqual((settings["batch.global_batch_size"], settings["schedule.type"], settings["schedule.warmup"], settings["optimizer.lr"]), ("8", "linear", "2 steps", "0.001"))
        self.assertIn("mode: zero2", (self.folder / "imported.yaml").read_text())   # of one rank the same as single, which `show` says
        self.assertEqual((settings["memory.optimizer_offload.where"], left), ("cpu", {}))
        self.run_trainx("train", "imported.yaml", *SMALL)
        self.assertGreaterEqual(len((self.folder / "runs/ds/metrics.jsonl").read_text().splitlines()), 4)

        arguments = self.file("plain.json", {"output_dir": "runs/acc", "max_steps": 4, "per_device_train_batch_size": 2, "use_cpu": True})
        settings, left = self.imported(self.file("acc.yaml", ACCELERATE), arguments, out="acc_recipe.yaml")
        self.assertEqual((settings["batch.global_batch_size"], settings["precision.compute"]), ("4", "bf16"))
        self.assertIn("mode: zero2", (self.folder / "acc_recipe.yaml").read_text())
        self.assertEqual(set(left), {"num_processes"})
        self.run_trainx("train", "acc_recipe.yaml", *SMALL)

    def test_deepspeed_alone(self):
        config = {**DEEPSPEED, "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2, "gradient_clipping": 0.5, "bf16": {"enabled": False}, "zero_optimization": {"stage": 0},
                  "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}},
                  "scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 2, "total_num_steps": 6, "cos_min_ratio": 0.1, "warmup_type": "linear"}}}
        settings, left = self.imported(self.file("ds.json", config))
        self.assertEqual(left, {})
        self.assertEqual((settings["run.duration"], settings["schedule.final_ratio"], settings["optimizer.max_grad_norm"], settings["batch.grad_accum_steps"]), ("6 steps", "0.1", "0.5", "4"))
        self.run_trainx("train", "imported.yaml", *SMALL)

    def test_a_model_folder_and_a_file(self):
        tiny = self.recipe("run: {name: tiny, duration: 2 steps, device: cpu}\nmodel: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 16, max_positions: 32}}\n"
                           "data: {type: text, train: text.txt, sequence_length: 16}\nbatch: {global_batch_size: 2, micro_batch_size: 2}\n")
        self.file("text.txt", "some words to learn, again and again. " * 100)
        self.file("held_out.txt", "other words, not learnt but held out. " * 20)
        self.run_trainx("train", tiny)
        arguments = self.file("args.json", {"output_dir": "next", "max_steps": 3, "per_device_train_batch_size": 2, "use_cpu": True, "eval_strategy": "epoch"})
        settings, left = self.imported(arguments, chosen=["--model", "outputs/tiny/latest", "--data", "text.txt"])
        self.assertEqual((settings["model.init_from"], settings["data.type"], settings["data.sequence_length"]), ("outputs/tiny/latest", "text", "32"))
        self.assertEqual(set(left), {"eval_strategy"})
        self.run_trainx("train", "imported.yaml")
        settings, left = self.imported(arguments, chosen=["--model", "outputs/tiny/latest", "--data", "text.txt", "--eval-data", "held_out.txt"], out="with_eval.yaml")
        self.assertEqual((settings["eval.every"], left), ("1 epoch", {}))

    def test_placeholders_are_named_and_output_goes_where_it_belongs(self):
        arguments = self.file("args.json", {"max_steps": 3, "learning_rat": 1, "torch_compile": True})
        done = self.run_trainx("import", arguments)
        self.assertIn("torch_compile: true: trainx has no compiler", done.stderr)
        self.assertIn(f"not mapped: {arguments}:3:3: learning_rat: 1: is no setting of TrainingArguments that trainx knows", done.stderr)
        self.assertIn("#   " + str(arguments) + ":4:3: torch_compile", done.stdout)
        self.file("r.yaml", done.stdout)
        refused = self.run_trainx("validate", "r.yaml", expect=78).stderr
        for key in ("model.init_from", "data.type", "data.sequence_length"):
            self.assertIn(f"{key}: has no value", refused)
        quiet = self.run_trainx("import", arguments, "--out", "written.yaml", "-q")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertEqual((self.folder / "written.yaml").read_text(), done.stdout)
        self.run_trainx("import", arguments, "--out", "written.yaml", expect=73)
        for args, code, says in ((["none.json"], 66, "none.json"), ([self.folder], 2, "folder"), ([], 2, "which file"), ([arguments, "--model", "no/such"], 66, "no/such"),
                                 ([arguments, "--data", "no.bin"], 66, "no.bin"), ([arguments, arguments], 2, "both of TrainingArguments"), ([arguments, "--world", "0"], 2, "--world"),
                                 ([self.file("bad.json", '{"max_steps": 3,}')], 65, "bad.json:1:17")):
            done = self.run_trainx("import", *args, expect=code)
            self.assertIn(says, done.stderr)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))


if __name__ == "__main__":
    main()
