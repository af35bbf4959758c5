"""Templates: tasks that are recorded once, and submitted again with other arguments and priorities.

A template belongs to no dispatcher. Several replays may be under way at once: then a function is called with each of
their arguments.
"""

import ctypes

from . import _calls as calls, _tasks as base
from ._lib import Error

_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t)


class _StepSpec(ctypes.Structure):
    _fields_ = [
        *[("struct_size", ctypes.c_uint32), ("kind", ctypes.c_int), ("name", ctypes.c_char_p)],
        *[("priority", ctypes.c_int), ("reserved", ctypes.c_uint32), ("launch", _LAUNCH), ("run", _RUN)],
        *[("data", ctypes.c_size_t), ("free_data", calls.FREE)],
        *[("after", ctypes.POINTER(ctypes.c_size_t)), ("after_count", ctypes.c_size_t)],
    ]


class _ReplaySpec(ctypes.Structure):
    _fields_ = [
        *[("struct_size", ctypes.c_uint32), ("priority", ctypes.c_int), ("device", ctypes.c_uint32)],
        *[("reserved", ctypes.c_uint32), ("arguments", ctypes.c_size_t), ("free_arguments", calls.FREE)],
        *[("after", ctypes.POINTER(ctypes.c_void_p)), ("after_count", ctypes.c_size_t)],
        *[("room_timeout_ns", ctypes.c_int64)],
    ]


def _prototypes():
    place, number = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
    return {
        "template_new": [place],
        "template_add": [ctypes.c_void_p, ctypes.POINTER(_StepSpec), number],
        "template_replay": [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_ReplaySpec), place],
        "template_fix": [ctypes.c_void_p],
        "template_free": [ctypes.c_void_p],
    }


class Step:
    """A task of a template: others come after it."""

    def __init__(self, template, number, name):
        self._template, self._number, self._name = template, number, name

    def __repr__(self):
        return f"<overtake_gpu.Step {self._name!r}>"


class Template(calls.Owner):
    """Tasks that are recorded once. Each method that describes one returns a `Step`; without a function it is a
    decorator. Options: `after`, a list of steps of this template that it comes after; `priority`, its least one."""

    def __init__(self):
        calls.bind(_prototypes())
        super().__init__()
        self._make("template_new")

    def upload(self, name, launch=None, **options):
        """Copies from the host to the device: `launch(lane, arguments)`."""
        return self._step(base.UPLOAD, name, launch, options)

    def kernel(self, name, launch=None, **options):
        """Runs kernels: `launch(lane, arguments)`."""
        return self._step(base.KERNEL, name, launch, options)

    def download(self, name, launch=None, **options):
        """Copies from the device to the host: `launch(lane, arguments)`."""
        return self._step(base.DOWNLOAD, name, launch, options)

    def host(self, name, run=None, **options):
        """A function of the host, `run(arguments)`."""
        return self._step(base.HOST, name, run, options)

    def light(self, name, run=None, **options):
        """A short function of the host, for the thread that finds it ready. It must not wait."""
        return self._step(base.LIGHT, name, run, options)

    def _step(self, kind, name, function, options):
        if function is None:
            return lambda function: self._add(kind, name, function, **options)
        return self._add(kind, name, function, **options)

    def _add(self, kind, name, function, after=(), priority=0):
        after = list(after) if hasattr(after, "__iter__") else [after]
        calls.function_of(name, function)
        if not all(isinstance(step, Step) for step in after):
            raise TypeError(f"task {name!r} comes after steps of its template, and {after} are others")
        if any(step._template is not self for step in after):
            raise ValueError(f"task {name!r} comes after a step of another template")
        spec = _StepSpec(ctypes.sizeof(_StepSpec), kind, calls.encoded(name), priority)
        if after:
            spec.after = (ctypes.c_size_t * len(after))(*(step._number for step in after))
            spec.after_count = len(after)
        if kind in (base.HOST, base.LIGHT):
            spec.run = calls.answering("run_step", _RUN)
            given = lambda lane, addresses, replay: function(calls.alive[replay].function)
        else:
            spec.launch = calls.answering("launch_step", _LAUNCH)
            given = lambda lane, addresses, replay: function(base.Lane(lane), calls.alive[replay].function)
        kept = calls.keep(given)
        spec.data, spec.free_data = kept.address, calls.functions["free_kept"]
        number = calls.made("template_add", self._handle, spec, kind=ctypes.c_size_t, given=kept)
        return Step(self, number, name)

    def fix(self):
        """Ends the recording: each replay makes the same launches, with the same arguments. A replay of kernels is one
        launch of a CUDA graph then; the functions are called once for each priority, while that is captured."""
        calls.call("template_fix", self._handle)
        return self

    def replay(self, tasks, arguments=None, priority=0, device=0, after=(), room_timeout=0):
        """Submits all tasks, as tasks of this set, with these arguments and at least this priority. Returns a task that
        stands for all of them. The first replay ends the recording. `room_timeout` is as for `overtake_gpu.Tasks`."""
        spec = _ReplaySpec(ctypes.sizeof(_ReplaySpec), priority, device)
        spec.after, spec.after_count = base.handles_of(after)

        def submit(timeout_ns):
            spec.room_timeout_ns, work = timeout_ns, calls.Work()
            given = calls.keep(arguments, work)
            spec.arguments, spec.free_arguments = given.address, calls.functions["free_kept"]
            return base.Task("template_replay", self._handle, tasks._handle, spec, work=work, given=given)

        return calls.with_room(room_timeout, submit)
