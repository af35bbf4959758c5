"""Frames from a producer to a consumer: waits that are in vain, one that is given up, one that fails, and ends that
leave. The same program in C, C++ and Rust stands beside it; all four print `pipeline.txt`."""

import ctypes

import overtake_gpu

SIZE = 4096
SHORT = 0.02


def open_device() -> None:
    """Makes the primary context of the first device current, as PyTorch and CuPy do by themselves."""
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    codes = cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context)
    if any(codes):
        raise SystemExit(f"there is no GPU: CUDA's errors are {codes}")


def shoot(producer: overtake_gpu.Producer, value: int) -> None:
    with producer.acquire() as frame:  # this pipeline keeps every frame
        frame.bytes[:] = bytes([value]) * frame.size
        frame.upload()


def view(consumer: overtake_gpu.Consumer) -> None:
    with consumer.wait() as frame:
        frame.download().wait()
        print(f"frame {frame.number} has {frame.bytes[-1]}")


def fail(lane: overtake_gpu.Lane) -> None:
    raise ValueError("the cable is out")


open_device()
with overtake_gpu.Dispatcher() as dispatcher:
    tasks = dispatcher.tasks()
    line, other = (tasks.pipeline("camera", SIZE, stages=2) for _ in range(2))
    producer, consumer = line.producer, line.consumer

    try:
        consumer.wait(SHORT)
    except TimeoutError:
        print(f"consumer: no frame within {SHORT * 1000:.0f} ms")
    shoot(producer, 7)
    view(consumer)

    producer.acquire().give_up()  # frame 1: the consumer never sees it
    shoot(producer, 9)
    view(consumer)

    shoot(producer, 10)
    shoot(producer, 11)
    try:
        producer.acquire(SHORT)
    except TimeoutError:
        print(f"producer: no stage within {SHORT * 1000:.0f} ms")
    view(consumer)
    view(consumer)

    with producer.acquire() as frame:
        frame.kernel("shoot", fail)
    try:
        view(consumer)
    except overtake_gpu.FrameError as error:
        print("consumer:", error)  # the next call is about the next frame

    shoot(producer, 13)
    producer.leave()
    view(consumer)
    try:
        view(consumer)
    except overtake_gpu.Ended:
        print("consumer: the producer has left")

    other.consumer.leave()
    try:
        shoot(other.producer, 0)
    except overtake_gpu.Ended as error:
        print("producer:", error)
