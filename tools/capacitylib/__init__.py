"""tools/capacity: figures is what is known and whence, zipf the shape of demand, model what a demand needs, limits what breaks first,
document the tables of docs/scaling.md."""
