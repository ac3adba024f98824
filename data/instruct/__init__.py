"""Instructions for decoders, made of Korean data sets: a YAML spec a use, readers, templates, sampling.

* `settings`, `spec`, `uses/`: what a recipe sets; a use's files, fields, answer and templates, read strictly;
* `files`, `derived`, `items`: files in their authors' layouts → records → items with fields, texts and answer;
* `draw`, `compare`: draws and balanced picks; items that hold test sentences or held-out texts;
* `extra`: finished rows of a user's own files;
* `layout`, `rows`: how a row is written as a prompt, and as a line of JSON;
* `prepare`, `build`, `show`: one use; the whole stage; what a finished folder holds.
"""
