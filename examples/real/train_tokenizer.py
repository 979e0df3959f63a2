# SPDX-License-Identifier: BSL-1.0
"""Trains a tokenizer of 1000 tokens on a text, for run_clm.toml: run_clm.py cannot make one, and those of the hub have to be downloaded.

usage: train_tokenizer.py TEXT FOLDER
"""
import sys

from tokenizers import ByteLevelBPETokenizer
from transformers import PreTrainedTokenizerFast

text, folder = sys.argv[1:]
tokenizer = ByteLevelBPETokenizer()
tokenizer.train([text], vocab_size=1000, special_tokens=["<|endoftext|>"], show_progress=False)
PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, eos_token="<|endoftext|>").save_pretrained(folder)
