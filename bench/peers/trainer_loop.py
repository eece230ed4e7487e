"""Hugging Face's Trainer as a contestant: its own loop, with a callback after each step that begins and ends the rounds of session.py.

Its settings are the fastest that keep its maths: fused AdamW, no look at the loss on the host after each step, nothing saved or logged.
"""
import tempfile


def train(run, model, data, precision, **settings):
    """Until the driver has enough. `run`: a Session. `settings`: more TrainingArguments."""
    import torch
    import transformers

    class Rounds(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, control, **kwargs):
            control.should_training_stop = not run.after_step()

    class Trainer(transformers.Trainer):
        """Keeps the last loss, which the Trainer only adds up."""

        def training_step(self, *args, **kwargs):
            self.last_loss = super().training_step(*args, **kwargs)
            return self.last_loss

    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")       # high: what tf32=True sets
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(**{
            "output_dir": folder, "max_steps": 10**9, "learning_rate": 1e-5, "lr_scheduler_type": "constant", "optim": "adamw_torch_fused", "max_grad_norm": 1.0,
            "bf16": precision == "bf16", "fp16": precision == "fp16", "use_cpu": run.device.type == "cpu", "dataloader_pin_memory": run.device.type == "cuda",
            "save_strategy": "no", "logging_strategy": "no", "logging_nan_inf_filter": False, "report_to": "none", "disable_tqdm": True, "log_level": "error", **settings})
        trainer = Trainer(model=model, args=arguments, train_dataset=data, callbacks=[Rounds()])
        trainer.train()
    run.done(trainer.last_loss)
