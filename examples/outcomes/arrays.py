"""Computations whose order follows from their uses: one that is late, one that is cancelled, one that fails, and an
order by a token. The same program in C, C++ and Rust stands beside it; all four print `arrays.txt`."""

import ctypes

import overtake_gpu
from overtake_gpu import discard, read, write

SHORT = 0.02


def open_device() -> None:
    """Makes the primary context of the first device current, as PyTorch and CuPy do by themselves."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    codes = cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
    if any(codes):
        raise SystemExit(f"there is no GPU: CUDA's errors are {codes}")


def tell(name: str, task: overtake_gpu.Task[None]) -> None:
    try:
        task.wait()
        print(f"{name}: it has ended")
    except overtake_gpu.TaskError as error:
        print(f"{name}: {error}")


open_device()
with overtake_gpu.Dispatcher() as dispatcher, dispatcher.arrays() as arrays:
    numbers = arrays.array_of([1, 2, 3], "int32")
    twice, total, table = (arrays.array(count, "int32") for count in (3, 1, 1))

    def double(numbers: memoryview, twice: memoryview) -> None:
        for place, each in enumerate(numbers):
            twice[place] = 2 * each

    def add_up(twice: memoryview, total: memoryview) -> None:
        total[0] = sum(twice)

    arrays.host("double", double, read(numbers), discard(twice))
    arrays.host("add up", add_up, read(twice), discard(total))
    print("order: the sum is", total[0])

    held = arrays.host("held", lambda twice: None, discard(twice), held=1)
    behind = arrays.host("behind", lambda twice: None, read(twice))
    try:
        arrays.wait(SHORT)
    except TimeoutError:
        print(f"held: the set has not ended within {SHORT * 1000:.0f} ms")
    if behind.cancel():  # it has not started
        tell("behind", behind)
    held.release()
    tell("held", held)

    token = arrays.token()
    said: list[str] = []
    for word in ("first", "second"):
        arrays.host(word, lambda _, word=word: said.append(word), write(token))
    arrays.wait()
    print("token:", *said)

    def fail(table: memoryview) -> None:
        raise ValueError("the file is empty")

    tell("parse", arrays.host("parse", fail, discard(table)))
    try:
        table.tolist()
    except overtake_gpu.TaskError as error:
        print("table:", error)  # its contents are lost
    with table.overwrite() as elements:
        elements[0] = 5
    print(f"table: it is {table[0]} now")
