"""How many labels samples get that changed between two runs, and how many the others."""

from __future__ import annotations

# At least one of this number of labels is for a changed sample, if there are enough changed samples.
_LABELS_PER_CHANGED_LABEL = 3


def share_out_labels(labels: int, changed: int, unchanged: int) -> tuple[int, int]:
    """Share out labels between the samples that changed by the judge and the others.

    Formula: ``ceil(labels * max(1/3, changed / samples))``, at most ``changed``, are for changed samples, since labels decide more
    there; but at least one for the others.

    >>> share_out_labels(40, 30, 270), share_out_labels(40, 200, 100), share_out_labels(40, 5, 295)
    ((14, 26), (27, 13), (5, 35))
    """
    samples = changed + unchanged
    labels = min(labels, samples)
    if not samples:
        return 0, 0
    share = max(-(-labels // _LABELS_PER_CHANGED_LABEL), -(-labels * changed // samples))
    changed_labels = min(share, changed)
    if 1 < labels == changed_labels and unchanged:
        changed_labels -= 1
    return changed_labels, labels - changed_labels
