"""Instructions for decoders from Korean data sets: settings, specs of uses, readers, items, parts, the build.

`spec` and `uses/` say what a use is; `files` and `derived` read files as records; `items` makes items of records and
rows of items; `extra` reads finished rows; `parts` does one use, `build` the stage; `layout`, `rows`, `show` what comes
out.
"""
