"""Xylem: what NCCL would do with a job, and collectives on CPUs.

The planner, without a GPU::

    import xylem
    plan = xylem.plan("topologies/dgxh100.xml", hosts=2)
    plan.rings[0]                       # the ranks of the first channel's ring
    plan.tune("AllReduce", ["8", "1M"]) # algorithm, protocol and predicted time
    plan.why("gdr gpu0 nic1")           # which rule decided, on which numbers
    xylem.diff(plan, xylem.plan("topologies/dgxh100.xml", hosts=2, settings={"NCCL_CROSS_NIC": "0"}))

``import xylem.torch`` gives PyTorch a process-group back-end named ``xylem``.
"""

from .answers import Answer, Input, Source, Step, Table, WhatIf
from .comparing import Change, ChoiceChange, Diff, diff
from .planning import Candidate, Choice, Graph, Host, Path, Plan, PlanError, Tree, plan
from .sizes import parse_size

__all__ = [
    "Answer", "Candidate", "Change", "Choice", "ChoiceChange", "Diff", "Graph", "Host", "Input", "Path", "Plan", "PlanError",
    "Source", "Step", "Table", "Tree", "WhatIf", "diff", "parse_size", "plan",
]
