"""A folder of mixed formats through the whole stage: same shards whatever the blocks, licences kept, all counted."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.manifest import describe_outputs

from ..building import OFF, build, rows, settings


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [f"{n}번 사람이 {n % 7}번 가게에서 {n * 3}번째 책을 샀다." for n in range(120)]
    (folder / "a.csv").write_text(
        "text,licence\n" + "".join(f'"{line}",CC0\n' for line in lines[:30]), encoding="utf-8"
    )
    (folder / "b.txt").write_bytes("\r\n".join(lines[30:60]).encode("cp949"))
    pq.write_table(pa.table({"text": lines[60:90]}), folder / "c.parquet", row_group_size=7)
    pages = [{"namespace": "0", "title": "t", "text": f"'''{line}'''[* 각주]"} for line in lines[90:]]
    pages += [{"namespace": "0", "title": "r", "text": "#redirect t"}, {"namespace": "0", "title": "broken"}]
    (folder / "d.json").write_text(json.dumps(pages), encoding="utf-8")
    return folder


def test_mixed_formats(folder, tmp_path):
    counts = build(settings(folder, pii=OFF, unit_mb=32), tmp_path / "one")
    assert counts["documents"] == 120 and counts["rejects"] == 1
    statistics = json.loads((tmp_path / "one" / "statistics.json").read_bytes())
    assert statistics["skipped"] == {"redirect": 1} and statistics["rejects"] == {"no field 'text'": 1}
    documents = rows(tmp_path / "one")
    assert [row["licence"] for row in documents] == ["CC0"] * 30 + [""] * 90
    assert [documents[n]["id"] for n in (0, 30, 60, 90)] == ["a-2", "b-1", "c-1", "d-1"]
    build(settings(folder, pii=OFF, unit_mb=0.001, workers=2), tmp_path / "two")
    shards = [{n: f for n, f in describe_outputs(tmp_path / out).items() if "shard" in n} for out in ("one", "two")]
    assert shards[0] and shards[0] == shards[1]
