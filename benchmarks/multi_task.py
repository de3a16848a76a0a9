"""All simulated tasks in one training run, beside transformers' Trainer on the same tasks one by one."""

import contextlib
import io
import tempfile

import torch
from transformers import AlbertConfig, AlbertForSequenceClassification, Trainer, TrainingArguments
from transformers.utils import logging

from reasonlib.multi_task.data.datasets import load_simulated
from reasonlib.multi_task.data.encoding import encode
from reasonlib.multi_task.experiments.train import Recipe, train
from reasonlib.multi_task.models.encoder import load_encoder

TASKS = ("sentiment", "inference", "paraphrase")
EXAMPLES, BATCH = 160, 32


class Items(torch.utils.data.Dataset):
    """Encoded examples as the Trainer wants them."""

    def __init__(self, examples):
        self.examples = examples

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, number):
        example = self.examples[number]
        return {
            "input_ids": example.tokens[0],
            "token_type_ids": example.segments[0],
            "attention_mask": [1] * len(example.tokens[0]),
            "labels": int(example.label),
        }


def with_trainer(splits, encoder, tokenizer):
    """Fine-tune one classifier a task, an epoch each, with transformers' own loop and head."""
    from transformers import DataCollatorWithPadding

    arguments = {
        "num_train_epochs": 1, "per_device_train_batch_size": BATCH, "learning_rate": 1e-3,
        "max_grad_norm": 1.0, "lr_scheduler_type": "linear", "report_to": [], "save_strategy": "no",
        "logging_strategy": "no", "disable_tqdm": True, "use_cpu": True, "dataloader_pin_memory": False,
    }  # fmt: skip
    for split in splits:
        config = AlbertConfig(**{**encoder.config.to_dict(), "num_labels": len(split.task.labels)})
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            Trainer(
                model=AlbertForSequenceClassification(config),
                args=TrainingArguments(output_dir=folder, **arguments),
                train_dataset=Items(encode(split.train, tokenizer)),
                data_collator=DataCollatorWithPadding(tokenizer),
            ).train()


def comparisons():
    logging.set_verbosity_error()
    encoder, tokenizer = load_encoder()
    splits = [load_simulated(task, train=EXAMPLES, valid=4, test=4) for task in TASKS]
    recipe = Recipe(lr=1e-3, epochs=1, batch=BATCH, pair="linear", longest=64)
    name = f"{len(TASKS)} tasks of {EXAMPLES} examples, an epoch, one encoder for all"
    yield (
        name,
        "transformers' Trainer, one by one",
        lambda: train(recipe, splits, validate=False),
        lambda: with_trainer(splits, encoder, tokenizer),
    )
