"""Answers to questions about a plan: which rule decided, on which numbers, and what would move it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from typing import Dict, List, Optional

from .tables import html_table, text_table


@dataclass(frozen=True)
class Source:
    """The place in a topology file that an input comes from; line 0 if it was detected."""

    file: str
    line: int
    element: str


@dataclass(frozen=True)
class Input:
    """One thing that a rule looked at."""

    name: str
    value: str


@dataclass(frozen=True)
class Step:
    """One rule that was applied.

    ``yes`` is None for rules that neither allow nor refuse; ``variable`` names the NCCL variable that moves the rule.
    """

    rule: str
    text: str
    yes: Optional[bool]
    inputs: List[Input]
    threshold: str
    variable: Optional[str]
    sources: List[Source]

    def input(self, name: str) -> Optional[str]:
        """The value of an input, or None if the rule has no such input."""
        return next((i.value for i in self.inputs if i.name == name), None)


@dataclass(frozen=True)
class Table:
    """Numbers that belong to an answer."""

    title: str
    columns: List[str]
    rows: List[List[str]]

    def __repr__(self) -> str:
        return f"{self.title}\n{text_table(self.columns, self.rows)}"

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows, self.title)


@dataclass(frozen=True)
class WhatIf:
    """The effect of another setting; planned, not guessed."""

    setting: str
    outcome: str


@dataclass(frozen=True, repr=False)
class Answer:
    """Why something in a plan is as it is; see `Plan.why`."""

    question: str
    yes: Optional[bool]
    headline: str
    steps: List[Step] = field(default_factory=list)
    tables: List[Table] = field(default_factory=list)
    what_if: List[WhatIf] = field(default_factory=list)
    notes: List[str] = field(default_factory=list)

    @classmethod
    def of_json(cls, text: str) -> "Answer":
        """Reads the format xylem-why-1, which ``xylem why --json`` prints, too."""
        data: Dict = json.loads(text)
        steps = [
            Step(s["rule"], s["text"], s["yes"], [Input(*pair) for pair in s["inputs"].items()], s["threshold"],
                 s["variable"], [Source(**source) for source in s["sources"]])
            for s in data["steps"]
        ]
        return cls(data["question"], data["yes"], data["headline"], steps,
                   [Table(**table) for table in data["tables"]], [WhatIf(**w) for w in data["whatIf"]], data["notes"])

    def step(self, rule: str) -> Optional[Step]:
        """The first step of this rule, or None."""
        return next((s for s in self.steps if s.rule == rule), None)

    def __repr__(self) -> str:
        lines = [self.headline]
        for step in self.steps:
            mark = {True: "+", False: "x", None: "-"}[step.yes]
            lines += ["", f"  {mark}  {step.text}", f"     rule       {step.rule}"]
            if step.inputs:
                lines.append("     inputs     " + "; ".join(f"{i.name}: {i.value}" for i in step.inputs))
            if step.threshold:
                lines.append(f"     threshold  {step.threshold}")
            if step.variable:
                lines.append(f"     variable   {step.variable}")
            lines += [f"     from       {s.file}:{s.line}  {s.element}" for s in step.sources[:1]]
        for table in self.tables:
            lines += ["", repr(table)]
        lines += [f"\nWhat if {w.setting}: {w.outcome}" for w in self.what_if]
        return "\n".join(lines + [f"\nNote: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        rows = [[s.rule, s.text, "; ".join(f"{i.name}: {i.value}" for i in s.inputs), s.variable or ""]
                for s in self.steps]
        parts = [f"<p><b>{escape(self.headline)}</b></p>", html_table(["rule", "outcome", "inputs", "variable"], rows)]
        parts += [table._repr_html_() for table in self.tables]
        parts += [f"<p>What if {escape(w.setting)}: {escape(w.outcome)}</p>" for w in self.what_if]
        return "".join(parts)
