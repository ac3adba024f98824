"""Take the README's picture of a run's page: from its head to the end of a section, so that nothing is cut.

python scripts/screenshot_report.py runs/quickstart --out docs/report.png

Needs a Chromium (Debian: apt install chromium). Prints the size of the picture, which has 256 colours at most.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from timing import parser_of

from hunmin.page.page import write_page

HEIGHT, MARGIN = 4000, 24
"""Pixels: height of the window, and what of the page's background stays below the section."""

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("--out", type=Path, default=Path("docs/report.png"))
    parser.add_argument("--language", choices=["en", "ko"], help="of the page; default: that of the run's card")
    parser.add_argument("--until", default="verdict", help="the last section, by its id in the page")
    parser.add_argument("--width", type=int, default=1280)
    options = parser.parse_args()
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        sys.exit("no Chromium here: apt install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        write_page(options.run, page, language=options.language)
        with page.open("a", encoding="utf-8") as file:
            file.write(f"<style>#{options.until} ~ *, main ~ * {{ display: none }}</style>")
        shot = Path(folder) / "shot.png"
        command = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--window-size={options.width},{HEIGHT}",
            f"--screenshot={shot}",
            page.resolve().as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(shot) as picture:
            whole = picture.convert("RGB")
            ground = Image.new("RGB", whole.size, whole.getpixel((0, HEIGHT - 1)))
            _, _, _, bottom = ImageChops.difference(whole, ground).getbbox() or (0, 0, 0, HEIGHT)
            whole.crop((0, 0, whole.width, bottom + MARGIN)).quantize(256).save(options.out, optimize=True)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
