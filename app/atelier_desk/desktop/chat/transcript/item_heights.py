"""Heights of thousands of items: sums and searches in O(log n) (a Fenwick tree)."""

from __future__ import annotations

from collections.abc import Sequence


class Heights:
    """Item heights in logical pixels; ``offset(i)`` is the top of item i, ``find(y)`` the item at y."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        self._values = list(values)
        self._build()

    def _build(self) -> None:
        size = len(self._values)
        tree = [0, *self._values]
        for i in range(1, size + 1):
            parent = i + (i & -i)
            if parent <= size:
                tree[parent] += tree[i]
        self._tree = tree
        self._top = 1
        while self._top * 2 <= size:
            self._top *= 2

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def __setitem__(self, index: int, value: int) -> None:
        change = value - self._values[index]
        if not change:
            return
        self._values[index] = value
        i = index + 1
        while i < len(self._tree):
            self._tree[i] += change
            i += i & -i

    @property
    def total(self) -> int:
        return self.offset(len(self._values))

    def offset(self, index: int) -> int:
        """Sum of the heights before ``index``."""
        result, i = 0, index
        while i > 0:
            result += self._tree[i]
            i -= i & -i
        return result

    def find(self, y: int) -> int:
        """The item at ``y``; the last one beyond the end, 0 if empty."""
        position, step, rest = 0, self._top, y
        size = len(self._values)
        while step and size:
            following = position + step
            if following <= size and self._tree[following] <= rest:
                position = following
                rest -= self._tree[following]
            step //= 2
        return min(position, max(0, size - 1))

    def append(self, value: int) -> None:
        self._values.append(value)
        i = len(self._values)
        self._tree.append(self.offset(i - 1) - self.offset(i - (i & -i)) + value)
        while self._top * 2 <= i:
            self._top *= 2

    def insert_front(self, values: Sequence[int]) -> None:
        """Insert ``values`` before all others; O(n)."""
        self._values[:0] = values
        self._build()
