# SPDX-License-Identifier: BSL-1.0
"""A small GPT-2 from scratch with the Trainer of transformers, as its users write one. It has no code for ration: packages.toml reads its output.

usage: language_model.py [STEPS]
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

WORDS, LENGTH, SENTENCES = 64, 32, 4000


def sentences():
    """Sequences in which each word has only a few likely successors."""
    successors = torch.softmax(3 * torch.randn(WORDS, WORDS), dim=1)
    words = [torch.randint(WORDS, (SENTENCES,))]
    while len(words) < LENGTH:
        words.append(torch.multinomial(successors[words[-1]], 1).squeeze(1))
    return [{"input_ids": row, "labels": row} for row in torch.stack(words, dim=1)]


def main():
    set_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
    arguments = TrainingArguments(output_dir="language_model", max_steps=int(sys.argv[1]) if len(sys.argv) > 1 else 3000, learning_rate=1e-3,
                                  per_device_train_batch_size=32, logging_steps=20, eval_strategy="steps", eval_steps=100, save_steps=500, save_total_limit=2,
                                  report_to=[], use_cpu=True, enable_jit_checkpoint=True)
    data = sentences()
    trainer = Trainer(model=model, args=arguments, train_dataset=data[200:], eval_dataset=data[:200])
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
