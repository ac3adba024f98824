"""Take the README's picture of a run's page: its head, the result and the scores, in a window of 1280 × 1250.

python scripts/screenshot_report.py runs/quickstart --out docs/report.png

Needs a Chromium (Debian: apt install chromium). Prints the size of the picture, which has 256 colours at most.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from timing import parser_of

from hunmin.page.page import write_page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    """Read the command line and take the picture."""
    parser = parser_of(__doc__)
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("--out", type=Path, default=Path("docs/report.png"))
    parser.add_argument("--language", choices=["en", "ko"], help="of the page; default: that of the run's card")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1250)
    options = parser.parse_args()
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("no Chromium here: apt install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        write_page(options.run, page, language=options.language)
        shot = Path(folder) / "shot.png"
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   f"--user-data-dir={folder}/profile", f"--window-size={options.width},{options.height}",
                   f"--screenshot={shot}", page.resolve().as_uri()]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(256).save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
