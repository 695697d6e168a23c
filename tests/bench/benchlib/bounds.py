"""The bounds by which a run of the benchmarks is judged, and the table of them that ends it."""

_rows = []


def judge(promise, figure, bound, unit="", at_most=True):
    """Records a figure and its bound; returns the words that follow the figure in a table."""
    sign = "≤" if at_most else "≥"
    is_kept = figure <= bound if at_most else figure >= bound
    shown = f"{figure:,.2f}" if isinstance(figure, float) else f"{figure:,}"
    verdict = "holds" if is_kept else "MISSED"
    _rows.append([promise, f"{shown} {unit}".strip(), f"{sign} {bound:,g} {unit}".strip(), verdict])
    return f", wanted {sign} {bound:g}" + ("" if is_kept else " **missed**")


def rows():
    return [["promise", "figure", "bound", "verdict"], *_rows]


def are_kept():
    return all(row[-1] == "holds" for row in _rows)
