"""Priorities for GPU memory copies, tasks, arrays and pipelines, from Python.

    import overtake_gpu

    with overtake_gpu.priority(5):                    # every copy of this thread is urgent
        on_device.copy_(pinned, non_blocking=True)

    overtake_gpu.set_stream_priority(stream, 1)       # of PyTorch, CuPy or Numba, or its handle: its copies are bulk

Copies that PyTorch, CuPy and other libraries make are seen where the process runs under the drop-in
(`overtake run -- python program.py`); elsewhere only those of `memcpy_async` have priorities, and the first `priority`
says so. A priority belongs to a thread: in a coroutine do not `await` inside `with overtake_gpu.priority(...)`.

Functions with an order between them, on the device and on the host:

    with overtake_gpu.Dispatcher(devices=[0]) as dispatcher:
        tasks = dispatcher.tasks()
        up = tasks.upload("upload", lambda lane: lane.copy(device, source, size))
        down = tasks.download("download", lambda lane: lane.copy(target, device, size), after=[up], priority=5)
        checksum = tasks.host("checksum", lambda: zlib.crc32(view), after=[down])
        print(checksum.result())

Arrays, whose order and copies follow from their uses:

    with overtake_gpu.Dispatcher(devices=[0]) as dispatcher, dispatcher.arrays() as arrays:
        x, y = arrays.array_of(range(1000), "float32"), arrays.array(1000, "float32")
        square = arrays.kernel(ptx, "square", "const pointer, pointer, sint32")
        square(4, 256)(x, y, 1000)                    # its order and its copies follow from its arguments
        print(y[3])                                   # waits for it

Templates are recorded once, and replayed with other arguments:

    template = overtake_gpu.Template()
    up = template.upload("upload", lambda lane, frame: lane.copy(frame.device, frame.host, frame.size))
    template.host("note", lambda frame: print(frame.number), after=[up])
    for frame in frames:
        last = template.replay(tasks, frame, priority=5)

Pipelines carry frames from a producer to a consumer (`Tasks.pipeline`).

The package needs nothing but the standard library. Without libovertake.so.0 it can be imported all the same: everything
then does nothing and says so once, or raises `Unavailable` if called with `strict=True`. That library is looked for
where the variable OVERTAKE_LIBRARY says, then in this package (the wheel has it), then where `cargo xtask install` put
it, then by the loader. `python -m overtake_gpu` is the command `overtake` of the wheel.
"""

from ._arrays import Array, Arrays
from ._copies import (
    CopyQueue,
    available,
    close,
    memcpy_async,
    open,
    priorities,
    priority,
    report,
    set_log_callback,
    set_rules,
    set_stream_priority,
    statistics,
    stream_handle,
    stream_priority,
    version,
)
from ._dispatcher import Dispatcher, Tasks
from ._lib import (
    BY_ADDRESSES,
    BY_RULES,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    LIBRARY_NAME,
    LIBRARY_VARIABLE,
    Ended,
    Error,
    FrameError,
    TaskError,
    Unavailable,
    deployment,
)
from ._pipelines import Admission, Consumer, Frame, Pipeline, Producer
from ._tasks import Lane, Task
from ._templates import Step, Template
from ._uses import Kernel, Use, discard, read, read_write, reduce, relaxed, write

# Without `open`: `from overtake_gpu import *` leaves the built-in function of that name as it is.
__all__ = [
    "BY_ADDRESSES",
    "BY_RULES",
    "DEVICE_TO_DEVICE",
    "DEVICE_TO_HOST",
    "HOST_TO_DEVICE",
    "LIBRARY_NAME",
    "LIBRARY_VARIABLE",
    "Admission",
    "Array",
    "Arrays",
    "Consumer",
    "CopyQueue",
    "Dispatcher",
    "Ended",
    "Error",
    "Frame",
    "FrameError",
    "Kernel",
    "Lane",
    "Pipeline",
    "Producer",
    "Step",
    "Task",
    "TaskError",
    "Tasks",
    "Template",
    "Unavailable",
    "Use",
    "available",
    "close",
    "deployment",
    "discard",
    "memcpy_async",
    "priorities",
    "priority",
    "read",
    "read_write",
    "reduce",
    "relaxed",
    "report",
    "set_log_callback",
    "set_rules",
    "set_stream_priority",
    "statistics",
    "stream_handle",
    "stream_priority",
    "version",
    "write",
]
