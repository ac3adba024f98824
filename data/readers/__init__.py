"""Readers: input files as blocks of whole records, and a block as documents, rejects and skipped records.

A file is read once, in order, by one process (`read_blocks`), which cuts it where records end or refers to parts of it;
a block is parsed where the work is done (`parse_block`). Files of lines that can be read from any place on are read by
ranges instead (`seekable`). Documents and ids depend on the content and the settings alone, and no input can fill the
memory.

* `settings`, `records`, `fields`, `fit`: a source's settings; blocks, documents, rejects, and fields as it maps them;
* `paths`, `sniff`, `encoding`: which files, in which format, in which encoding;
* `damage`, `transport`: files that are broken, and connections that are; `containers`: archives and stand-ins;
* `ranges`: files of lines read from any place on; `blocks`, `json_elements`: cutting text, and JSON, at borders;
* `lines`, `delimited`, `pages`, `nikl`, `namuwiki`, `mediawiki`: formats of text;
* `rows`, `parquet`, `sqlite`, `hub`: formats of rows; `warc`, `web_pages`: web archives;
* `wikicode`, `html`, `markdown`: markup to text; `markup`: that of text fields;
* `registry`: all formats by name; `formats`: files of any of them.

What is cut here is what libraries cannot: pyarrow.csv ends at the first record that does not fit (NSMC's file has 178
such lines), and ijson decodes all records in the one process that cuts.
"""
