"""What the switch says crossed between the guests."""

import json


def read_marks(path):
    """One dictionary a mark, in order: its name, and for each pair of guests what crossed since the
    mark before. The last is "end"."""
    marks = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                marks.append(json.loads(line))
    return marks


def total(marks, counter, source=None, target=None):
    """The sum of a counter over marks and pairs, of one source or target when given."""
    return sum(pair[counter] for mark in marks for pair in mark["pairs"]
               if source in (None, pair["from"]) and target in (None, pair["to"]))


def table(marks):
    """Lines for people: the sums for each pair."""
    pairs = sorted({(pair["from"], pair["to"]) for mark in marks for pair in mark["pairs"]})
    counters = ("roce_frames", "roce_bytes", "messages", "other_frames")
    for source, target in pairs:
        frames, size, messages, others = (total(marks, name, source, target) for name in counters)
        yield (f"guest {source} to {target}: {frames} RoCE frames, {size} bytes, "
               f"{messages} messages; {others} other frames")
    lost = sum(mark["dropped"] for mark in marks)
    if lost:
        yield f"{lost} frames dropped"
