"""Tables for people: plain text in a terminal, HTML in a notebook."""

from __future__ import annotations

from html import escape
from typing import Sequence


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that line up; those of numbers to the right."""
    widths = [max([len(name)] + [len(row[i]) for row in rows]) for i, name in enumerate(columns)]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        placed = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(cells, widths, right)]
        return "  ".join(placed).rstrip()

    return "\n".join([line(columns)] + [line(row) for row in rows])


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """The same as an HTML table."""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class TableList(list):
    """A list that prints as a table. ``columns`` names what ``row`` gives of an element."""

    columns: Sequence[str] = ()

    @staticmethod
    def row(element) -> Sequence[str]:
        """The cells of one element."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return text_table(self.columns, [self.row(element) for element in self])

    def _repr_html_(self) -> str:
        return html_table(self.columns, [self.row(element) for element in self])
