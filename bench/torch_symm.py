#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
"""PyTorch's symmetric-memory operations beside MPI's collectives on a symmetric window, in one run.

    mpirun -np 2 --mca osc symm python3 bench/torch_symm.py --csv torch.csv    # two GPUs
    mpirun -np 2 --mca osc symm python3 bench/torch_symm.py --kind system      # MPI alone, no PyTorch

Needs mpi4py, of the MPI that mpirun belongs to, and PyTorch (host memory: NumPy instead). Both sides are
called from Python and are complete when a call returns: MPI's by itself, PyTorch's after a
synchronisation of its stream. So both have the interpreter's share in their times. Contestants take
turns and are judged as symm_perf's are, and the CSV file is like its.
"""

import argparse
import ctypes
import gc
import os
import socket
import statistics
import sys
import time
import traceback

# Multicast over NVLink is never used: on shared machines it can put GPUs out of service.
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NCCL_NVLS_ENABLE"] = "0"

import mpi4py  # noqa: E402

mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI  # noqa: E402

FLOAT_BYTES = 4
POISON = -77777.0
WARM_CALLS = 2
LONG_CALL_S = 5e-3  # blocks of longer calls have no calls to warm up
LEAST_ROUNDS = 3
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
COLUMNS = ("op,manner,bytes,contestant,median_us,p10_us,p99_us,min_us,slowest_median_us,"
           "alg_gbs,bus_gbs,ours_to_this,samples,calls_per_sample,wrong,plan")


class Case:
    """An operation at a size: bytes of the buffer, or of each rank's part."""

    def __init__(self, op, in_place, count, ranks):
        self.op, self.in_place, self.count, self.ranks = op, in_place, count, ranks
        self.inputs = count * ranks if op == "reduce_scatter" else count
        self.outputs = count * ranks if op == "allgather" else count

    @property
    def manner(self):
        return "in place" if self.in_place else "out of place"

    def rates(self, seconds):
        """GB/s: the largest buffer over the time, and as nccl-tests count what a link carries."""
        algorithm = max(self.inputs, self.outputs) * FLOAT_BYTES / seconds * 1e-9
        share = (self.ranks - 1) / self.ranks
        return algorithm, algorithm * share * (2 if self.op == "allreduce" else 1)


# ---- arrays, the same for both kinds of memory ----


class HostArrays:
    """Host memory by NumPy."""

    def __init__(self):
        import numpy
        self.xp = numpy

    def view(self, address, count):
        memory = (ctypes.c_char * (count * FLOAT_BYTES)).from_address(address)
        return self.xp.frombuffer(memory, dtype=self.xp.float32)

    def integers(self, count):
        return self.xp.arange(count, dtype=self.xp.int64)

    def floats(self, integers):
        return integers.astype(self.xp.float32)

    def put(self, to, values):
        to[:] = values

    def synchronize(self):
        pass


class GpuArrays:
    """Memory of this rank's GPU by PyTorch, on the stream that all its work goes to."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def view(self, address, count):
        class Holder:
            __cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address, False),
                                        "version": 3}
        return self.torch.as_tensor(Holder(), device=self.device)

    def integers(self, count):
        return self.torch.arange(count, dtype=self.torch.int64, device=self.device)

    def floats(self, integers):
        return integers.to(self.torch.float32)

    def put(self, to, values):
        to.copy_(values)

    def synchronize(self):
        self.torch.cuda.current_stream().synchronize()


def input_of(arrays, count, rank, turn, first=0):
    """Elements [first, first + count) of rank's input: small whole numbers, whose sums are exact."""
    at = arrays.integers(count) + first
    return (at * 7919 + (at >> 10) * 31 + rank * 131 + turn * 17) % 1021 - 510


def expected_of(arrays, case, rank, turn):
    if case.op == "allgather":
        parts = [input_of(arrays, case.count, r, turn) for r in range(case.ranks)]
        return [arrays.floats(part) for part in parts]
    first = rank * case.count if case.op == "reduce_scatter" else 0
    total = input_of(arrays, case.count, 0, turn, first)
    for other in range(1, case.ranks):
        total = total + input_of(arrays, case.count, other, turn, first)
    return [arrays.floats(total)]


# ---- contestants ----


class Contestant:
    """input() and output() are arrays of the case; call() is one blocking call."""

    name = "?"

    def serves(self, case):
        raise NotImplementedError

    def prepare(self, case):
        raise NotImplementedError

    def input(self):
        raise NotImplementedError

    def output(self):
        raise NotImplementedError

    def call(self):
        raise NotImplementedError


