"""The mixture: how often the documents of each source come in a pass over the corpus, and which are held out.

A document is written once. Shards hold documents of one number of copies each; their manifests say which (`copies`),
token shards repeat it, and pretraining goes through a shard so many times in an epoch. `copies: 0` is held out.
"""
