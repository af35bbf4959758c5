"""Pipelines: frames from a producer to a consumer, in stages with buffers on the host and on the device.
`docs/pipelines.md` teaches them.

Each end belongs to one thread at a time. A call that waits releases the interpreter's lock.
"""

import contextlib
import ctypes
import re
import weakref

from . import _calls as calls, _tasks as base
from ._lib import BY_ADDRESSES, DEVICE_TO_HOST, HOST_TO_DEVICE, Ended, Error, FrameError

# The fate of frames when the consumer is behind.
BEHIND = {"block": 0, "drop-newest": 1, "drop-oldest": 2, "latest-only": 3}
# The end of a frame, as its record has it.
_ENDS = (None, "delivered", "full", "replaced", "overdue", "given-up", "failed")


_number, _long, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_SPANS = ("period_ns", "deadline_ns", "tolerance_ns", "work_span_ns", "raise_within_ns", "records_max")
_COUNTS = ("frames", "delivered", "late", "full", "replaced", "overdue", "given_up", "failed", "under_way")
_COUNTS += ("records_lost",)
_TIMES = ("captured_ns", "committed_ns", "taken_ns", "ended_ns")
_Options = calls.structure(
    "_Options",
    *[("stages", _number), ("name", ctypes.c_char_p), ("bytes", _long)],
    *[("priority", ctypes.c_int), ("behind", ctypes.c_int), *((name, _long) for name in _SPANS)],
    ("admission", _pointer),
)
_Frame = calls.structure(
    "_Frame",
    *[("is_dropped", _number), ("number", _long), ("host", _pointer), ("device", _pointer), ("bytes", _long)],
    *[("priority", ctypes.c_int), ("reserved", _number)],
)
_Record = calls.structure("_Record", ("end", ctypes.c_int), ("number", _long), *((name, _long) for name in _TIMES))
_Statistics = calls.structure("_Statistics", ("reserved", _number), *((name, _long) for name in _COUNTS))


def _prototypes():
    place, size = ctypes.POINTER(_pointer), ctypes.c_size_t
    names = ("commit", "hand_over", "give_up", "complete", "release", "leave", "free")
    return {
        "admission_open": [_number, place],
        "admission_free": [_pointer],
        "pipeline_open": [_pointer, ctypes.POINTER(_Options), place, place, place],
        "pipeline_acquire": [_pointer, ctypes.c_int64, ctypes.POINTER(_Frame)],
        "pipeline_wait": [_pointer, ctypes.c_int64, ctypes.POINTER(_Frame)],
        "pipeline_captured": [_pointer, _long],
        "pipeline_copy": [_pointer, _pointer, _pointer, size, ctypes.c_int, place],
        "pipeline_submit": [_pointer, ctypes.POINTER(base.Spec), place],
        "pipeline_read_statistics": [_pointer, ctypes.POINTER(_Statistics)],
        "pipeline_take_record": [_pointer, ctypes.POINTER(_Record)],
        **{f"pipeline_{name}": [_pointer] for name in names},
    }


