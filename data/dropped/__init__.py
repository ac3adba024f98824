"""Examples of what a finished corpus left out, by rule: as its lists name it, and with texts."""
