"""Devices: jobs go to the least busy one with room, and what they need grows with what they are."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import klue.devices as devices
from common.errors import HunminError
from klue.devices import CONTEXT, Devices, find_devices, memory_needed
from klue.runner import plan_stage
from klue.settings import KlueSettings

BASE, LARGE = (
    SimpleNamespace(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, vocab_size=32000)
    for hidden, layers, heads in ((768, 12, 12), (1024, 24, 16))
)
GIB = 1 << 30


def job(task="klue-nli", batch=32, length=128, model="", device="cuda"):
    training = SimpleNamespace(global_batch=batch, max_seq_len=length)
    return SimpleNamespace(name=f"{task}-{length}", task=task, training=training, model=str(model), device=device)


def test_jobs_go_to_the_least_busy_device_that_has_room():
    places = Devices({"a": 10, "b": 4}, {"a": 3, "b": 3})
    assert [places.take(4) for _ in range(4)] == ["a", "b", "a", None]
    assert places.take(2) == "a" and places.take(0) == "b"
    places.give("a", 4)
    assert places.take(5) is None and places.take(4) == "a"


def test_only_counts_of_jobs_matter_where_memory_is_not_asked_for():
    places = Devices({"cpu": math.inf}, {"cpu": 2})
    assert [places.take(0.0) for _ in range(3)] == ["cpu", "cpu", None]
    places.give("cpu", 0.0)
    assert places.take(0.0) == "cpu"


def test_a_job_that_fits_nowhere_runs_alone():
    places = Devices({"a": 10}, {"a": 2})
    assert places.take(50) == "a" and places.take(1) is None
    places.give("a", 50)
    assert places.take(1) == "a" and places.take(50) is None


SIZES = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4)), max_size=4)


@given(st.lists(st.integers(0, 30), max_size=40), SIZES)
def test_no_device_is_overfull(needs, sizes):
    free = {f"cuda:{i}": size for i, (size, _) in enumerate(sizes)}
    places = Devices(free, {f"cuda:{i}": most for i, (_, most) in enumerate(sizes)})
    held = {name: [] for name in free}
    for number, need in enumerate(needs):
        device = places.take(need)
        if device is not None:
            held[device].append(need)
        elif number % 3 == 0 and any(held.values()):
            busy = max(held, key=lambda name: len(held[name]))
            places.give(busy, held[busy].pop())
    for i, (size, most) in enumerate(sizes):
        mine = held[f"cuda:{i}"]
        assert len(mine) <= most and (sum(mine) <= size or len(mine) == 1)


def test_what_a_job_needs():
    base = memory_needed(job(), BASE)
    # RoBERTa-base: 110M parameters × 18 bytes, and 1.7 GB of activations of 32 × 128 tokens
    assert 4 * GIB < base < 7 * GIB
    assert memory_needed(job(batch=64), BASE) > base and memory_needed(job(length=510), BASE) > 4 * (base - 4 * GIB)
    assert memory_needed(job(), LARGE) > 2 * base - CONTEXT
    assert memory_needed(job("wos", 16, 510), BASE) > memory_needed(job("klue-mrc", 16, 510), BASE) + GIB / 2


@pytest.fixture
def two_gpus(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(devices, "_ASK", f"print({[20 * GIB, 3 * GIB]})")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64))


@pytest.fixture
def jobs(tiny_roberta):
    return [job(length=length, model=tiny_roberta) for length in (64, 128)]


def placed(jobs, need, **settings):
    places, _ = find_devices(KlueSettings(data="d", **settings), jobs)
    return [device for device in (places.take(need) for _ in range(40)) if device]


def test_gpus_hold_what_fits(two_gpus, jobs):
    assert placed(jobs, 6 * GIB) == ["cuda:0", "cuda:1", "cuda:0", "cuda:0"]
    assert placed(jobs, 0).count("cuda:0") == devices.GPU_JOBS
    assert placed(jobs, 0, threads=32) == ["cuda:0", "cuda:1"]
    assert placed(jobs, 99 * GIB, workers=3) == ["cuda:0", "cuda:1", "cuda:0"]
    assert placed(jobs, 99 * GIB, workers=0) == ["cuda:0"]


def test_a_cpu_holds_as_many_jobs_as_its_cores_allow_or_as_are_asked_for(two_gpus):
    jobs = [job(device="cpu")]
    counts = [len(placed(jobs, 99 * GIB, **asked)) for asked in ({}, {"threads": 32}, {"workers": 5}, {"workers": 0})]
    assert counts == [40, 2, 5, 1] and set(placed(jobs, 99 * GIB)) == {"cpu"}


def test_memory_is_asked_for_where_it_decides(two_gpus, jobs, monkeypatch):
    _, needs = find_devices(KlueSettings(data="d"), jobs)
    assert CONTEXT < needs["klue-nli-64"] < needs["klue-nli-128"]
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", None)  # not every encoder's has the same fields
    monkeypatch.setattr(devices, "_ASK", "raise SystemExit('nobody asks')")
    for asked in ({"workers": 0}, {"workers": 3}):
        assert set(find_devices(KlueSettings(data="d", **asked), jobs)[1].values()) == {0.0}
    assert find_devices(KlueSettings(data="d"), [job(device="cpu")])[1] == {"klue-nli-128": 0.0}


def test_gpus_that_are_asked_for_and_not_there(monkeypatch, jobs):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(HunminError, match="no GPU is visible"):
        find_devices(KlueSettings(data="d", device="cuda"), jobs)


def test_gpus_that_do_not_answer(two_gpus, jobs, monkeypatch):
    monkeypatch.setattr(devices, "_ASK", "raise SystemExit('driver is gone')")
    with pytest.raises(HunminError, match="driver is gone"):
        find_devices(KlueSettings(data="d"), jobs)


def test_the_kind_of_device_decides_the_precision_before_any_job_runs(monkeypatch, benchmark, tiny_roberta, tmp_path):
    def planned(device):
        settings = KlueSettings(data=str(benchmark), tasks=["ynat"], device=device)
        return plan_stage(settings, tiny_roberta, tmp_path).jobs[0]

    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert {device: planned(device).device for device in ("auto", "cpu", "cuda")} == {
        "auto": "cuda", "cpu": "cpu", "cuda": "cuda",
    }  # fmt: skip
    job = planned("auto")
    assert (job.precision, job.model_copy(update={"device": "cuda:1"}).precision) == ("bfloat16", "bfloat16")
    assert job.model_copy(update={"device": "cpu"}).precision == "float32"
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    assert planned("auto").device == "cpu"
