"""trainx import: files that transformers writes itself, and those of DeepSpeed, Accelerate, Axolotl
and torchtune, become recipes that validate and train."""
import json
import unittest

import reference
from support import Trainx, main

SMALL = [
    "model.options={num_layers: 1, num_heads: 1, hidden_size: 16}", "data.samples=64",
    "data.eval_samples=8"
]
CHOSEN = ["--model", "gpt2", "--data", "stories", "--sequence-length", "16"]
# As accelerate config and DeepSpeed's documentation have them, with values of our own.
DEEPSPEED = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "steps_per_print": 100,
    "bf16": {"enabled": "auto"},
    "optimizer": {
        "type": "AdamW",
        "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}
    },
    "scheduler": {
        "type": "WarmupDecayLR", "params": {
            "warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto",
            "total_num_steps": "auto", "warmup_type": "linear"
        }
    },
    "zero_optimization": {
        "stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": True},
        "allgather_partitions": True, "overlap_comm": True, "reduce_bucket_size": 5e8
    },
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
AXOLOTL = """\
base_model: openai-community/gpt2
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
val_set_size: 0.1
output_dir: ./runs/axolotl
adapter: lora
lora_r: 8
lora_alpha: 16
lora_target_linear: true
relora: true
sequence_len: 16
micro_batch_size: 2
gradient_accumulation_steps: 2
num_epochs: 1
max_steps: 4
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
learning_rate: 1e-3
warmup_steps: 2
bf16: true
tf32: true
gradient_checkpointing: true
logging_steps: 1
evals_per_epoch: 4
saves_per_epoch: 1
wandb_project:
"""
TORCHTUNE = """\
output_dir: runs/torchtune
model:
  _component_: torchtune.models.llama3_2.llama3_2_1b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/tokenizer.model
  max_seq_len: 16
dataset:
  _component_: torchtune.datasets.alpaca_dataset
batch_size: 2
epochs: 1
max_steps_per_epoch: 3
gradient_accumulation_steps: 2
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-4
enable_activation_checkpointing: True
dtype: bf16
device: cpu
metric_logger:
  _component_: torchtune.training.metric_logging.TensorBoardLogger
  log_dir: ${output_dir}/logs
log_every_n_steps: 1
"""


