"""A program that works in a folder, killed at random moments until it comes to its end."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path


def run_with_kills(program: str, folder: Path, most: int) -> int:
    """Run Python code with a folder as its argument again and again until it ends, and return how often it was killed.

    Args:
        program: the code.
        folder: whose folders named NAME-* it writes files into.
        most: new files, at most, after which it is killed.
    """
    draw, kills = random.Random(3), 0
    for _ in range(60):
        process = subprocess.Popen([sys.executable, "-c", program, str(folder)], start_new_session=True)
        before = len(list(folder.glob("*-*/*")))
        more = draw.randrange(1, most)
        while process.poll() is None and len(list(folder.glob("*-*/*"))) < before + more:
            time.sleep(0.001)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
    return kills
