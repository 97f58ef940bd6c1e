"""Plans: what NCCL would do with a job, as values."""

from __future__ import annotations

import json
import operator
import os
import shlex
import warnings
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _planner
from .answers import Answer
from .sizes import Size, parse_size, size_text
from .tables import TableList, html_table, text_table

PlanError = _planner.PlanError
PlanError.__doc__ = "The description, a setting or the size of the job cannot be used; the text names file and line."

COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce")
# As `xylem tune` without sizes: 8 bytes to 8 GiB, each eight times the one before.
_SIZES = tuple(8 << (3 * i) for i in range(11))
_NODE_KINDS = ("GPU/", "NET/", "NIC/", "PCI/", "CPU/", "NVS/")


@dataclass(frozen=True)
class Host:
    """Hosts of a job that are alike and follow each other; ``gpus`` are device numbers, in rank order; without, all of the
    file."""

    file: str
    gpus: Tuple[int, ...] = ()
    count: int = 1


@dataclass(frozen=True)
class Graph:
    """The channels of one pattern inside a host. Bandwidths in GB/s (1e9 bytes per second) per channel; types are the
    worst path inside the host and to the network devices: LOC, NVL, NVB, PIX, PXB, P2C, PXN, PHB, SYS."""

    pattern: str
    bandwidth_intra: float
    bandwidth_inter: float
    type_intra: str
    type_inter: str
    channels: List[List[int]]


@dataclass(frozen=True)
class Tree:
    """A rank's place in the tree of a channel; ``up`` is None at the root."""

    up: Optional[int]
    down: List[int]


@dataclass(frozen=True)
class Path:
    """The best path between two nodes of a host: its type, GB/s, and the nodes on the way."""

    source: str
    target: str
    type: str
    bandwidth: float
    via: List[str]


@dataclass(frozen=True)
class Candidate:
    """An algorithm under a protocol, and the time that NCCL predicts for some collective."""

    algorithm: str
    protocol: str
    microseconds: float


@dataclass(frozen=True)
class Choice:
    """NCCL's choice for a collective of ``bytes`` bytes, and the time that it predicts.

    ``candidates`` are all that could run it, from the fastest on."""

    collective: str
    bytes: int
    algorithm: str
    protocol: str
    microseconds: float
    channels: int
    warps: int
    candidates: List[Candidate] = field(default_factory=list, repr=False)

    @property
    def runner_up(self) -> Optional[Candidate]:
        """The next best, or None if nothing else could run it."""
        return self.candidates[1] if len(self.candidates) > 1 else None


class Choices(TableList):
    """Choices by collective and size; prints as a table."""

    columns = ("collective", "size", "algorithm", "protocol", "channels", "warps", "us", "runner-up")

    @staticmethod
    def row(choice: Choice) -> Sequence[str]:
        """The cells of one choice."""
        second = choice.runner_up
        behind = f"{second.algorithm}/{second.protocol} {second.microseconds / choice.microseconds:.2f}x" if second else ""
        return (choice.collective, size_text(choice.bytes), choice.algorithm, choice.protocol, str(choice.channels),
                str(choice.warps), f"{choice.microseconds:.1f}", behind)


class Paths(TableList):
    """Paths between nodes; prints as a table."""

    columns = ("from", "to", "type", "GB/s", "hops")

    @staticmethod
    def row(path: Path) -> Sequence[str]:
        """The cells of one path."""
        return (path.source, path.target, path.type, f"{path.bandwidth:.1f}", str(len(path.via)))


