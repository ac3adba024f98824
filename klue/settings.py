"""Settings of fine-tuning and scoring on the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from common.errors import UserError
from common.settings import Settings, dump_settings, place, runtime
from klue.tasks import (
    OWN,
    SUITE_OF,
    TASKS,
    add_own,
    canonical,
    names_of,
    problem_with,
    problem_with_suite,
    suite_folder,
)
from klue.tasks.base import Task
from klue.tasks.own import OwnTask

AUTHORS_PARSER_WIDTH = 768
"""Width of the LSTMs of KLUE-DP's parser in the authors' code."""


class FineTuneSettings(Settings):
    """How a model is fine-tuned; a value left out is the benchmark authors' for the task and the model's size."""

    epochs: int | None = Field(None, ge=1)
    """Passes over the train examples. Authors: YNAT and STS 4, NLI, MRC and WoS 5, NER and RE 3, DP 10; with a large
    model RE 10, DP 15."""
    learning_rate: float | None = Field(None, gt=0)
    """Peak learning rate of AdamW (eps 1e-8). Authors: 5e-5, MRC and WoS 3e-5; with a large model (hidden ≥ 1024)
    STS, RE and WoS 2e-5, NER 1e-5."""
    global_batch: int | None = Field(None, ge=1)
    """Examples per step (MRC: windows). Authors: 32, MRC and WoS 16; with a large model RE 16, NER 8."""
    warmup_share: float | None = Field(None, ge=0, le=1)
    """Share of the steps over which the rate rises linearly; then it falls linearly to 0.
    Authors: 0.1, NER and MRC 0; with a large model 0.2 for YNAT, NLI, RE and DP."""
    weight_decay: float | None = Field(None, ge=0)
    """Decoupled decay of all weights but biases and layer norms. Authors: 0, WoS 0.01."""
    max_seq_len: int | None = Field(None, ge=8)
    """Tokens to which an example is truncated, special tokens included; MRC: tokens of a window. Authors: 128, RE and
    DP 256, NER, MRC and WoS 510. If the model has fewer positions, their number is the limit."""
    evaluations_per_epoch: int | None = Field(None, ge=1)
    """How often the dev examples are scored per epoch, at even intervals and at its end. Authors: 4."""
    patience: int | None = Field(None, ge=0)
    """Evaluations without a better score after which training ends early; 0 = never. Authors: STS, NLI and NER 5, all
    other tasks never."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout of the encoder's states and of the head's input in training, wherever the model's configuration has a
    dropout. None, as in the authors' code: the configuration's value, which is 0 for a model pretrained without
    dropout. The parser's own layers keep their 0.33."""
    metric_for_best_model: str | None = None
    """Metric by which the best evaluation on dev is chosen: a key of the task's scores (accuracy, rouge_w_as_published
    …). None takes the authors' metric, with two differences: for NER, DP and MRC it is the score as defined, not as
    published, and for DP of a large model it is LAS, not UAS."""
    class_weights: bool | None = None
    """Weigh classes in the loss by how rare they are (n / (classes × examples of the class)). Authors: no. Tasks of
    `own`: with macro F1, where the most frequent class has ten times as many examples as the rarest, or more."""
    max_train_examples: int | None = Field(None, ge=1)
    """Maximum number of train examples, the same ones for every seed; None = all."""


class TaskSettings(FineTuneSettings):
    """How a model is fine-tuned for one task."""

    pos_tags: bool | None = None
    """klue-dp: give the parser the gold part of speech of each word's last morpheme, when training and when scoring.
    Authors: yes. Other text has no gold tags: without them the score shows what a parser of plain text reaches."""
    parser_width: int | None = Field(None, ge=8)
    """klue-dp: width of the parser's LSTMs; arcs are scored with two thirds of it and labels with a third. Authors:
    768. For a much narrower model, a parser of this width takes most of the time and learns nearly as much from
    random weights."""
    texts_only: bool | None = None
    """wos: train the decoder only on slots whose value is text, since only these are written in prediction. Authors:
    no, the decoder also learns `none`, `yes` and so on, which is most of the work of a step."""


OF_ONE_TASK = {"pos_tags": "klue-dp", "parser_width": "klue-dp", "texts_only": "wos"}
"""Settings that only one task has."""


