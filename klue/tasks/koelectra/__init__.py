"""The tasks of the table that KoELECTRA's README prints, in its order; its Naver NER is not offered.

Training values are those of its code, finetune/config/TASK/koelectra-base-v3.json; they are the same for large models.
"""

from __future__ import annotations

from klue.tasks.base import Task
from klue.tasks.koelectra.hate_speech import HateSpeech
from klue.tasks.koelectra.kornli import KorNli
from klue.tasks.koelectra.korquad import KorQuad
from klue.tasks.koelectra.korsts import KorSts
from klue.tasks.koelectra.nsmc import Nsmc
from klue.tasks.koelectra.paws_x import PawsX
from klue.tasks.koelectra.question_pair import QuestionPair

KOELECTRA: tuple[Task, ...] = (Nsmc(), PawsX(), KorNli(), KorSts(), QuestionPair(), KorQuad(), HateSpeech())
