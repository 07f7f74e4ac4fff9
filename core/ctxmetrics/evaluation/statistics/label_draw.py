"""How many labels samples get that changed between two runs, and how many the others."""

from __future__ import annotations

import math

# At least one of this number of labels is for a changed sample, if there are enough changed samples.
_LABELS_PER_CHANGED_LABEL = 3
# The same if several metrics are labelled: each of them has only a part of the changed samples.
_LABELS_PER_CHANGED_LABEL_OF_SEVERAL = 2


def share_out_labels(labels: int, changed: int, unchanged: int, *, metrics: int = 1) -> tuple[int, int]:
    """Share out labels between the samples that changed by the judge and the others.

    Formula: ``ceil(labels * max(1/3, changed / samples))``, at most ``changed``, are for changed samples, since labels decide more
    there; but at least one for the others. For several metrics it is 1/2 in place of 1/3.

    Args:
        labels: The number of labels.
        changed: The number of samples of which any metric changed.
        unchanged: The number of the other samples.
        metrics: The number of metrics that the labels are about.

    >>> share_out_labels(40, 30, 270), share_out_labels(40, 200, 100), share_out_labels(40, 5, 295)
    ((14, 26), (27, 13), (5, 35))
    >>> share_out_labels(40, 30, 270, metrics=2)
    (20, 20)
    """
    samples = changed + unchanged
    labels = min(labels, samples)
    if not samples:
        return 0, 0
    labels_per_changed_label = _LABELS_PER_CHANGED_LABEL
    if metrics > 1:
        labels_per_changed_label = _LABELS_PER_CHANGED_LABEL_OF_SEVERAL
    least_share = math.ceil(labels / labels_per_changed_label)
    proportional_share = -(-labels * changed // samples)  # rounded up
    changed_labels = min(max(least_share, proportional_share), changed)
    all_are_for_changed = labels == changed_labels
    if labels > 1 and all_are_for_changed and unchanged:
        changed_labels -= 1
    return changed_labels, labels - changed_labels
