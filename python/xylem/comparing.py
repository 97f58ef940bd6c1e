"""The differences of two plans, from the cause to the predicted times."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Dict, List

from .planning import Plan
from .sizes import size_text
from .tables import html_table

# Sections of the format xylem-diff-1, causes first, with their titles.
_SECTIONS = {
    "asked": "What was asked",
    "machine": "Machine",
    "order": "Order in the description",
    "links": "Links, GB/s",
    "ranks": "Ranks",
    "paths": "Paths, GB/s",
    "decisions": "Decisions",
    "channels": "Channels of a host",
    "connections": "Connections of the job",
}


@dataclass(frozen=True)
class Change:
    """Things that changed in the same way: ``what`` of each of ``things`` was ``before`` and is ``after``."""

    kind: str
    what: str
    before: str
    after: str
    things: List[str]
    why_before: str
    why_after: str

    def __repr__(self) -> str:
        names = ", ".join(self.things[:4]) + (f", and {len(self.things) - 4} more" if len(self.things) > 4 else "")
        subject = ": ".join(part for part in (self.kind, names, self.what) if part)
        return f"{subject}: {self.before or 'none'} -> {self.after or 'none'}"


@dataclass(frozen=True)
class ChoiceChange:
    """Sizes of a collective, in bytes, that get another algorithm, protocol or predicted time."""

    collective: str
    from_bytes: int
    to_bytes: int
    before: str
    after: str

    def __repr__(self) -> str:
        return (f"{self.collective} of {size_text(self.from_bytes)} to {size_text(self.to_bytes)}: "
                f"{self.before or 'none'} -> {self.after or 'none'}")


@dataclass(frozen=True, repr=False)
class Diff:
    """The differences of plan b from plan a; ``bool(diff)`` is whether there are any.

    ``sections`` has the changes by section, causes first: asked, machine, order, links, ranks, paths, decisions,
    channels, connections. ``raw`` is everything, in the format xylem-diff-1.
    """

    same_plan: bool
    sections: Dict[str, List[Change]]
    choices: List[ChoiceChange]
    raw: dict

    @classmethod
    def of_json(cls, text: str) -> "Diff":
        """Reads the format xylem-diff-1, which ``xylem diff --json`` prints, too."""
        raw = json.loads(text)
        sections = {name: [_change(c) for c in raw[name]] for name in _SECTIONS if raw.get(name)}
        choices = [
            ChoiceChange(c["collective"], c["fromBytes"], c["toBytes"], c.get("before", ""), c.get("after", ""))
            for c in raw.get("choices", [])
        ]
        return cls(raw["samePlan"], sections, choices, raw)

    def __bool__(self) -> bool:
        return not self.same_plan

    def __repr__(self) -> str:
        lines: List[str] = []
        for name, changes in self.sections.items():
            lines += [_SECTIONS[name]] + [f"  {change}" for change in changes]
        if self.choices:
            lines += ["Choices"] + [f"  {choice}" for choice in self.choices]
        if self.same_plan:
            lines.append("The plan is the same.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts = [html_table(["what", "before", "after"],
                            [[f"{c.kind} {c.what} {', '.join(c.things[:4])}", c.before, c.after] for c in changes],
                            _SECTIONS[name]) for name, changes in self.sections.items()]
        parts += [f"<p>{escape(repr(choice))}</p>" for choice in self.choices]
        return "".join(parts) or "<p>The plan is the same.</p>"


def _change(data: dict) -> Change:
    return Change(data["kind"], data.get("what", ""), data.get("before", ""), data.get("after", ""),
                  [thing["name"] for thing in data.get("things", [])], data.get("whyBefore", ""),
                  data.get("whyAfter", ""))


def diff(a: Plan, b: Plan) -> Diff:
    """Compares two plans: what changed in the machine and in what was asked, and what followed from it.

    >>> diff(plan("dgxh100.xml"), plan("dgxh100.xml", settings={"NCCL_ALGO": "Ring"}))  # doctest: +SKIP
    """
    for side in (a, b):
        if not isinstance(side, Plan):
            raise TypeError(f"diff: found {side!r:.60}; expected two plans of xylem.plan()")
    return Diff.of_json(a._native.diff(b._native, a.name, b.name))
