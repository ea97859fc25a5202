"""Common prefixes are stepped once: the tree of them and its snapshots."""
