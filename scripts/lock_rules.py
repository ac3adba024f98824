"""Write tests/rules.lock: what each stage makes of a fixed input now, with which number, by which code.

    python -m scripts.lock_rules        (make rules)

Refuses when the output of a stage changed and its number in common/rules.py is that of the lock.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.rules.lock import LOCK, read_lock, refused, verdict, write_lock
from tests.rules.stages import STAGES, block_of, output_of


def main(lock: Path = LOCK) -> None:
    """Work out the blocks of all stages, and write them where all may be written.

    Raises:
        SystemExit: the output of a stage changed and its number did not, or the fixed input misses a rule.
    """
    locked = read_lock(lock)
    outputs = {stage: output_of(stage) for stage in STAGES}
    if lacking := [f"{stage}: {rule}" for stage, checks in STAGES.items() for rule in checks.unhit(outputs[stage])]:
        sys.exit("error: the fixed input does not hit every rule:\n  " + "\n  ".join(lacking))
    blocks = {stage: block_of(stage, output) for stage, output in outputs.items()}
    if lines := refused(blocks, locked):
        sys.exit("error: nothing was written:\n  " + "\n  ".join(lines))
    for stage, block in blocks.items():
        print(f"{stage}: {verdict(block, locked.get(stage))}")
    write_lock(blocks, lock)
    print(f"written: {lock}")


if __name__ == "__main__":
    main()
