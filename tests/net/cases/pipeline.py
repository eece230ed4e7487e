"""Stages of ranks that have some of the layers each."""

from .base import BF16, case, ranks
from .decoders import FULL, family
from .encoders import encoder, seq2seq
