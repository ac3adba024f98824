"""Importing this module loads what a unit needs, its compiled steps too, before processes are forked for units."""

import data.units.work  # noqa: F401
from data.decontaminate import DecontaminateSettings, Decontaminator

Decontaminator.build([], DecontaminateSettings()).match(["가"])
