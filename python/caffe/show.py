"""What a net is made of: summary(net) as text, to_html(net) for notebooks, with a small drawing.

A net is anything that has the names of pycaffe's: `layers` with `type`, `_layer_names` or `layer_dict`, `blobs`,
`params`, and where there are, `bottom_names` and `top_names`. Nothing is computed. Shapes are in elements; a parameter
that several layers share counts once, at the one that owns it: `_own_params` has (layer, index) of all that are owned.
Where a net has no such attribute, parameters at one address are one.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from typing import Any

from ._drawing import colour_of

Shape = tuple[int, ...]
_HEADS = ("layer", "type", "reads", "gives", "parameters")
_BYTES = 4  # of a float
# Sizes of the drawing in pixels, and how many characters of a name a box shows.
_BOX_WIDTH, _BOX_HEIGHT, _GAP, _SHOWN = 148, 26, 18, 20


@dataclasses.dataclass
class Row:
    """One layer. gives: (top, shape); params: shapes; count: the elements of those that are not shared."""

    name: str
    type: str
    reads: list[str]
    gives: list[tuple[str, Shape]]
    params: list[Shape]
    count: int


def _shape(blob: Any) -> Shape:
    shape = getattr(blob, "shape", None)
    return tuple(int(size) for size in (blob.data.shape if shape is None else shape))


def _elements(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


class _Owners:
    """Tells which parameters belong to the layer that is asked about; layers come in order."""

    def __init__(self, net: Any) -> None:
        told = getattr(net, "_own_params", None)
        self._told = None if told is None else set(told)
        self._seen: set[int] = set()  # addresses

    def is_own(self, layer: str, index: int, blob: Any) -> bool:
        if self._told is not None:
            return (layer, index) in self._told
        address = blob.data.__array_interface__["data"][0]
        is_new = address not in self._seen
        self._seen.add(address)
        return is_new


def rows(net: Any) -> list[Row]:
    """The layers of a net, in order."""
    names = list(getattr(net, "_layer_names", None) or net.layer_dict)
    bottoms, tops = getattr(net, "bottom_names", {}), getattr(net, "top_names", {})
    owners = _Owners(net)
    made = []
    for name, layer in zip(names, net.layers):
        params = list(net.params[name]) if name in net.params else []
        gives = [(top, _shape(net.blobs[top])) for top in tops.get(name, [])]
        own = [blob for index, blob in enumerate(params) if owners.is_own(name, index, blob)]
        made.append(Row(name, layer.type, list(bottoms.get(name, [])), gives, [_shape(blob) for blob in params],
                        sum(_elements(_shape(blob)) for blob in own)))
    return made


def _by(shape: Shape) -> str:
    """(1, 20, 24) as 1x20x24; a number as scalar."""
    return "x".join(map(str, shape)) or "scalar"


def _cells(row: Row) -> tuple[str, ...]:
    gives = ", ".join(f"{top} {_by(shape)}" for top, shape in row.gives)
    shapes = " + ".join(map(_by, row.params))
    params = f"{row.count:,} = {shapes}" if row.count else f"shared: {shapes}" if shapes else ""
    return row.name, row.type, ", ".join(row.reads), gives, params


def _size(elements: int) -> str:
    size = elements * _BYTES
    return f"{size / 2 ** 20:.2f} MiB" if size >= 2 ** 20 else f"{size / 1024:.1f} KiB"


def _totals(net: Any, made: Sequence[Row]) -> str:
    params, blobs = sum(row.count for row in made), sum(_elements(_shape(blob)) for blob in net.blobs.values())
    return f"{len(made)} layers, {params:,} parameters ({_size(params)}), blobs of {blobs:,} elements ({_size(blobs)})"


def summary(net: Any) -> str:
    """A table of the layers: what each reads and gives, with shapes, and its parameters; the last line has totals."""
    made = rows(net)
    table = [_HEADS, *map(_cells, made)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(_HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in table]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:], _totals(net, made)])


def _places(made: Sequence[Row]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(row, column) of every layer, each below all it reads, and the lines between layers as pairs of numbers.

    Layers that work in place follow the one whose top they change.
    """
    maker: dict[str, int] = {}
    used: dict[int, int] = {}
    places: list[tuple[int, int]] = []
    lines: list[tuple[int, int]] = []
    for number, row in enumerate(made):
        before = [maker[bottom] for bottom in row.reads if bottom in maker]
        depth = 1 + max((places[other][0] for other in before), default=-1)
        places.append((depth, used.get(depth, 0)))
        used[depth] = used.get(depth, 0) + 1
        lines += [(other, number) for other in dict.fromkeys(before)]
        maker.update((top, number) for top, _ in row.gives)
    return places, lines


def _corner(place: tuple[int, int]) -> tuple[int, int]:
    """Where a box begins: (x, y)."""
    return _GAP + place[1] * (_BOX_WIDTH + _GAP), _GAP + place[0] * (_BOX_HEIGHT + _GAP)


def _box(row: Row, place: tuple[int, int]) -> str:
    x, y = _corner(place)
    name = row.name if len(row.name) <= _SHOWN else row.name[:_SHOWN - 1] + "\u2026"
    in_place = len(row.gives) == 1 and row.reads == [row.gives[0][0]]
    told = html.escape(" | ".join(cell for cell in _cells(row) if cell))
    return (f'<g><title>{told}</title><rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="4" '
            f'fill="{colour_of(row.type, in_place)}"/><text x="{x + _BOX_WIDTH // 2}" y="{y + 17}" '
            f'text-anchor="middle">{html.escape(name)}</text></g>')


def _line(begin: tuple[int, int], end: tuple[int, int]) -> str:
    """From the lower edge of a box to the upper edge of another; one that passes boxes goes round at their right."""
    (x1, y1), (x2, y2) = _corner(begin), _corner(end)
    x1, x2, y1 = x1 + _BOX_WIDTH // 2, x2 + _BOX_WIDTH // 2, y1 + _BOX_HEIGHT
    aside = (_BOX_WIDTH // 2 + _GAP) if end[0] - begin[0] > 1 else 0
    return f'<path d="M{x1} {y1} C{x1 + aside} {y1 + _GAP} {x2 + aside} {y2 - _GAP} {x2} {y2}"/>'


def drawing(net: Any) -> str:
    """The net as an SVG, layers from top to bottom; pointing at one shows its row of the table."""
    made = rows(net)
    places, lines = _places(made)
    right = max((_corner(place)[0] for place in places), default=0) + _BOX_WIDTH + 2 * _GAP
    below = max((_corner(place)[1] for place in places), default=0) + _BOX_HEIGHT + _GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{below}" font-family="sans-serif" '
            f'font-size="11"><g fill="none" stroke="#808080">'
            f'{"".join(_line(places[begin], places[end]) for begin, end in lines)}</g>'
            f'{"".join(map(_box, made, places))}</svg>')


def to_html(net: Any) -> str:
    """What a notebook shows of a net: the table, totals, and the drawing to be unfolded."""
    made = rows(net)
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in made)
    return (f'<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{_totals(net, made)}</p>'
            f'<details><summary>drawing</summary><div style="max-height: 40em; overflow: auto">{drawing(net)}</div>'
            '</details></div>')
