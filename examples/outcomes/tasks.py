"""Tasks in an order, one that is late, one that fails, one that is cancelled, and a full dispatcher. The same program
in C, C++ and Rust stands beside it; all four print `tasks.txt`."""

import ctypes

import overtake_gpu

SIZE = 4096
SHORT = 0.02
cuda = ctypes.CDLL("libcuda.so.1")


def open_device() -> None:
    """Makes the primary context of the first device current, as PyTorch and CuPy do by themselves."""
    context = ctypes.c_void_p()
    codes = cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
    if any(codes):
        raise SystemExit(f"there is no GPU: CUDA's errors are {codes}")


def copies(tasks: overtake_gpu.Tasks) -> None:
    """Half of the memory goes to the device, is copied there to the other half, and all of it comes back."""
    pinned, memory, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(2 * SIZE)
    if cuda.cuMemHostAlloc(ctypes.byref(pinned), size, 0) or cuda.cuMemAlloc_v2(ctypes.byref(memory), size):
        raise MemoryError
    host, device = pinned.value or 0, memory.value or 0
    ctypes.memset(host, 7, SIZE)
    upload = tasks.upload("upload", lambda lane: lane.copy(device, host, SIZE))
    twice = tasks.kernel("twice", lambda lane: lane.copy(device + SIZE, device, SIZE), after=upload)
    tasks.download("download", lambda lane: lane.copy(host, device, 2 * SIZE), after=twice).wait()
    found = ctypes.string_at(host, 2 * SIZE)
    print(f"download: {found[0]} {found[-1]}")


def tell(name: str, task: overtake_gpu.Task[None]) -> None:
    try:
        task.wait()
        print(f"{name}: it has ended")
    except overtake_gpu.TaskError as error:
        print(f"{name}: {error}")


def fail() -> None:
    raise ValueError("the file is empty")


open_device()
with overtake_gpu.Dispatcher(tasks_max=8) as dispatcher:
    tasks = dispatcher.tasks()
    copies(tasks)

    held = tasks.host("held", lambda: None, held=1)
    try:
        held.result(SHORT)
    except TimeoutError:
        print(f"held: it has not ended within {SHORT * 1000:.0f} ms")
    held.release()
    tell("held", held)

    parse = tasks.host("parse", fail)
    draw = tasks.host("draw", lambda: None, after=parse)
    tell("parse", parse)
    tell("draw", draw)

    late = tasks.host("late", lambda: None, held=1)
    if late.cancel():  # it has not started
        tell("late", late)

    gate = tasks.host("gate", lambda: None, held=1)
    try:
        while True:
            tasks.host("behind", lambda: None, after=gate)
    except overtake_gpu.Error as error:
        print(f"full: {error}")
    try:
        tasks.host("behind", lambda: None, after=gate, room_timeout=SHORT)
    except overtake_gpu.Error as error:
        if error.name != "OVERTAKE_ERROR_WOULD_BLOCK":
            raise
        print(f"full: there is no room within {SHORT * 1000:.0f} ms")
    gate.release()
    tell("last", tasks.host("behind", lambda: None, after=gate, room_timeout=None))
