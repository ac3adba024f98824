"""Models of filters, trained by the user: from folders of texts to one file each (safetensors; no pickle).

* `texts`: the documents of a folder, cleaned as the corpus stage cleans them;
* `ngrams`: the character model of the filter `perplexity`; `classifier`: that of `quality`.
"""