class Import(Trainx):
    forks = True

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
        return {key: value["value"]
                for key, value in shown.items()
                }, {row["key"]: row["why"]
                    for row in answer["not_mapped"]}

    @unittest.skipUnless(
        reference.PYTHON,
        "TRAINX_REFERENCE_PYTHON names no python with torch and transformers (scripts/setup --reference installs one)"
    )
    def test_what_transformers_writes_trains(self):
        cases = {
            "defaults": {},
            "cosine": {
                "max_steps": 6, "learning_rate": 3e-3, "lr_scheduler_type": "cosine",
                "warmup_steps": 2, "per_device_train_batch_size": 2,
                "gradient_accumulation_steps": 3, "weight_decay": 0.1, "adam_beta2": 0.95,
                "logging_steps": 1, "save_steps": 3, "save_total_limit": 2,
                "eval_strategy": "steps", "eval_steps": 3, "seed": 5, "gradient_checkpointing": True
            },
            "wsd": {
                "max_steps": 8, "lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": {
                    "num_decay_steps": 3, "decay_type": "1-sqrt"
                }, "warmup_steps": 0.25, "optim": "sgd", "optim_args": "momentum=0.9",
                "logging_steps": 1, "save_strategy": "no"
            },
            "epochs": {
                "num_train_epochs": 2, "per_device_train_batch_size": 16,
                "lr_scheduler_type": "cosine_with_restarts", "lr_scheduler_kwargs": {
                    "num_cycles": 2
                }, "logging_strategy": "epoch", "save_strategy": "epoch", "full_determinism": True,
                "dataloader_num_workers": 2, "max_grad_norm": 0.5, "report_to": "none"
            },
        }
        written = [[
            str(self.folder / f"{name}.json"),
            {"output_dir": f"runs/{name}", "use_cpu": True, **arguments}
        ] for name, arguments in cases.items()]
        reference.ask(self, "reference_training_arguments.py", asks=written, cwd=self.folder)
        settings = {}
        for name in cases:
            with self.subTest(name):
                settings[name], left = self.imported(f"{name}.json", out=f"{name}.yaml")
                self.assertEqual(list(left), ["save_strategy"] if name == "wsd" else [])
                self.run_trainx("validate", f"{name}.yaml")
                self.run_trainx("train", f"{name}.yaml", *SMALL,
                                *(["run.duration=2 steps"] if name == "defaults" else []))
                self.assertTrue(
                    (self.folder / "runs" / name / "latest" / "model.safetensors").exists())
        self.assertEqual(
            {
                k: settings["defaults"][k]
                for k in ("run.duration", "optimizer.lr", "optimizer.options.weight_decay",
                          "schedule.type", "batch.global_batch_size")
            }, {
                "run.duration": "3 epochs", "optimizer.lr": "5e-5",
                "optimizer.options.weight_decay": "0", "schedule.type": "linear",
                "batch.global_batch_size": "8"
            })
        self.assertEqual(
            {
                k: settings["cosine"][k]
                for k in ("batch.global_batch_size", "batch.grad_accum_steps", "schedule.warmup",
                          "memory.activation_checkpoint", "eval.every", "checkpoint.keep_last")
            }, {
                "batch.global_batch_size": "6", "batch.grad_accum_steps": "3",
                "schedule.warmup": "2 steps", "memory.activation_checkpoint": "full",
                "eval.every": "3 steps", "checkpoint.keep_last": "2"
            })
        lines = [
            json.loads(line)
            for line in (self.folder / "runs/cosine/metrics.jsonl").read_text().splitlines()
        ]
        self.assertEqual([round(m["lr"], 9) for m in lines if "loss" in m][:3],
                         [0.0015, 0.003, 0.003])
        self.assertEqual((settings["wsd"]["schedule.warmup"], settings["wsd"]["schedule.decay"],
                          settings["wsd"]["optimizer.options.momentum"]),
                         ("2 steps", "3 steps", "0.9"))
        self.assertEqual((settings["epochs"]["schedule.cycles"], settings["epochs"]["data.workers"],
                          settings["epochs"]["run.deterministic"]), ("2", "2", "true"))

    def test_deepspeed_and_accelerate_go_with_training_arguments(self):
        arguments = self.file(
            "args.json", {
                "output_dir": "runs/ds", "max_steps": 4, "per_device_train_batch_size": 2,
                "gradient_accumulation_steps": 2, "learning_rate": 1e-3, "warmup_steps": 2,
                "logging_steps": 1, "use_cpu": True, "deepspeed": "ds.json"
            })
        settings, left = self.imported(arguments, self.file("ds.json", DEEPSPEED), "--world", "2")
        self.assertEqual((settings["batch.global_batch_size"], settings["schedule.type"],
                          settings["schedule.warmup"], settings["optimizer.lr"]),
                         ("8", "linear", "2 steps", "0.001"))
        self.assertIn(
            "mode: zero2",
            (self.folder /
             "imported.yaml").read_text())  # of one rank the same as single, which `show` says
        self.assertEqual((settings["memory.optimizer_offload.where"], left), ("cpu", {}))
        self.run_trainx("train", "imported.yaml", *SMALL)
        self.assertGreaterEqual(
            len((self.folder / "runs/ds/metrics.jsonl").read_text().splitlines()), 4)

        arguments = self.file("plain.json", {
            "output_dir": "runs/acc", "max_steps": 4, "per_device_train_batch_size": 2,
            "use_cpu": True
        })
        settings, left = self.imported(self.file("acc.yaml", ACCELERATE), arguments,
                                       out="acc_recipe.yaml")
        self.assertEqual((settings["batch.global_batch_size"], settings["precision.compute"]),
                         ("4", "bf16"))
        self.assertIn("mode: zero2", (self.folder / "acc_recipe.yaml").read_text())
        self.assertEqual(set(left), {"num_processes"})
        self.run_trainx("train", "acc_recipe.yaml", *SMALL)

    def test_axolotl_and_torchtune_train(self):
        # What must not pass unread: another model, adapters and data come first, each by name.
        for text, name, model, differs, weights in (
            (AXOLOTL, "axolotl", "base_model", ["relora"], "adapter_model.safetensors"),
            (TORCHTUNE, "torchtune", "model._component_", ["model._component_"],
             "model.safetensors")):
            with self.subTest(name):
                path = self.file(f"{name}.yaml", text)
                done = self.run_trainx("import", path, *CHOSEN, "--json")
                answer = json.loads(done.stdout)
                self.assertEqual([row["key"] for row in answer["not_mapped"] if row["differs"]],
                                 differs)
                self.assertEqual([row["key"] for row in answer["not_mapped"]][:1], differs)
                self.assertIn(model, [row["key"] for row in answer["not_mapped"]])
                settings, left = self.imported(path, out=f"{name}_recipe.yaml")
                self.assertEqual(
                    (settings["batch.global_batch_size"], settings["batch.micro_batch_size"],
                     settings["precision.compute"]), ("4", "2", "bf16"))
                self.assertEqual(
                    (settings["memory.activation_checkpoint"], settings["metrics.every"]),
                    ("full", "1 step"))
                self.run_trainx("validate", f"{name}_recipe.yaml")
                self.run_trainx("train", f"{name}_recipe.yaml", "run.device=cpu", *SMALL)
                self.assertTrue((self.folder / "runs" / name / "latest" / weights).exists())
        self.assertEqual(settings["metrics.tensorboard"], "true")

    def test_the_guides_mrpc_arguments_train_a_classifier(self):
        rows = "".join(
            json.dumps({"input_ids": [101, 5 + i % 7, 102], "label": i % 2}) + "\n"
            for i in range(32))
        self.file("train.jsonl", rows)
        self.file("dev.jsonl", rows.replace("101", "103"))
        arguments = self.file(
            "mrpc.json", {
                "model_name_or_path": "bert-base-cased", "task_name": "mrpc", "do_train": True,
                "do_eval": True, "max_seq_length": 16, "per_device_train_batch_size": 8,
                "learning_rate": 2e-5, "max_steps": 3, "output_dir": "runs/mrpc",
                "overwrite_output_dir": True, "use_cpu": True
            })
        settings, left = self.imported(
            arguments,
            chosen=["--model", "bert", "--data", "train.jsonl", "--eval-data", "dev.jsonl"])
        self.assertEqual((settings["model.options.task"], settings["model.options.num_labels"],
                          settings["eval.every"]), ("classification", "2", "3 steps"))
        self.assertEqual(set(left), {"model_name_or_path", "overwrite_output_dir"})
        self.run_trainx("train", "imported.yaml", "model.options.num_layers=1",
                        "model.options.num_heads=1", "model.options.hidden_size=16",
                        "model.options.vocab_size=128")
        metrics = (self.folder / "runs/mrpc/metrics.jsonl").read_text()
        self.assertIn("accuracy", metrics)

    def test_files_of_other_kinds_are_refused(self):
        for contents in ({
                "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "use_cache": True
        }, {"log_history": [], "global_step": 3, "max_steps": 3}, {"name": "x", "scripts": {}}):
            done = self.run_trainx("import", self.file("other.json", contents), expect=65)
            self.assertIn("other.json", done.stderr)
        for contents in ({"tf32": True}, {"gradient_accumulation_steps": 4},
                         {"deepspeed": "ds.json"}):
            self.run_trainx("import", self.file("one.json", contents))

    def test_deepspeed_alone(self):
        config = {
            **DEEPSPEED, "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2,
            "gradient_accumulation_steps": 2, "gradient_clipping": 0.5, "bf16": {"enabled": False},
            "zero_optimization": {"stage": 0}, "optimizer": {
                "type": "AdamW",
                "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
            }, "scheduler": {
                "type": "WarmupCosineLR", "params": {
                    "warmup_num_steps": 2, "total_num_steps": 6, "cos_min_ratio": 0.1,
                    "warmup_type": "linear"
                }
            }
        }
        settings, left = self.imported(self.file("ds.json", config))
        self.assertEqual(left, {})
        self.assertEqual((settings["run.duration"], settings["schedule.final_ratio"],
                          settings["optimizer.max_grad_norm"], settings["batch.grad_accum_steps"]),
                         ("6 steps", "0.1", "0.5", "4"))
        self.run_trainx("train", "imported.yaml", *SMALL)

    def test_a_model_folder_and_a_file(self):
        tiny = self.recipe(
            "run: {name: tiny, duration: 2 steps, device: cpu}\nmodel: {type: gpt2, options: {num_layers: 1, num_heads: 1, hidden_size: 16, max_positions: 32}}\n"
            "data: {type: text, train: text.txt, sequence_length: 16}\nbatch: {global_batch_size: 2, micro_batch_size: 2}\n"
        )
        self.file("text.txt", "some words to learn, again and again. " * 100)
        self.file("held_out.txt", "other words, not learnt but held out. " * 20)
        self.run_trainx("train", tiny)
        arguments = self.file(
            "args.json", {
                "output_dir": "next", "max_steps": 3, "per_device_train_batch_size": 2,
                "use_cpu": True, "eval_strategy": "epoch"
            })
        settings, left = self.imported(
            arguments, chosen=["--model", "outputs/tiny/latest", "--data", "text.txt"])
        self.assertEqual(
            (settings["model.init_from"], settings["data.type"], settings["data.sequence_length"]),
            ("outputs/tiny/latest", "text", "32"))
        self.assertEqual(set(left), {"eval_strategy"})
        self.run_trainx("train", "imported.yaml")
        settings, left = self.imported(
            arguments, chosen=[
                "--model", "outputs/tiny/latest", "--data", "text.txt", "--eval-data",
                "held_out.txt"
            ], out="with_eval.yaml")
        self.assertEqual((settings["eval.every"], left), ("1 epoch", {}))

    def test_placeholders_are_named_and_output_goes_where_it_belongs(self):
        arguments = self.file("args.json",
                              {"max_steps": 3, "learning_rat": 1, "torch_compile": True})
        done = self.run_trainx("import", arguments)
        self.assertIn(f" {arguments}:3:3: learning_rat: 1: ", done.stderr)
        self.assertIn(f" {arguments}:4:3: torch_compile: true: ", done.stderr)
        self.check_sentence("import.leftovers", done.stderr)
        self.assertIn("#   " + str(arguments) + ":4:3: torch_compile", done.stdout)
        self.file("r.yaml", done.stdout)
        self.assertEqual(set(self.refused("validate", "r.yaml").keys()),
                         {"model.init_from", "data.type", "data.sequence_length"})
        quiet = self.run_trainx("import", arguments, "--out", "written.yaml", "-q")
        self.assertEqual((quiet.stdout, quiet.stderr), ("", ""))
        self.assertEqual((self.folder / "written.yaml").read_text(), done.stdout)
        self.run_trainx("import", arguments, "--out", "written.yaml", expect=73)
        for case, args, code, names in (("missing", ["none.json"], 66, "none.json"), ("folder", [
                self.folder
        ], 2, str(self.folder)), ("no_file", [], 2, ""), ("no_model", [
                arguments, "--model", "no/such"
        ], 66, "no/such"), ("no_data", [arguments, "--data", "no.bin"], 66, "no.bin"), ("twice", [
                arguments, arguments
        ], 2, "TrainingArguments"), ("world", [arguments, "--world",
                                               "0"], 2, "--world"), ("no_json", [
                                                   self.file("bad.json", '{"max_steps": 3,}')
                                               ], 65, "bad.json:1:17")):
            done = self.run_trainx("import", *args, expect=code)
            self.assertIn(names, done.stderr)
            self.check_sentence(f"command.import/{case}", done.stderr)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))


if __name__ == "__main__":
    main()
