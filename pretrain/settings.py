"""Settings of the pretrain stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from common.settings import Settings, place, runtime
from pretrain.models import registry as architectures
from pretrain.models.modernbert import ModernBertSettings
from pretrain.models.registry import ARCHITECTURES
from pretrain.objectives import registry as objectives
from pretrain.objectives.mlm import MaskingSettings
from pretrain.optim.muon import MuonSettings
from pretrain.optim.registry import OPTIMIZERS, unread_section
from pretrain.phase import Phase, phase_faults, phases_of

Wandb = Annotated[
    Literal["auto", "offline", "off"],
    BeforeValidator(lambda value: "off" if value is False else value),  # YAML takes off for a truth value
]
Tracking = Annotated[
    list[Literal["wandb", "trackio", "tensorboard"]],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
]


class ModelSettings(Settings):
    """Shape of the encoder; the defaults are RoBERTa-base (KLUE paper, section 4; Liu et al. 2019, Table 9)."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "model_type": "type",
        "num_hidden_layers": "layers",
        "hidden_size": "hidden",
        "num_attention_heads": "heads",
        "intermediate": "feed_forward",
        "intermediate_size": "feed_forward",
        "hidden_dropout_prob": "dropout",
        "attention_probs_dropout_prob": "attention_dropout",
    }

    type: Literal["roberta", "bert", "modernbert", "deberta-v2"] = "roberta"
    """Model class of transformers. `deberta-v2`: relative positions; its attention has no fused kernel, so training is
    slower and takes more memory. Use it to continue a published DeBERTa."""
    layers: int = Field(12, ge=1)
    """Number of transformer layers."""
    hidden: int = Field(768, ge=8)
    """Width of the hidden states."""
    heads: int = Field(12, ge=1)
    """Attention heads; must divide `hidden`."""
    feed_forward: int | None = Field(None, ge=1)
    """Width of the feed-forward layer; None is the original's: 4 × hidden, or 1.5 × hidden for modernbert, whose
    feed-forward layers also have a gate of that width."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Dropout of hidden states and attention, 0.1 as in the originals."""
    attention_dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout of attention alone; None is `dropout`. With 0, a GPU can use its fastest attention kernels."""
    initializer_range: float = Field(0.02, gt=0)
    """Standard deviation of the initial weights."""
    initialisation: Literal["original", "local"] = "original"
    """`original`: all weights at random, as in the originals. `local`: attention initially favours nearby tokens. It
    helps runs of a few hours on a small machine, which learn word order late otherwise."""

    modernbert: ModernBertSettings | None = None
    """Settings that only `type: modernbert` has. None takes those of the published ModernBERT."""

    @model_validator(mode="after")
    def _heads_divide_hidden(self) -> ModelSettings:
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be divisible by heads ({self.heads})")
        return self

    @property
    def dropped_attention(self) -> float:
        """Share of the attention that is dropped."""
        return self.dropout if self.attention_dropout is None else self.attention_dropout

    @property
    def intermediate(self) -> int:
        """Width of the feed-forward layer."""
        return ARCHITECTURES[self.type].feed_forward(self.hidden) if self.feed_forward is None else self.feed_forward


class OptimizerSettings(Settings):
    """Optimizer and schedule; the defaults are RoBERTa's (Liu et al. 2019, Table 9)."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {"lr": "learning_rate"}

    type: Literal["adamw", "muon"] = "adamw"
    """Optimizer. `muon`: Muon for the layers' matrices, AdamW for the rest; half the optimizer state for the matrices.
    Not with DeepSpeed."""
    muon: MuonSettings | None = None
    """Settings of `type: muon`. None takes their defaults."""
    learning_rate: float = Field(1e-4, gt=0)
    """Peak learning rate (KLUE paper, Table 31: 1e-4)."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Adam β1."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Adam β2 (RoBERTa 0.98, BERT 0.999)."""
    eps: float = Field(1e-6, gt=0)
    """Adam ε."""
    weight_decay: float = Field(0.01, ge=0)
    """Decoupled weight decay; biases and LayerNorm weights have none."""
    warmup_steps: int = Field(24_000, ge=0)
    """Steps of linear warm-up, the first at 1 / `warmup_steps` of the peak; fewer than all steps of the run."""
    schedule: Literal["linear", "warmup-stable-decay", "warmup-stable-sqrt"] = "linear"
    """After the warm-up: `linear` falls to 0 at the last step (the originals). `warmup-stable-decay` stays at the peak
    and falls over the last `decay_share` of the steps, so that a branch can start well from any checkpoint before the
    fall. `warmup-stable-sqrt` falls as 1 − √progress instead (Hägele et al. 2024: a lower loss than with a linear
    fall)."""
    decay_share: float = Field(0.1, gt=0, le=1)
    """Share of all steps over which the `warmup-stable-…` schedules fall to 0."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Largest gradient norm; 0 clips nothing."""