class Plan:
    """The plan that NCCL would make of a job. Made by `plan`; never changes. `diff` compares two.

    Equal plans have the same job and all the same decisions. A pickled plan is what it was made of, and is planned again
    where it is unpickled: a topology file must be there, too.
    """

    def __init__(self, native: _planner.JobPlan, name: str, job: tuple) -> None:
        self._native = native
        self.name = name
        self._job = job

    def __reduce__(self) -> tuple:
        return _plan_again, (self.name, self._job)

    def __eq__(self, other: object) -> bool:
        return self._native.json() == other._native.json() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._native.json())

    @property
    def assumptions(self) -> List[str]:
        """The plan's assumptions where nothing was said, a sentence each: NVLS, NICs that the settings select."""
        return self._native.assumptions()

    @property
    def ranks(self) -> int:
        """Ranks of the job."""
        return self._native.ranks()

    @property
    def nodes(self) -> int:
        """Nodes as NCCL counts them: GPUs that reach each other without the network."""
        return self._native.nodes()

    @property
    def channels(self) -> int:
        """Channels of the job."""
        return self._native.channels()

    def ring(self, channel: int) -> List[int]:
        """The ranks of a channel's ring, from rank 0."""
        return self._native.ring(channel)

    @property
    def rings(self) -> List[List[int]]:
        """The rings of all channels."""
        return [self.ring(channel) for channel in range(self.channels)]

    def tree(self, rank: int, channel: int = 0) -> Tree:
        """A rank's place in the tree of a channel."""
        up, down = self._native.tree(rank, channel)
        return Tree(None if up < 0 else up, down)

    @property
    def ring_graph(self) -> Graph:
        """The rings inside the first rank's host."""
        return Graph(**self._native.ring_graph())

    @property
    def tree_graph(self) -> Graph:
        """The trees inside the first rank's host."""
        return Graph(**self._native.tree_graph())

    def paths(self, source: str = "", target: str = "") -> Paths:
        """The paths inside the first kind of host, from GPUs and network devices to all nodes. ``source`` and ``target``
        are the first letters of the nodes' names, in either case: ``paths("GPU", "NET")``, ``paths("GPU/0-1b000")``."""
        data = self.json()
        host = data.get("host") or data["hosts"][0]
        all_paths = [Path(p["from"], p["to"], p["type"], p["bandwidth"], p["via"]) for p in host["paths"]]
        starts = [_node_prefix("source", source), _node_prefix("target", target)]
        return Paths(p for p in all_paths
                     if p.source.upper().startswith(starts[0]) and p.target.upper().startswith(starts[1]))

    def choice(self, collective: str, size: Size) -> Choice:
        """The choice for a collective of 32-bit floats. ``size`` counts all ranks' data for AllGather and
        ReduceScatter: bytes, or such as ``"16M"``."""
        count = parse_size(size)
        found = self._native.choice(collective, count)
        candidates = [Candidate(*candidate) for candidate in found.pop("candidates")]
        return Choice(collective, count, candidates=candidates, **found)

    def tune(self, collectives: Union[str, Iterable[str]] = COLLECTIVES,
             sizes: Union[Size, Iterable[Size]] = _SIZES) -> Choices:
        """The choices for these collectives and sizes, or for a single one of each, as a table."""
        names = [collectives] if isinstance(collectives, str) else list(collectives)
        one = isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable)
        counts = [parse_size(size) for size in ([sizes] if one else sizes)]
        return Choices(self.choice(name, count) for name in names for count in counts)

    def why(self, question: Union[str, Sequence[str]]) -> Answer:
        """The reason why something is as it is. Questions are those of ``xylem why``: ``"gdr gpu0 nic2"``, ``"channels ring"``.

        Plans again where an answer needs it. Raises `PlanError`, with what could be meant, for other questions.
        """
        try:
            words = shlex.split(question) if isinstance(question, str) else [str(word) for word in question]
        except (TypeError, ValueError) as error:
            raise PlanError(f"{question!r} is no question: {error}; expected one such as 'gdr gpu0 nic2'") from None
        return Answer.of_json(self._native.why(words))

    def log(self) -> List[str]:
        """The lines that NCCL would log about it with NCCL_DEBUG=INFO."""
        return self._native.log()

    def json(self) -> dict:
        """Everything, in the format xylem-plan-1."""
        return json.loads(self._native.json())

    def _rows(self) -> List[List[str]]:
        graphs = {"ring": self.ring_graph, "tree": self.tree_graph}
        return [[name, g.pattern, str(len(g.channels)), f"{g.bandwidth_intra:.1f}", f"{g.bandwidth_inter:.1f}",
                 g.type_intra, g.type_inter] for name, g in graphs.items()]

    _COLUMNS = ("graph", "pattern", "channels", "GB/s", "to NETs", "GPU-GPU", "GPU-NET")

    def _headline(self) -> str:
        return f"{self.name}: {self.ranks} ranks on {self.nodes} nodes, {self.channels} channels"

    def __repr__(self) -> str:
        return f"{self._headline()}\n{text_table(self._COLUMNS, self._rows())}"

    def _repr_html_(self) -> str:
        return html_table(self._COLUMNS, self._rows(), self._headline())


Machine = Union[str, os.PathLike, Host, Sequence[Host]]