class KlueSettings(Settings):
    """Fine-tuning on the benchmarks' tasks and scoring on their dev and test sets."""

    data: str | None = place(None)
    """Folder with KLUE's files, in the official layout (ynat-v1.1/ynat-v1.1_dev.json …) or as the hub's dataset `klue`
    has them (ynat/validation-00000-of-00001.parquet …); or the data set's name on the hub, klue/klue. Tasks of `own`
    need none."""
    benchmarks: str | None = place(None)
    """Folder, or data set on the hub, with the files of the other suites. KoBEST's files are in kobest/
    (kobest/BoolQ/train.tsv …). The tasks of KoELECTRA's table have one folder each (korsts/sts-train.tsv …), directly
    here or in koelectra/. None = `data`."""
    suites: list[str] = Field(["klue"])
    """Suites to run: klue, the eight tasks of KLUE; kobest, the five of KoBEST; koelectra, those of KoELECTRA's table:
    NSMC, PAWS-X, KorNLI, KorSTS, question pair, KorQuAD 1.0 and hate speech. Their sentences are removed from the
    corpus, as KLUE's are."""
    own: list[OwnTask] = Field([])
    """Your own tasks: labelled examples in files. They are run, shown and kept out of the corpus as benchmarks are."""
    tasks: list[str] = Field([], validate_default=True)
    """Tasks to run, of any suite, with or without the suite's name (sts, klue-sts); by default all tasks of `suites`,
    and `own`."""
    seeds: int | list[int] = Field([42])
    """Seeds to fine-tune with, one job per seed: a list, or a number n for 42, 43, … 41+n. The authors' seed is 42."""
    baseline_random: bool = False
    """Also fine-tune the same architecture from random initialisation, with the same tokenizer, settings and seeds: the
    difference shows what pretraining gains. Off by default, since it doubles the work."""
    training: FineTuneSettings = FineTuneSettings()
    """Changes to the authors' values, for every task."""
    per_task: dict[str, TaskSettings] = Field({})
    """Changes for a task alone, by its name; they override `training`: {ynat: {epochs: 3}}."""
    search: Literal["none", "small", "grid"] = "none"
    """Training values to try for every task, initialisation and seed. none: only those of the sections above. small:
    these with learning rates 1e-5, 2e-5, 3e-5 and 5e-5. grid: the paper's 384 sets, of these learning rates, warm-up 0,
    0.1, 0.2, 0.6, weight decay 0, 0.01, batch 8, 16, 32 and epochs 3, 4, 5, 10. A value that a section states is not
    varied. The set with the best mean over seeds of `metric_for_best_model` on dev is reported, as in the paper."""
    keep_head: bool = False
    """Keep the head of a fine-tuned model, for more training on the same task. Off: a new head is drawn from the seed,
    whatever the model was fine-tuned for."""
    published: bool = runtime(True)
    """Show the paper's dev scores next to these. Turn it off for data that is not the benchmark itself."""
    save_model: Literal["none", "best"] = runtime("none")
    """best: every job saves its model from the best evaluation on dev in jobs/NAME/model, for `hunmin klue predict`.
    Each is as large as the model in single precision."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where jobs run: auto = on the GPUs, if there are any. Single precision on CPU, bfloat16 autocast on GPU."""
    workers: int | None = runtime(None, ge=0)
    """Number of concurrent jobs. None = as many as fit into the memory of the GPUs, at most 8 per GPU; without GPUs,
    one for every `threads` cores. 0 = jobs run one after another in the command's own process, for a debugger or a
    profiler."""
    threads: int = Field(1, ge=1)
    """CPU threads per job. Another number may change the last digits, so the default does not depend on the machine."""

    @field_validator("suites")
    @classmethod
    def _suites_exist(cls, suites: list[str]) -> list[str]:
        for problem in filter(None, map(problem_with_suite, suites)):
            raise ValueError(problem)
        if len(set(suites)) < len(suites) or not suites:
            raise ValueError("name one or more suites, each once")
        return suites

    @field_validator("own")
    @classmethod
    def _own_are_known(cls, own: list[OwnTask]) -> list[OwnTask]:
        names = [row.name for row in own]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two own tasks are called {twice[0]}: give one another name")
        for row in own:
            add_own(row)
        return own

    @field_validator("per_task")
    @classmethod
    def _sections_of_tasks(cls, sections: dict[str, TaskSettings]) -> dict[str, TaskSettings]:
        for problem in filter(None, map(problem_with, sections)):
            raise ValueError(problem)
        named = {canonical(name) or name: section for name, section in sections.items()}
        if len(named) < len(sections):
            raise ValueError("a task has two sections")
        for name, section in named.items():
            for key, owner in OF_ONE_TASK.items():
                if getattr(section, key) is not None and name != owner:
                    raise ValueError(f"{name}: {key} is of {owner} alone")
        return named

    @field_validator("tasks")
    @classmethod
    def _tasks_exist(cls, tasks: list[str], info: ValidationInfo) -> list[str]:
        if "own" not in info.data:
            return tasks  # what is wrong there is said once
        for problem in filter(None, map(problem_with, tasks)):
            raise ValueError(problem)
        names = [canonical(name) or name for name in tasks]
        if len(set(names)) < len(names):
            raise ValueError("a task is named twice")
        suites = info.data.get("suites", [])
        for suite in suites if names else []:
            if suite != "klue" and suite not in map(SUITE_OF.get, names):
                raise ValueError(f"no task of suite {suite} is named; leave tasks out to run all of the suites")
        own = [row.name for row in info.data.get("own", [])]
        if not names and suites == [OWN] and not own:
            raise ValueError(f"suite {OWN} has no task: state them in klue.own")
        return names or [*names_of([suite for suite in suites if suite != OWN]), *own]

    @field_validator("seeds")
    @classmethod
    def _seeds_differ(cls, seeds: int | list[int]) -> int | list[int]:
        if isinstance(seeds, int):
            if seeds < 1:
                raise ValueError("at least one seed is needed")
        elif not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise ValueError("seeds are one or more different numbers from 0")
        return seeds

    @model_validator(mode="after")
    def _data_is_there(self) -> KlueSettings:
        for name in self.tasks:
            if SUITE_OF[name] != OWN and self.data is None and (SUITE_OF[name] == "klue" or self.benchmarks is None):
                raise ValueError(f"'klue.data' is missing: the folder with the files of {name}; of a command --data")
        return self

    def folder_of(self, task: str) -> Path:
        """Return the folder of a task's suite: DATA/SUITE where there is one, else DATA, by `data` or `benchmarks`."""
        if SUITE_OF[task] == OWN:
            return Path()  # its paths begin where the command runs
        folder = self.data if SUITE_OF[task] == "klue" else self.benchmarks or self.data
        return suite_folder(Path(folder or ""), task)

    def source_of(self, task: str) -> tuple[Task, Path] | None:
        """Return the task, and its suite's folder, that a task without a train set is learned from; None for none."""
        source = TASKS[task].transfer
        return (TASKS[source], self.folder_of(source)) if source else None

    def includes(self, earlier: KlueSettings) -> bool:
        """Return whether earlier settings' jobs are all among these: tasks, seeds or the baseline were only added."""
        earlier_tasks = set(earlier.tasks)
        free = ("suites", "tasks", "seeds", "baseline_random", "data", "benchmarks")

        def counted(settings: KlueSettings) -> dict[str, Any]:
            sections = {name: section for name, section in settings.per_task.items() if name in earlier_tasks}
            own = [row for row in settings.own if row.name in earlier_tasks]
            same = {name: getattr(earlier, name) for name in free}
            return dump_settings(settings.model_copy(update={**same, "per_task": sections, "own": own}))

        return (
            counted(self) == counted(earlier)
            and earlier_tasks <= set(self.tasks)
            and set(earlier.seed_list) <= set(self.seed_list)
            and earlier.baseline_random <= self.baseline_random
        )

    @property
    def inputs(self) -> list[str]:
        """Return the folders of the tasks' data, of the tasks they learn from, and the files of own tasks."""
        files = [path for row in self.own if row.name in self.tasks for path in row.places.values() if path]
        return [*self.benchmark_inputs, *files]

    @property
    def benchmark_inputs(self) -> list[str]:
        """Return the folders of the benchmarks' data: that of KLUE, of other suites one for each task."""
        names = [name for task in self.tasks for name in (task, self._learned_from(task)) if name]
        others = [self.folder_of(n) / TASKS[n].folder for n in names if SUITE_OF[n] not in ("klue", OWN)]
        return [*([self.data] if self.data else []), *map(str, dict.fromkeys(others))]

    def _learned_from(self, task: str) -> str | None:
        source, folder = self.source_of(task), self.folder_of(task)
        if source is None or not folder.is_dir():  # a name on the hub, or a mistake that is told later
            return None
        from klue.examples import lent_file  # it brings the readers along, which not every command needs

        try:
            return source[0].name if lent_file(TASKS[task], folder, source) else None
        except UserError:  # told when the files are read
            return None

    @property
    def seed_list(self) -> list[int]:
        """Return the seeds as a list; a number n stands for 42 to 41 + n."""
        return list(range(42, 42 + self.seeds)) if isinstance(self.seeds, int) else list(self.seeds)
