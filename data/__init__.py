"""Raw text to shards: read, clean, pseudonymise, split, decontaminate, deduplicate, write, count.

`data.corpus` is the stage; its steps work alone, too:

* `readers` cut input files of any format into blocks of records, and parse a block into documents and rejects;
* `cleaning` removes noise from a document and drops sentences that are not Korean prose;
* `pii` replaces personal data by surrogates; `splitting` cuts a text into sentences;
* `benchmark` and `decontaminate` find the sentences of an evaluation set in the corpus;
* `filters` measure documents and drop those out of bounds; `mixture` says how often each source is repeated;
* `deduplicate` finds repeated documents, near copies, paragraphs, sentences; `shards` writes and reads Parquet files;
* `statistics` counts what came out; `executors` runs independent work units here, with Ray or as a Slurm array;
* `units` knows the work units of the inputs by their content, and does those that are not done; `assemble` joins them;
* `commands` are the same steps as filters over JSON Lines streams; `estimate` says what the stage will take, `dropped`
  shows what it left out.

`instruct` builds instructions from labelled sets, by the same readers, pseudonyms and search for benchmarks.
"""