def _whole(name: str, value: object) -> int:
    """A positive number that the planner's `int` holds."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if not 1 <= number < 1 << 31:
        raise PlanError(f"{name}: found {value!r:.60}; expected a whole number from 1 on")
    return number


def _node_prefix(name: str, value: object) -> str:
    """In capitals. Raises PlanError if nodes of no kind are called so."""
    prefix = value.upper() if isinstance(value, str) else None
    if prefix is None or not any(kind.startswith(prefix) or prefix.startswith(kind) for kind in _NODE_KINDS):
        raise PlanError(f"{name}: found {value!r:.60}; expected a node or how its name begins, such as 'GPU', 'NET/0-1'")
    return prefix


def _file(name: str, value: object) -> str:
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text or "\n" in text:
        raise PlanError(f"{name}: found {value!r:.60}; expected the name of a topology file")
    return text


def _group(host: object) -> Tuple[str, List[int], int]:
    if not isinstance(host, Host):
        raise PlanError(f"machine: found {host!r:.60} in the list; expected xylem.Host values")
    try:
        gpus = [] if host.gpus is None else [operator.index(gpu) for gpu in host.gpus]
    except TypeError:
        raise PlanError(f"Host.gpus: found {host.gpus!r:.60}; expected device numbers, such as (0, 1)") from None
    return _file("Host.file", host.file), gpus, _whole("Host.count", host.count)


def plan(machine: Machine, hosts: int = 1, settings: Optional[Mapping[str, object]] = None,
         nvls: Optional[bool] = None, collnet: bool = False, nccl: str = "") -> Plan:
    """Plans a job as a version of NCCL would: the newest known one, unless ``nccl`` names another, such as "2.27.7".

    ``machine`` is a topology file, topology XML as text, a `Host`, or a list of `Host` for hosts that differ (their
    ``count`` takes the place of ``hosts``). A job on one host uses no NICs, so ``xylem plan FILE`` plans two where the file has some; here it is
    one. ``settings`` are NCCL's variables; the environment is not read. ``nvls`` and ``collnet`` say what driver and
    network offer; without ``nvls``, a driver is assumed to offer it where the machine has the hardware. Doubtful input is
    a `UserWarning`. Raises `PlanError`, which names file and line.

    >>> plan("dgxh100.xml", hosts=2, settings={"NCCL_CROSS_NIC": 0}).channels  # doctest: +SKIP
    16
    """
    if not isinstance(settings or {}, Mapping):
        raise PlanError(f"settings: found {settings!r:.60}; expected a dict, such as {{'NCCL_ALGO': 'Ring'}}")
    if nvls not in (None, False, True) or collnet not in (False, True):
        raise PlanError(f"nvls, collnet: found {nvls!r:.60}, {collnet!r:.60}; expected True or False")
    pairs: Dict[str, str] = {str(name): str(value) for name, value in (settings or {}).items()}
    if nccl:
        pairs["XYLEM_NCCL"] = str(nccl)
    name, make, *request = _request(machine, hosts)
    job = (make, *request, pairs, None if nvls is None else bool(nvls), bool(collnet))
    made = _plan_again(name + "".join(f" {key}={value}" for key, value in pairs.items()), job)
    for warning in made._native.warnings():
        warnings.warn(warning, stacklevel=2)
    return made


def _plan_again(name: str, job: tuple) -> Plan:
    make, *request = job
    return Plan(getattr(_planner.JobPlan, make)(*request), name, job)


def _request(machine: Machine, hosts: int) -> tuple:
    """A name for the job, the constructor of `_planner.JobPlan` for it, and that one's first arguments."""
    if isinstance(machine, (str, os.PathLike)):
        count = _whole("hosts", hosts)
        if isinstance(machine, str) and machine.lstrip().startswith("<"):
            return "(text)", "of_xml", machine, count
        file = _file("machine", machine)
        return os.path.basename(file), "of_file", file, count
    if isinstance(machine, (bytes, Mapping)) or not isinstance(machine, (Host, Iterable)):
        raise PlanError(f"machine: found {machine!r:.60}; expected a topology file, its text, or a list of xylem.Host")
    if hosts != 1:
        raise PlanError(f"hosts: found {hosts!r:.60} beside xylem.Host; expected xylem.Host(..., count={hosts!r:.60})")
    groups = [_group(host) for host in ([machine] if isinstance(machine, Host) else machine)]
    name = " ".join(os.path.basename(file) for file, _, _ in groups)
    return name, "of_hosts", groups