class Frame:
    """A frame that an end has in hand, until the end of its `with` block: a producer's is committed there, or given up
    if the block raises; a consumer's is released. `bytes` is a memoryview of its pinned memory, which numpy takes
    without a copy; `device` is the address of its memory on the device. Use both while the frame is in hand: `bytes` is
    released with it, which raises `BufferError` if an array of it is kept; where functions were submitted as a part of
    the frame they may use it until they have ended, and it is not released. A frame that the program has lost, with its
    `bytes`, is given up or released when its end takes the next one."""

    def __init__(self, end, found, is_filling):
        self._end, self._is_filling, self._is_open, self._has_functions = end, is_filling, True, False
        self.number, self.host, self.device = found.number, found.host, found.device
        self.size, self.priority = found.bytes, found.priority
        memory = (ctypes.c_char * found.bytes).from_address(found.host)
        memory.end = end  # keeps the pipeline
        self.bytes = memoryview(memory).cast("B")
        end._taken = weakref.ref(self), weakref.ref(memory)

    def __repr__(self):
        return f"<overtake_gpu.Frame {self.number} of {self.size} bytes>"

    def _task(self, call, *arguments, **options):
        return base.Task(call, self._end._handle, *arguments, **options)

    def copy(self, target, source, size, kind=BY_ADDRESSES):
        """Copies between two addresses as a part of the frame, at its priority. Returns the task."""
        return self._task("pipeline_copy", target, source, size, kind)

    def upload(self):
        """Copies its bytes to the device."""
        return self.copy(self.device, self.host, self.size, HOST_TO_DEVICE)

    def download(self):
        """Copies its bytes back to the host."""
        return self.copy(self.host, self.device, self.size, DEVICE_TO_HOST)

    def kernel(self, name, launch, after=()):
        """Runs kernels as a part of the frame: `launch(lane)`."""
        return self._submit(base.KERNEL, name, launch, after)

    def host_task(self, name, run, after=()):
        """A function of the host as a part of the frame: `run()`."""
        return self._submit(base.HOST, name, run, after)

    def _submit(self, kind, name, function, after):
        spec, work = base.described(kind, name, calls.function_of(name, function), after)
        work.frame = self._end._failures.of(self.number)
        self._has_functions = True
        return self._task("pipeline_submit", spec, work=work, name=name, given=spec.given)

    def captured(self, ago):
        """It was captured so many seconds ago, and not when its stage was acquired."""
        calls.call("pipeline_captured", self._end._handle, calls.ns("ago", ago))

    def complete(self):
        """Waits until the producer's tasks have ended, if the frame was handed over before that."""
        with self._end._failures.told():
            calls.call("pipeline_complete", self._end._handle)

    def _end_by(self, name):
        if self._is_open:
            # Functions of the frame use its bytes until they have ended.
            is_kept = not self._has_functions and calls.take_away(self.bytes)
            self._is_open = False
            calls.call(name, self._end._handle)
            self._end._taken = None
            calls.refuse_kept(is_kept)

    def commit(self):
        """The consumer gets the frame when its tasks have ended."""
        self._end_by("pipeline_commit")

    def hand_over(self):
        """The consumer gets it at once: its tasks come after those of this frame on the device."""
        self._end_by("pipeline_hand_over")

    def give_up(self):
        """The frame is not wanted, which is counted."""
        self._end_by("pipeline_give_up")

    def release(self):
        """The producer gets the stage back when the frame's tasks have ended."""
        self._end_by("pipeline_release")

    def __enter__(self):
        return self

    def __exit__(self, kind, *raised):
        with contextlib.suppress(*[BufferError] if kind else []):  # the exception keeps the block's variables
            if not self._is_filling:
                self.release()
            elif kind is None:
                self.commit()
            else:
                self.give_up()
        return False


class _Failures:
    """The first exceptions of the functions of frames, by their numbers, for both ends of a pipeline."""

    def __init__(self):
        self._works = {}

    def of(self, number):
        """Where the exceptions of a frame go. A pipeline has less than 256 frames at once."""
        if number not in self._works:
            self._works = {each: work for each, work in self._works.items() if each + 256 > number}
        return self._works.setdefault(number, calls.Work())

    @contextlib.contextmanager
    def told(self):
        """Gives an error of a frame its cause."""
        try:
            yield
        except FrameError as error:
            number = re.search(r"\bframe (\d+) of pipeline ", error.text)
            work = number and self._works.pop(int(number[1]), None)
            error.__cause__ = work and work.error
            raise


class _End(calls.Owner):
    def __init__(self, failures):
        super().__init__()
        self._failures = failures
        # References to what the program has of the frame that may be in hand; `None` if none is.
        self._taken = None

    def _frame(self, name, timeout, is_filling):
        with self._failures.told():
            return self._take(name, timeout, is_filling)

    def _free_lost(self, is_filling):
        """Ctrl-C may have come between the library's call and the program, or in the end of a frame."""
        if self._taken is None:
            return
        there = [each for each in (reference() for reference in self._taken) if each is not None]
        if not any(getattr(each, "_is_open", True) for each in there):
            # It is refused if no frame is in hand.
            calls.functions["pipeline_give_up" if is_filling else "pipeline_release"](self._handle)
            self._taken = None

    def _take(self, name, timeout, is_filling):
        self._free_lost(is_filling)
        found, self._taken = _Frame(ctypes.sizeof(_Frame)), self._taken or ()
        for left_ns, is_last in calls.slices(timeout):
            try:
                calls.call(name, self._handle, left_ns, ctypes.byref(found))
                break
            except calls.TimedOut as error:
                if is_last:
                    raise TimeoutError(re.sub(r"within \d+ ns", f"within {timeout} s", str(error))) from None
        if not found.is_dropped:
            return Frame(self, found, is_filling)
        self._taken = None
        return None

    def leave(self):
        """The other end waits for this one no more."""
        if self._handle is not None:
            self._end("pipeline_leave")

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.leave()
        return False


