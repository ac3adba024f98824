"""KoBEST (Jang et al. 2022, arXiv 2204.04541): five tasks, with public train, dev and test sets.

Nothing states how its authors fine-tuned, so the training values are this project's own.
"""

from __future__ import annotations

from klue.tasks.base import Task
from klue.tasks.kobest.boolq import BoolQ
from klue.tasks.kobest.copa import Copa
from klue.tasks.kobest.hellaswag import HellaSwag
from klue.tasks.kobest.sentineg import SentiNeg
from klue.tasks.kobest.wic import Wic

KOBEST: tuple[Task, ...] = (BoolQ(), Copa(), HellaSwag(), SentiNeg(), Wic())