class PhaseSettings(Settings):
    """A phase of a run. What it leaves out is as in `pretrain`."""

    steps: int = Field(ge=1)
    """Steps of the phase. Those of all phases add up to `pretrain.steps`."""
    objective: Literal["mlm", "mlm+nsp", "clm"] | None = None
    """What is learned, as `pretrain.objective`."""
    max_seq_len: int | None = Field(None, ge=8)
    """Tokens in a sample. A micro-batch has about as many tokens in each phase."""
    global_batch: int | None = Field(None, ge=1)
    """Samples in an optimizer step over all processes."""
    masking_rate: float | None = Field(None, gt=0, lt=1)
    """Share of the tokens that is predicted, constant. None follows `pretrain.masking` by the step of the run."""
    learning_rate: float | None = Field(None, gt=0)
    """Peak learning rate, which the schedule of the whole run scales."""
    global_theta: float | None = Field(None, gt=0)
    """RoPE base of ModernBERT's global layers: larger for longer samples."""


class BatchWarmupSettings(Settings):
    """Growth of the global batch at the beginning of a run, in even stairs. With phases, it is within the first."""

    start: int = Field(ge=1)
    """Batch size in samples at the start, and the amount by which it grows each time. It must divide `global_batch`,
    and be a multiple of the micro-batch and of the number of processes."""
    steps: int = Field(ge=1)
    """Steps over which the batch grows to `global_batch`; 1 amounts to no growth."""


