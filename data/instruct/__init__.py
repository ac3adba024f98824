"""Instructions for decoders from Korean data sets.

`settings`, `spec` and `uses/` say what is made of what; `files` reads records, `items` makes items of them and rows of
items, `build` does the stage; `rows`, `layout` and `show` are what comes out.
"""