class Producer(_End):
    """The end that fills frames."""

    def acquire(self, timeout=None):
        """The next frame to fill; `None` if the pipeline drops it. Raises `TimeoutError` if no stage is free after
        `timeout` seconds (0: at once), `Ended` if the consumer has left, and `FrameError` if it has failed with an
        earlier frame."""
        return self._frame("pipeline_acquire", timeout, True)


class Consumer(_End):
    """The end that empties frames. Iterating over it gives all frames until the producer has left."""

    def wait(self, timeout=None):
        """The next frame. Raises `TimeoutError` if there is none after `timeout` seconds (0: at once), `Ended` if the
        producer has left and all its frames have come, and `FrameError` for a frame that has failed."""
        return self._frame("pipeline_wait", timeout, False)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.wait()
        except Ended:
            raise StopIteration from None


class Admission(calls.Owner):
    """Places for frames at work at once, of all pipelines that have it as their `admission`: each other frame waits,
    and may still be replaced by a newer one."""

    def __init__(self, places):
        calls.bind(_prototypes())
        super().__init__()
        self._make("admission_open", places)


class Pipeline(calls.Owner):
    """A pipeline of `size` bytes a frame, from `Tasks.pipeline`, and its two ends: `producer` and `consumer`. Options:
    `stages`, 1 to 254; `priority`; `behind`, the fate of frames when the consumer is behind: "block", "drop-newest",
    "drop-oldest" or "latest-only"; and in seconds `period`, `deadline`, `tolerance`, `work_span` and `raise_within`, as
    in overtake.h. `records_max` frames keep their records. `admission` is an `Admission`, which pipelines may share."""

    def __init__(
        self, tasks, name, size, stages=3, priority=0, behind="block", period=0, deadline=0, tolerance=0, work_span=0,
        raise_within=0, records_max=0, admission=None,
    ):
        calls.bind(_prototypes())
        fate = calls.number_of("behind", BEHIND, behind)
        options = _Options(ctypes.sizeof(_Options), stages, name.encode(), size, priority, fate)
        spans = (period, deadline, tolerance, work_span, raise_within)
        for field, seconds in zip(_SPANS, spans):
            setattr(options, field, calls.ns(field[: -len("_ns")], seconds))
        options.records_max = records_max
        options.admission = admission._handle if admission else None
        super().__init__()
        failures = _Failures()
        self._name, self._size = name, size
        self._tasks, self.producer, self.consumer = tasks, Producer(failures), Consumer(failures)
        places = [owner._place for owner in (self, self.producer, self.consumer)]
        calls.call("pipeline_open", tasks._handle, options, *map(ctypes.byref, places))

    def __repr__(self):
        return f"<overtake_gpu.Pipeline {self._name!r} of {self._size} bytes a frame>"

    def statistics(self):
        """The counts so far, as a dict of numbers."""
        counts = _Statistics(struct_size=ctypes.sizeof(_Statistics))
        calls.call("pipeline_read_statistics", self._handle, ctypes.byref(counts))
        return {name: getattr(counts, name) for name in _COUNTS}

    def take_records(self):
        """The records of the frames that have ended since the last call, as dicts: `number`, `end`, and times of the
        host in ns, 0 for those that did not come."""
        records = []
        while True:
            record = _Record(ctypes.sizeof(_Record))
            calls.call("pipeline_take_record", self._handle, ctypes.byref(record))
            if not record.end:
                return records
            times = {name: getattr(record, name) for name in _TIMES}
            records.append({"number": record.number, "end": _ENDS[record.end], **times})