class PretrainSettings(Settings):
    """One pretraining run; the defaults are KLUE-RoBERTa-base."""

    model: ModelSettings = ModelSettings()
    """Shape of the encoder."""
    init_from: str | None = place(None)
    """Model to continue from (further pretraining): a transformers folder, a finished run's folder, or a name on the
    hub (OWNER/NAME[@REVISION], whose commit the run records). `model` must state its shape, and the tokenizer must be
    its own or extended from it. All else of its configuration is kept. None starts from random weights."""
    branch_from: str | None = place(None)
    """Folder of a checkpoint to branch from. The new run starts with its weights, optimizer state and position in the
    data. It may have another learning rate, schedule, number of steps, batch, objective, numeric type or ZeRO stage. If
    the earlier run trained with `clm` alone, `masking` may differ too. Not together with `init_from`."""
    objective: Literal["mlm", "mlm+nsp", "clm"] = "mlm"
    """`mlm`: masked language modelling. `mlm+nsp`: with next-sentence prediction as well (BERT, KLUE-BERT). `clm`: each
    token is predicted from those before it. A run that ends with `clm` is only a first phase, from which a run with
    `mlm` branches: it has no KLUE scores and is not pushed to the hub."""
    phases: list[PhaseSettings] = Field(default_factory=list)
    """Phases of the run, in order; each states what is different in it. Data, learning rate and masking rate continue
    from one to the next. An empty list: one phase."""
    masking: MaskingSettings = MaskingSettings()
    """What is masked and how."""
    optimizer: OptimizerSettings = OptimizerSettings()
    """Optimizer and learning-rate schedule."""
    packing: Literal["full-sentences", "doc-sentences", "contiguous", "packed", "sentence-pairs"] = "full-sentences"
    """`full-sentences`: whole consecutive sentences across documents up to the length (RoBERTa), the rest padded.
    `doc-sentences`: the same, but never across documents (RoBERTa's other variant; more padding). `contiguous`: the
    running text is cut every length − 2 tokens, without padding and attention mask; words that are cut are not masked.
    `packed`: documents, or pieces of long ones, are packed into samples by best fit, without attention between them.
    `sentence-pairs`: two texts that follow each other or do not, for next-sentence prediction (BERT)."""
    max_seq_len: int = Field(512, ge=8)
    """Tokens in a sample, [CLS] and [SEP] included."""
    steps: int = Field(1_000_000, ge=1)
    """Optimizer steps (KLUE paper, Table 31)."""
    global_batch: int = Field(2048, ge=1)
    """Samples in an optimizer step over all processes (KLUE paper, Table 31)."""
    batch_warmup: BatchWarmupSettings | None = None
    """Smaller global batches in the first steps. The gradients of different samples are still similar then, so smaller
    batches give more updates from the same tokens. None begins with `global_batch`. Learning rate and masking rate go
    by the step in any case."""
    micro_batch: int = runtime(32, ge=1)
    """Samples that a process computes at once; the global batch is accumulated from these. Choose it by memory. If the
    processes cannot divide the global batch by this size, they use the next smaller size that fits. A run may resume
    with another size; its dropout masks then differ, and its losses differ by rounding."""
    validation_samples: int = Field(1024, ge=0)
    """Number of samples held out of training for the validation loss, always with the same masks; at most a tenth of
    all. If the corpus holds out documents (`corpus.mixture`), the samples come from these alone."""
    seed: int = Field(42, ge=0, lt=2**63)
    """Seed of initialisation, order, masks and dropout."""
    dtype: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """`auto`: bf16 autocast on a GPU that has it, else fp32 (faster than bf16 on most CPUs). `fp16`: autocast for GPUs
    without bf16, with a dynamic loss scale. A batch whose gradient overflows is skipped and halves the loss scale;
    `max_skipped` does not count it. Weights stay fp32."""
    compile: bool | None = runtime(None)
    """Compile the model (torch.compile, static shapes). This takes minutes at the start and rounds differently, but
    training is faster. None: on GPUs, except at ZeRO stage 3, which fetches weights in between and so cannot be
    compiled as a whole."""
    fused_norms: bool = runtime(False)
    """Compute bias, dropout, residual sum and layer norm of BERT, RoBERTa and ModernBERT by one kernel, which draws
    dropout anew in the backward pass instead of keeping it. The masks are others than without. Off by default: it has
    not run on a GPU yet."""
    grad_reduce_dtype: Literal["fp32", "bf16"] = "fp32"
    """Numeric type in which gradients are averaged over the processes. `bf16` halves what is sent, but leaves gradients
    8 significant bits. Use it if the network slows a run down (`hunmin plan` says by how much)."""
    bucket_cap_mb: int | None = runtime(None, ge=1)
    """MB of gradients (fp32) that are averaged at a time. None: an eighth of all gradients, but at least 25 and at most
    200. Larger values suit networks of high latency; smaller ones are sent earlier, during the backward pass."""
    gradient_checkpointing: bool = runtime(False)
    """Compute the layers again in the backward pass instead of keeping them: less memory for more time, the same
    result."""
    engine: Literal["auto", "deepspeed", "torch"] = runtime("auto")
    """What computes and averages gradients over the processes. `auto`: torch's DistributedDataParallel at ZeRO stage 0,
    DeepSpeed at stages 1 to 3."""
    zero_stage: Literal[0, 1, 2, 3] = runtime(0)
    """DeepSpeed ZeRO stage: what is sharded over the processes instead of replicated. 1: the optimizer state, 2: the
    gradients too, 3: the weights too. Checkpoints contain the whole state, so a run can resume at another stage."""
    spike: float = runtime(2.0, gt=1)
    """A global batch whose loss is more than this many times the running mean is skipped, like one without a finite
    loss."""
    max_skipped: int = runtime(10, ge=0)
    """Number of skipped batches after which the run stops, since the cause is then not a single bad batch."""
    checkpoint_every: int = runtime(1000, ge=1)
    """Steps between checkpoints; a kill loses at most this many."""
    keep_last: int = runtime(2, ge=1)
    """Checkpoints kept; older ones are removed once a newer one is complete."""
    keep_every: int | None = runtime(None, ge=1)
    """Checkpoints at multiples of this many steps are kept permanently, for example for curves over the run; None keeps
    none."""
    validate_every: int = runtime(1000, ge=1)
    """Steps between validation losses."""
    log_every: int = runtime(50, ge=1)
    """Steps between two lines of metrics."""
    processes: int = runtime(1, ge=1)
    """Training processes on this machine (one per GPU; on a CPU one is best)."""
    threads: int | None = runtime(None, ge=1)
    """CPU threads per process; None divides the cores. On a CPU, bit-equal reruns need the same number."""
    tracking: Tracking = runtime([])
    """Trackers that show the metrics: `wandb` (as `wandb: auto`), `trackio`, `tensorboard` (files in the stage's
    `logs/tensorboard`). trackio and tensorboard are extras of these names. `metrics.jsonl` is written in any case."""
    wandb: Wandb = runtime("off")
    """`auto`: online when logged in, else offline. `off`: nothing is sent unless `tracking` names wandb; metrics go to
    JSON Lines in any case."""
    wandb_project: str = runtime("hunmin")
    """Project name in wandb and trackio."""

    @model_validator(mode="after")
    def _all_goes_together(self) -> PretrainSettings:
        if fault := next(filter(None, self._faults()), ""):
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        """Yield why settings do not go together, with what to set instead; "" where they do."""
        warmup = self.optimizer.warmup_steps
        if self.init_from and self.branch_from:
            yield (
                f"init_from ({self.init_from}) does not go with branch_from ({self.branch_from}): a run begins with "
                "the weights of one of them; leave the other out"
            )
        if self.init_from and self.model.initialisation != "original":
            yield (
                f"model.initialisation={self.model.initialisation} is for a model that begins at random, and init_from "
                f"({self.init_from}) brings weights; set model.initialisation=original"
            )
        yield from phase_faults(self) if self.phases else ()
        yield objectives.fault_of(self)
        yield architectures.fault_of(self.model)
        yield unread_section(self.optimizer)
        yield OPTIMIZERS[self.optimizer.type].fault(self)
        if self.compile and self.zero_stage == 3:
            yield "compile does not go with zero_stage=3, which fetches weights amid the model; leave it out"
        if self.fused_norms and not ARCHITECTURES[self.model.type].fuses_norms:
            able = ", ".join(name for name, kind in ARCHITECTURES.items() if kind.fuses_norms)
            yield f"fused_norms does not go with model.type={self.model.type}, but with {able}; leave it out"
        if self.fused_norms and self.zero_stage == 3:
            yield "fused_norms does not go with zero_stage=3, which fetches a layer's weights for itself; leave it out"
        if self.engine == "torch" and self.zero_stage:
            yield (
                f"engine=torch does not go with zero_stage={self.zero_stage}: ZeRO is DeepSpeed's; set "
                "zero_stage=0, or engine=deepspeed"
            )
        if warmup >= self.steps:
            yield (
                f"optimizer.warmup_steps ({warmup}) must be less than steps ({self.steps}), or the learning rate does "
                f"nothing but rise; e.g. optimizer.warmup_steps={self.steps // 10}"
            )
        yield self.batch_fault(self.processes)

    def batch_fault(self, processes: int, name: str = "pretrain.global_batch") -> str:
        """Return why so many processes cannot share every global batch evenly, with a fix; "" when they can."""
        if self.phases:  # each takes the largest micro-batch that divides its batch
            phases = (phase.settings for phase in self.every_phase)
            return next(filter(None, (s.batch_fault(processes, "pretrain.phases.global_batch") for s in phases)), "")
        smallest, batch = self.smallest_batch, name
        if self.batch_warmup:
            name = "pretrain.batch_warmup.start"
            if self.global_batch % smallest:
                return (
                    f"{batch} ({self.global_batch}) must be divisible by {name} ({smallest}), by which "
                    f"it grows; e.g. {name}={_largest_divisor(self.global_batch, 1, smallest)}"
                )
        if smallest % processes:
            whole = processes * self.micro_batch
            fix = "fewer processes" if self.batch_warmup else f"{name}={-(-smallest // whole) * whole}"
            return f"{name} ({smallest}) must be divisible by the processes ({processes}); e.g. {fix}"
        if smallest % self.micro_batch:
            fix = f"pretrain.micro_batch={_largest_divisor(smallest, processes, self.micro_batch)}"
            return f"{name} ({smallest}) must be divisible by micro_batch ({self.micro_batch}); e.g. {fix}"
        return ""

    def shared_by(self, processes: int) -> PretrainSettings:
        """Return the settings with the largest micro-batch, at most the stated one, with which `batch_fault` is ""."""
        if self.phases:
            return self.model_copy(update={"processes": processes})
        size = _largest_divisor(self.smallest_batch, processes, self.micro_batch)
        return self if size == self.micro_batch else self.model_copy(update={"micro_batch": size})

    @property
    def smallest_batch(self) -> int:
        """Samples of the first global batch."""
        stated = self.phases[0].global_batch if self.phases else None
        return self.batch_warmup.start if self.batch_warmup else stated or self.global_batch

    def samples_before(self, step: int) -> int:
        """Return the samples of all global batches before that of `step`: stair k begins at ⌊k · steps / stairs⌋."""
        if self.phases:
            return sum(phase.samples_before(step) for phase in self.every_phase)
        if not self.batch_warmup:
            return step * self.global_batch
        start, steps = self.batch_warmup.start, self.batch_warmup.steps
        stairs = self.global_batch // start
        return start * sum(max(0, step - stair * steps // stairs) for stair in range(stairs))

    def positions_before(self, step: int) -> int:
        """Return the token positions of all global batches before that of `step`: samples × length."""
        if self.phases:
            return sum(phase.samples_before(step) * phase.settings.max_seq_len for phase in self.every_phase)
        return self.samples_before(step) * self.max_seq_len

    @property
    def every_phase(self) -> tuple[Phase, ...]:
        """Phases of the run, in order; without `phases` it is one."""
        return phases_of(self)

    def phase_at(self, step: int) -> Phase:
        """Return the phase of the global batch of a step."""
        return next(phase for phase in reversed(self.every_phase) if step >= phase.first)

    def begins_phase(self, step: int) -> bool:
        """Return whether a step is the first of a phase, but for the first of the run."""
        return any(phase.first == step for phase in self.every_phase[1:])

    @property
    def objectives(self) -> tuple[str, ...]:
        """Objectives of the run, the last one first."""
        return tuple(dict.fromkeys(phase.settings.objective for phase in reversed(self.every_phase)))

    @property
    def longest(self) -> int:
        """Tokens of the longest samples."""
        return max(phase.settings.max_seq_len for phase in self.every_phase)

    @property
    def chosen_engine(self) -> str:
        """The engine; where it is `auto`, torch when ZeRO shares nothing."""
        if self.engine != "auto":
            return self.engine
        return "deepspeed" if self.zero_stage else "torch"

    @property
    def tokens(self) -> int:
        """Token positions of the whole run: samples × length."""
        return self.positions_before(self.steps)


def _largest_divisor(global_batch: int, processes: int, at_most: int) -> int:
    """Return the largest micro-batch, of at most so many samples, that so many processes can share the batch in."""
    fits = [m for m in range(1, min(at_most, global_batch) + 1) if global_batch % (m * processes) == 0]
    return fits[-1] if fits else 1