class Symm(Contestant):
    """MPI on a symmetric window."""

    name = "symm"

    def __init__(self, arrays, kind, comm, max_count):
        self.arrays, self.comm = arrays, comm
        info = MPI.Info.Create()
        info.Set("symm_memory_kind", kind)
        info.Set("symm_required", "true")
        self.recv_at = -(-max_count * comm.size * FLOAT_BYTES // 4096) * 4096
        self.window = MPI.Win.Allocate(2 * self.recv_at, 1, info, comm)
        info.Free()
        self.base = self.window.Get_attr(MPI.WIN_BASE)
        served = self.window.Get_info()
        if served.Get("symm_memory_kind") != kind:
            raise RuntimeError("the window is an ordinary one: use --mca osc symm, and let "
                               "OMPI_MCA_mca_base_component_path name the plug-ins' folders")
        served.Free()

    def close(self):
        self.window.Free()

    def serves(self, case):
        return True

    def _buffer(self, offset, count):
        memory = getattr(MPI, "buffer", None) or MPI.memory  # mpi4py 4 and 3
        return [memory.fromaddress(self.base + offset, count * FLOAT_BYTES), MPI.FLOAT]

    def prepare(self, case):
        in_at = self.recv_at if case.in_place else 0
        self._input = self.arrays.view(self.base + in_at, case.inputs)
        self._output = self.arrays.view(self.base + self.recv_at, case.outputs)
        send = MPI.IN_PLACE if case.in_place else self._buffer(0, case.inputs)
        recv = self._buffer(self.recv_at, case.outputs)
        comm = self.comm
        if case.op == "allgather":
            self.call = lambda: comm.Allgather(send, recv)
        elif case.op == "reduce_scatter":
            self.call = lambda: comm.Reduce_scatter_block(send, recv, MPI.SUM)
        else:
            self.call = lambda: comm.Allreduce(send, recv, MPI.SUM)

    def input(self):
        return self._input

    def output(self):
        return self._output


class TorchOperation(Contestant):
    """One of torch.ops.symm_mem, on a tensor of PyTorch's symmetric memory."""

    def __init__(self, torch, group, name, op, in_place, start):
        import torch.distributed._symmetric_memory as symmetric
        self.torch, self.symmetric, self.group = torch, symmetric, group
        self.name, self.op, self.in_place, self.start = name, op, in_place, start

    def serves(self, case):
        return case.op == self.op and case.in_place == self.in_place

    def prepare(self, case):
        self.tensor = self.symmetric.empty(case.inputs, dtype=self.torch.float32,
                                           device=self.torch.device("cuda", self.torch.cuda.current_device()))
        self.symmetric.rendezvous(self.tensor, self.group)
        self.case = case
        self.result = None

    def input(self):
        return self.tensor

    def output(self):
        return self.tensor if self.in_place else self.result

    def call(self):
        self.result = self.start(self.tensor, self.group)
        self.torch.cuda.current_stream().synchronize()


def torch_operations(torch, group):
    """All but those that need multicast. A call that PyTorch refuses for a size is left out there."""
    ops = torch.ops.symm_mem
    wait = torch.ops._c10d_functional.wait_tensor
    table = [
        ("torch_one_shot", "allreduce", False, lambda x, g: ops.one_shot_all_reduce(x, "sum", g)),
        ("torch_two_shot", "allreduce", True, lambda x, g: ops.two_shot_all_reduce_(x, "sum", g)),
        ("torch_low_contention", "allgather", False,
         lambda x, g: wait(ops._low_contention_all_gather(x, g))),
        ("torch_low_contention", "reduce_scatter", False,
         lambda x, g: wait(ops._low_contention_reduce_scatter(x, "sum", g))),
    ]
    return [TorchOperation(torch, group, *row) for row in table]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def open_torch(comm, device_index):
    """PyTorch with a process group of all ranks, its work going to a stream of our own."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory  # noqa: F401  registers its operations
    device = torch.device("cuda", device_index)
    torch.cuda.set_device(device)
    torch.zeros(1, device=device)  # the GPU's context becomes current, where the window will be
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(comm.bcast(free_port() if comm.rank == 0 else None))
    dist.init_process_group("nccl", rank=comm.rank, world_size=comm.size, device_id=device)
    torch.cuda.set_stream(torch.cuda.Stream())
    return torch, dist


# ---- measuring: as bench/perf_measure.c ----


class Series:
    """A contestant at a case: how it is timed, and what came out."""

    def __init__(self, contestant):
        self.contestant = contestant
        self.estimate = 0.0
        self.block = 1
        self.blocks = []
        self.wrong = 0


def agree(comm, good):
    return comm.allreduce(bool(good), op=MPI.LAND)


def time_calls(comm, call, count):
    """Seconds per call on the slowest rank."""
    comm.Barrier()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return comm.allreduce((time.perf_counter() - start) / count, op=MPI.MAX)


def verify(comm, arrays, case, contestant, turn):
    """Wrong elements on all ranks, after one call on new inputs."""
    arrays.put(contestant.input(), arrays.floats(input_of(arrays, case.inputs, comm.rank, turn)))
    if not case.in_place and contestant.output() is not None:
        arrays.put(contestant.output(), arrays.floats(arrays.integers(1)) + POISON)
    arrays.synchronize()
    comm.Barrier()
    contestant.call()
    comm.Barrier()
    wrong = 0
    at = 0
    for part in expected_of(arrays, case, comm.rank, turn):
        found = contestant.output()[at:at + len(part)]
        wrong += int((found != part).sum())
        at += len(part)
    wrong += abs(len(contestant.output()) - at)
    return comm.allreduce(wrong)


def open_series(comm, arrays, case, contestants, log):
    """Those that serve the case; one that refuses it on any rank is left out."""
    series = []
    for contestant in contestants:
        if not contestant.serves(case):
            continue
        reason = ""
        try:
            contestant.prepare(case)
            contestant.call()
        except (RuntimeError, AttributeError) as error:  # a size that PyTorch refuses, or no such operation
            reason = str(error).splitlines()[0]
        if agree(comm, not reason):
            series.append(Series(contestant))
        else:
            log(f"# {contestant.name}: left out at {case.count * FLOAT_BYTES} bytes, {reason or 'on another rank'}")
    return series


def plan(comm, options, series):
    """Rounds for all, and a block's samples for each."""
    for s in series:
        s.estimate = time_calls(comm, s.contestant.call, 3)
        if s.estimate < 1e-3:
            s.estimate = time_calls(comm, s.contestant.call, 50)
    slowest = max(s.estimate for s in series)
    rounds = max(LEAST_ROUNDS, min(options.rounds, int(options.time / slowest)))
    for s in series:
        samples = max(1, min(options.iterations, int(options.time / s.estimate)))
        s.block = -(-samples // rounds)
    return rounds


def run_block(comm, s):
    call = s.contestant.call
    samples = []
    comm.Barrier()
    for _ in range(WARM_CALLS if s.estimate < LONG_CALL_S else 0):
        call()
    for _ in range(s.block):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    comm.Barrier()
    s.blocks.append(samples)


def measure(comm, arrays, options, case, contestants, log):
    series = open_series(comm, arrays, case, contestants, log)
    rounds = plan(comm, options, series)
    for s in series:
        s.wrong = verify(comm, arrays, case, s.contestant, 1)
    gc.collect()
    gc.disable()
    for turn in range(rounds):
        for s in series if turn % 2 == 0 else reversed(series):
            run_block(comm, s)
    gc.enable()
    for s in series:
        s.wrong += verify(comm, arrays, case, s.contestant, 2)
    return series


# ---- output: as bench/perf_output.c ----


def row_of(comm, case, series, s):
    """The figures of one contestant, as in a row of the CSV file."""
    samples = sorted(sample for block in s.blocks for sample in block)
    median = statistics.median(samples)
    slowest = comm.allreduce(median, op=MPI.MAX)
    ratio = statistics.median(statistics.median(a) / statistics.median(b)
                              for a, b in zip(series[0].blocks, s.blocks))

    def at(share):
        return samples[min(len(samples) - 1, int(share * len(samples)))] * 1e6
    algorithm, bus = case.rates(median)
    return {"name": s.contestant.name, "median": median * 1e6, "ratio": ratio, "bus": bus, "wrong": s.wrong,
            "csv": f"{case.op},{case.manner},{case.count * FLOAT_BYTES},{s.contestant.name},{median * 1e6:.4f},"
                   f"{at(0.1):.4f},{at(0.99):.4f},{samples[0] * 1e6:.4f},{slowest * 1e6:.4f},{algorithm:.4f},"
                   f"{bus:.4f},{ratio:.4f},{len(samples)},1,{s.wrong},"}


def print_row(case, rows):
    line = f"{case.count * FLOAT_BYTES:10d} {rows[0]['median']:10.2f} {rows[0]['bus']:8.2f}"
    for row in rows[1:]:
        line += f" | {row['name']} {row['median']:10.2f} {row['ratio']:6.3f}"
    print(line + (" WRONG" if any(row["wrong"] for row in rows) else ""), flush=True)


def sizes_of(options):
    size = options.min
    while size < options.max:
        yield size
        size *= options.factor
    yield options.max


def run_all(comm, arrays, options, contestants, out, log):
    """Returns how many elements were wrong."""
    wrong = 0
    for op in options.ops:
        for in_place in (False, True) if op == "allreduce" else (False,):
            log(f"\n# {op}, {'in place' if in_place else 'out of place'}: bytes, symm us, bus GB/s | other, us, ratio")
            for size in sizes_of(options):
                case = Case(op, in_place, size // FLOAT_BYTES, comm.size)
                series = measure(comm, arrays, options, case, contestants, log)
                rows = [row_of(comm, case, series, s) for s in series]
                wrong += sum(row["wrong"] for row in rows)
                if comm.rank == 0:
                    print_row(case, rows)
                    out.write("".join(row["csv"] + "\n" for row in rows))
                    out.flush()
    return wrong


def parse_size(text):
    unit = UNITS.get(text[-1:].upper())
    size = int(text[:-1]) * unit if unit else int(text)
    if size <= 0 or size % FLOAT_BYTES:
        raise argparse.ArgumentTypeError(f"{text} is no multiple of {FLOAT_BYTES} bytes")
    return size


def parse_ops(text):
    ops = text.split(",")
    for op in ops:
        if op not in ("allreduce", "allgather", "reduce_scatter"):
            raise argparse.ArgumentTypeError(f"{op} is no operation")
    return ops


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=("cuda:device", "system"), default="cuda:device",
                        help="memory of the window; system leaves PyTorch out [cuda:device]")
    parser.add_argument("--ops", type=parse_ops, default=["allreduce", "allgather", "reduce_scatter"],
                        help="of allreduce,allgather,reduce_scatter [all]")
    parser.add_argument("--min", type=parse_size, default=16, help="smallest size [16]")
    parser.add_argument("--max", type=parse_size, default=256 << 20,
                        help="largest size, of a rank's part where ranks have parts [256M]")
    parser.add_argument("--factor", type=int, default=4, help="from one size to the next [4]")
    parser.add_argument("--time", type=float, default=0.2, help="seconds of a contestant at a size [0.2]")
    parser.add_argument("--rounds", type=int, default=10, help="alternate at most so many times [10]")
    parser.add_argument("--iterations", type=int, default=2000, help="most samples of a contestant [2000]")
    parser.add_argument("--csv", default=os.devnull, help="write all figures to this file")
    options = parser.parse_args()
    if options.factor < 2 or options.min > options.max:
        parser.error("--factor is 2 at least, and --min not above --max")
    return options


def compete(options, comm, log):
    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    torch = dist = None
    if options.kind == "system":
        arrays, peers = HostArrays(), []
    else:
        torch, dist = open_torch(comm, host.rank)
        arrays = GpuArrays(torch, torch.device("cuda", host.rank))
        peers = torch_operations(torch, dist.group.WORLD.group_name)
    host.Free()
    with_window = comm.Dup()
    symm = Symm(arrays, options.kind, with_window, options.max // FLOAT_BYTES)
    out = open(options.csv if comm.rank == 0 else os.devnull, "w", encoding="utf-8")
    versions = f"mpi4py {mpi4py.__version__}" + (f", PyTorch {torch.__version__}" if torch else "")
    heading = f"# torch_symm.py, {comm.size} ranks, {options.kind} memory, {versions}"
    log(heading)
    out.write(f"{heading}\n{COLUMNS}\n")
    wrong = run_all(comm, arrays, options, [symm] + peers, out, log)
    out.close()
    log(f"\n# verified: {wrong or 'no'} wrong elements")
    symm.close()
    with_window.Free()
    if dist:
        dist.destroy_process_group()
    return 1 if wrong else 0


def main():
    options = parse_options()
    comm = MPI.COMM_WORLD

    def log(text):
        if comm.rank == 0:
            print(text, flush=True)
    try:
        return compete(options, comm.Dup(), log)
    except BaseException:  # the other ranks may wait for this one
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
        raise


if __name__ == "__main__":
    sys.exit(main())
