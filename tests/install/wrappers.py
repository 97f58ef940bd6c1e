#!/usr/bin/env python3
"""The call sequences of Python wrappers that load NCCL and the CUDA runtime by name, as two processes.

    LD_LIBRARY_PATH=PREFIX/lib/xylem/as-nccl wrappers.py

One part each for a wrapper that passes structures by value and finds the runtime among the mapped files (inference
servers), one with a communicator per device of one process (array libraries), and one that asks for every function by
name and configures communicators (bindings that are generated from nccl.h).
"""

import ctypes
import multiprocessing
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_uint, c_void_p

RANKS = 2
FLOAT, SUM = 7, 0
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
INT_MIN = -(2**31)


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", c_char * 128)]


class IpcHandle(ctypes.Structure):
    _fields_ = [("internal", c_char * 64)]


class Config(ctypes.Structure):
    """ncclConfig_t as NCCL 2.22 had it."""

    _fields_ = [
        ("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("blocking", c_int), ("cgaClusterSize", c_int),
        ("minCTAs", c_int), ("maxCTAs", c_int), ("netName", c_char_p), ("splitShare", c_int),
    ]


def new_config(blocking):
    undefined = INT_MIN
    return Config(ctypes.sizeof(Config), 0xCAFEBEEF, 22200, blocking, undefined, undefined, undefined, None, undefined)


class Library:
    """Functions of a library, each with a check of its result."""

    def __init__(self, name, describe, signatures):
        self.library = ctypes.CDLL(name)
        self.describe = getattr(self.library, describe)
        self.describe.restype = c_char_p
        for function, arguments in signatures.items():
            pointer = getattr(self.library, function)
            pointer.restype = c_int
            pointer.argtypes = arguments
            setattr(self, function, self.checked(function, pointer))

    def checked(self, name, pointer):
        def call(*arguments):
            result = pointer(*arguments)
            if result != 0:
                raise RuntimeError(f"{name}: {self.describe(result).decode()}")

        return call


def nccl():
    comm, stream, buffer = c_void_p, c_void_p, c_void_p
    collective = [buffer, buffer, c_size_t, c_int, c_int, comm, stream]
    return Library("libnccl.so.2", "ncclGetErrorString", {
        "ncclGetVersion": [POINTER(c_int)],
        "ncclGetUniqueId": [POINTER(UniqueId)],
        "ncclCommInitRank": [POINTER(comm), c_int, UniqueId, c_int],
        "ncclCommInitRankConfig": [POINTER(comm), c_int, UniqueId, c_int, POINTER(Config)],
        "ncclCommInitAll": [POINTER(comm), c_int, POINTER(c_int)],
        "ncclCommSplit": [comm, c_int, c_int, POINTER(comm), POINTER(Config)],
        "ncclCommCount": [comm, POINTER(c_int)],
        "ncclCommUserRank": [comm, POINTER(c_int)],
        "ncclCommCuDevice": [comm, POINTER(c_int)],
        "ncclCommGetAsyncError": [comm, POINTER(c_int)],
        "ncclCommFinalize": [comm],
        "ncclCommDestroy": [comm],
        "ncclCommAbort": [comm],
        "ncclCommRegister": [comm, buffer, c_size_t, POINTER(c_void_p)],
        "ncclCommDeregister": [comm, c_void_p],
        "ncclMemAlloc": [POINTER(c_void_p), c_size_t],
        "ncclMemFree": [c_void_p],
        "ncclRedOpCreatePreMulSum": [POINTER(c_int), c_void_p, c_int, c_int, comm],
        "ncclRedOpDestroy": [c_int, comm],
        "ncclAllReduce": collective,
        "ncclReduceScatter": collective,
        "ncclReduce": [buffer, buffer, c_size_t, c_int, c_int, c_int, comm, stream],
        "ncclAllGather": [buffer, buffer, c_size_t, c_int, comm, stream],
        "ncclBroadcast": [buffer, buffer, c_size_t, c_int, c_int, comm, stream],
        "ncclSend": [buffer, c_size_t, c_int, c_int, comm, stream],
        "ncclRecv": [buffer, c_size_t, c_int, c_int, comm, stream],
        "ncclGroupStart": [],
        "ncclGroupEnd": [],
    })


def cuda(name):
    return Library(name, "cudaGetErrorString", {
        "cudaRuntimeGetVersion": [POINTER(c_int)],
        "cudaSetDevice": [c_int],
        "cudaDeviceSynchronize": [],
        "cudaMalloc": [POINTER(c_void_p), c_size_t],
        "cudaFree": [c_void_p],
        "cudaMemset": [c_void_p, c_int, c_size_t],
        "cudaMemcpy": [c_void_p, c_void_p, c_size_t, c_int],
        "cudaStreamCreate": [POINTER(c_void_p)],
        "cudaStreamSynchronize": [c_void_p],
        "cudaStreamDestroy": [c_void_p],
        "cudaIpcGetMemHandle": [POINTER(IpcHandle), c_void_p],
        "cudaIpcOpenMemHandle": [POINTER(c_void_p), IpcHandle, c_uint],
    })


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: {found} instead of {wanted}")


class Memory:
    """Floats in the memory of the current device."""

    def __init__(self, runtime, values):
        self.runtime, self.count = runtime, len(values)
        self.pointer = c_void_p()
        runtime.cudaMalloc(byref(self.pointer), 4 * self.count)
        host = (c_float * self.count)(*values)
        runtime.cudaMemcpy(self.pointer, host, 4 * self.count, HOST_TO_DEVICE)

    def values(self):
        host = (c_float * self.count)()
        self.runtime.cudaMemcpy(host, self.pointer, 4 * self.count, DEVICE_TO_HOST)
        return list(host)


def mapped_file(part):
    """The path of a mapped file whose name begins with `part`."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if path.rpartition("/")[2].startswith(part):
                return path
    raise AssertionError(f"no file {part}* is mapped")


def serve(rank, id_bytes, pipe):
    """Rank of a job of two processes: structures by value, and memory of the peer."""
    ctypes.CDLL("libcudart.so.12")
    runtime = cuda(mapped_file("libcudart"))
    runtime.cudaSetDevice(rank)
    library = nccl()
    version = c_int()
    library.ncclGetVersion(byref(version))
    if version.value < 22000:
        raise AssertionError(f"version {version.value}")
    unique_id = UniqueId()
    ctypes.memmove(byref(unique_id), id_bytes, 128)
    comm, stream = c_void_p(), c_void_p()
    library.ncclCommInitRank(byref(comm), RANKS, unique_id, rank)
    runtime.cudaStreamCreate(byref(stream))

    data = Memory(runtime, [rank + 1.0] * 1000)
    library.ncclAllReduce(data.pointer, data.pointer, 1000, FLOAT, SUM, comm, stream)
    runtime.cudaStreamSynchronize(stream)
    expect(data.values(), [3.0] * 1000, "all_reduce")
    gathered = Memory(runtime, [0.0] * 20)
    library.ncclAllGather(Memory(runtime, [float(rank)] * 10).pointer, gathered.pointer, 10, FLOAT, comm, stream)
    runtime.cudaStreamSynchronize(stream)
    expect(gathered.values(), [0.0] * 10 + [1.0] * 10, "all_gather")
    part = Memory(runtime, [0.0] * 10)
    library.ncclReduceScatter(gathered.pointer, part.pointer, 10, FLOAT, SUM, comm, stream)
    runtime.cudaStreamSynchronize(stream)
    expect(part.values(), [2.0 * rank] * 10, "reduce_scatter")
    received = Memory(runtime, [0.0] * 1000)
    library.ncclGroupStart()
    library.ncclSend(data.pointer, 1000, FLOAT, 1 - rank, comm, stream)
    library.ncclRecv(received.pointer, 1000, FLOAT, 1 - rank, comm, stream)
    library.ncclGroupEnd()
    runtime.cudaStreamSynchronize(stream)
    expect(received.values(), [3.0] * 1000, "send and receive")

    # The memory of the other process.
    handle = IpcHandle()
    runtime.cudaMemset(data.pointer, 0, 4000)
    runtime.cudaIpcGetMemHandle(byref(handle), data.pointer)
    pipe.send(bytes(handle))
    peer = c_void_p()
    theirs = IpcHandle.from_buffer_copy(pipe.recv())
    runtime.cudaIpcOpenMemHandle(byref(peer), theirs, 1)
    runtime.cudaMemset(peer, 0x40, 4)
    runtime.cudaDeviceSynchronize()
    pipe.send("written")
    pipe.recv()
    expect(data.values()[:2], [3.0039215087890625, 0.0], "memory that the other process wrote")

    configure(library, runtime, rank, comm, stream)
    library.ncclCommDestroy(comm)
    runtime.cudaStreamDestroy(stream)


def configure(library, runtime, rank, comm, stream):
    """Communicators with a configuration, their own memory, and an operation of the user."""
    child = c_void_p()
    config = new_config(blocking=1)
    library.ncclCommSplit(comm, 0, RANKS - rank, byref(child), byref(config))
    count, place = c_int(), c_int()
    library.ncclCommCount(child, byref(count))
    library.ncclCommUserRank(child, byref(place))
    expect((count.value, place.value), (RANKS, RANKS - 1 - rank), "ranks of the split")

    memory, handle = c_void_p(), c_void_p()
    library.ncclMemAlloc(byref(memory), 4096)
    library.ncclCommRegister(child, memory, 4096, byref(handle))
    scale, operation = c_float(0.5), c_int()
    library.ncclRedOpCreatePreMulSum(byref(operation), byref(scale), FLOAT, 1, child)
    values = (c_float * 1024)(*[rank + 1.0] * 1024)
    runtime.cudaMemcpy(memory, values, 4096, HOST_TO_DEVICE)
    library.ncclAllReduce(memory, memory, 1024, FLOAT, operation, child, stream)
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaMemcpy(values, memory, 4096, DEVICE_TO_HOST)
    expect(list(values), [1.5] * 1024, "scaled sum")
    library.ncclRedOpDestroy(operation, child)
    library.ncclCommDeregister(child, handle)
    library.ncclCommFinalize(child)
    state = c_int(-1)
    library.ncclCommGetAsyncError(child, byref(state))
    expect(state.value, 0, "state of the finalized communicator")
    library.ncclCommDestroy(child)
    library.ncclMemFree(memory)


def one_process():
    """A communicator per device of this process, whose calls stand in groups."""
    library, runtime = nccl(), cuda("libcudart.so.12")
    comms = (c_void_p * RANKS)()
    library.ncclCommInitAll(comms, RANKS, (c_int * RANKS)(*range(RANKS)))
    data, streams = [], []
    for device in range(RANKS):
        runtime.cudaSetDevice(device)
        found = c_int(-1)
        library.ncclCommCuDevice(comms[device], byref(found))
        expect(found.value, device, "device")
        data.append(Memory(runtime, [device + 1.0] * 100))
        streams.append(c_void_p())
        runtime.cudaStreamCreate(byref(streams[-1]))
    library.ncclGroupStart()
    for device in range(RANKS):
        pointer = data[device].pointer
        library.ncclReduce(pointer, pointer, 100, FLOAT, SUM, 0, comms[device], streams[device])
        library.ncclBroadcast(pointer, pointer, 100, FLOAT, 0, comms[device], streams[device])
    library.ncclGroupEnd()
    for device in range(RANKS):
        runtime.cudaSetDevice(device)
        runtime.cudaStreamSynchronize(streams[device])
        expect(data[device].values(), [3.0] * 100, "reduce and broadcast")
        library.ncclCommAbort(comms[device])


def main():
    unique_id = UniqueId()
    nccl().ncclGetUniqueId(byref(unique_id))
    ends = multiprocessing.get_context("spawn").Pipe()
    ranks = [
        multiprocessing.get_context("spawn").Process(target=serve, args=(rank, bytes(unique_id), ends[rank]))
        for rank in range(RANKS)
    ]
    for process in ranks:
        process.start()
    one_process()
    for process in ranks:
        process.join(60)
    codes = [process.exitcode for process in ranks]
    if codes != [0] * RANKS:
        for process in ranks:
            process.kill()
        sys.exit(f"exit codes of the ranks: {codes}")


if __name__ == "__main__":
    main()
