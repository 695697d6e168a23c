"""tools/capacity: figures has measured costs and their sources, zipf the distribution of clicks over links, model the needs of a
demand, limits the order in which limits are reached, document the tables of docs/scaling.md."""
