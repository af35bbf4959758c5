"""Random programs that Ctrl-C interrupts at any time, and that fork and end in the middle of their work.

`run_random.py FIRST COUNT` runs so many, each in a process of its own; `run_random.py SEED` is one of them. None hangs,
no array has other contents than those that its steps give, and what is closed leaves nothing."""

import array
import ctypes
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time

COUNT, ARRAYS, STEPS, SECONDS = 256, 4, 60, 100
CODE = 7
OUTPUT = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
# What the end of a process has for its exit code.
ENDS = {"closes": 0, "returns": 0, "exits": CODE, "exits in a function": 0, "is interrupted": -signal.SIGINT}


def end_of(seed):
    """Each second one closes: only then it is seen what is left, and what the arrays have."""
    return random.Random(~seed).choice(sorted(ENDS)) if seed % 2 else "closes"


def contents(value):
    return array.array("f", [value] * COUNT).tobytes()


class Interrupts:
    """They come at any time, and only in a `with` block they are exceptions."""

    def __init__(self, draws):
        self.is_armed, self.is_over, self.seen = False, False, 0
        signal.signal(signal.SIGINT, self.handle)
        threading.Thread(target=self.send, args=[random.Random(draws.random())], daemon=True).start()

    def handle(self, *_):
        if self.is_armed:
            self.is_armed = False
            self.seen += 1
            raise KeyboardInterrupt

    def send(self, draws):
        while not self.is_over:
            time.sleep(draws.random() * 0.02)
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self.is_armed = True

    def __exit__(self, *_):
        self.is_armed = False


class Mine:
    """An array, the values of which all of its elements may be, and what may have become of it."""

    def __init__(self, arrays, value):
        self.array = arrays.array_of([value] * COUNT, "float32")
        self.values, self.may_be_lost, self.is_used_in_vain = {value}, False, False


class Program:
    def __init__(self, seed, device):
        import overtake_gpu
        from test_arrays import kernels

        self.gpu, self.device, self.draws = overtake_gpu, device, random.Random(seed)
        self.dispatcher = overtake_gpu.Dispatcher()
        self.tasks, self.arrays = self.dispatcher.tasks(), self.dispatcher.arrays()
        self.add = self.arrays.kernel(kernels(), "work_add", "const pointer, const pointer, discard pointer, uint32")
        self.mine = [Mine(self.arrays, number) for number in range(ARRAYS)]
        self.line = self.tasks.pipeline("line", 4096)
        self.held, self.last = [], []

    def step(self, interrupts):
        """One that is interrupted may have been made or not."""
        steps = (self.adds, self.adds, self.is_next, self.is_next, self.copies, self.overwrites, self.looks, self.looks)
        steps += (self.plain, self.plain, self.lets_go, self.waits, self.frames, self.renews, self.forks)
        steps[self.draws.randrange(len(steps))](interrupts)

    def two(self):
        return self.draws.sample(self.mine, 2)

    def made(self, interrupts, target, sources, values, submit, may_fail=False):
        """A step that gives the target one of these values."""
        is_in_vain = may_fail or target.is_used_in_vain or any(source.may_be_lost for source in sources)
        before, target.values = target.values, target.values | values
        was_lost, target.may_be_lost = target.may_be_lost, True
        for source in sources:
            source.is_used_in_vain |= is_in_vain
        with interrupts:
            self.last = [*self.last[-8:], submit()]
        # Here it has not been interrupted. One that is not run, for what it needs was lost before, changes nothing.
        target.values, target.may_be_lost = values | before if is_in_vain else values, is_in_vain
        target.is_used_in_vain = is_in_vain

    def adds(self, interrupts):
        (one, other), target = self.two(), self.mine[self.draws.randrange(ARRAYS)]
        if target in (one, other):
            return
        sums = {left + right for left in one.values for right in other.values}
        if max(sums) > 1 << 20:
            return self.overwrites(interrupts, target)
        add = lambda: self.add(1, COUNT)(one.array, other.array, target.array, COUNT)
        self.made(interrupts, target, (one, other), sums, add)

    def is_next(self, interrupts):
        source, target = self.two()
        fails = self.draws.random() < 0.1

        def run(before, behind):
            if fails:
                raise ValueError("as planned")
            behind.cast("B")[:] = contents(before[0] + 1)

        used = self.gpu.read(source.array), self.gpu.discard(target.array)
        submit = lambda: self.arrays.host("next", run, *used)
        self.made(interrupts, target, (source,), {value + 1 for value in source.values}, submit, fails)

    def copies(self, interrupts):
        """In a launch, which Ctrl-C may end."""
        source, target = self.two()

        def launch(lane, before, behind):
            addresses = [view.__cuda_array_interface__["data"][0] for view in (behind, before)]
            lane.copy(*addresses, 4 * COUNT)

        used = self.gpu.read(source.array), self.gpu.discard(target.array)
        submit = lambda: self.arrays.launch("copies", launch, *used)
        self.made(interrupts, target, (source,), set(source.values), submit, may_fail=True)

    def overwrites(self, interrupts, target=None):
        target = target or self.draws.choice(self.mine)
        value = self.draws.randrange(1000)
        target.values.add(value)
        try:
            with interrupts:
                with target.array.overwrite(timeout=self.draws.choice((0.001, 20))) as elements:
                    elements.cast("B")[:] = contents(value)
        except TimeoutError:
            return
        except self.gpu.TaskError:
            if not self.held:
                raise
            return
        target.values, target.may_be_lost, target.is_used_in_vain = {value}, False, False

    def looks(self, interrupts):
        one = self.draws.choice(self.mine)
        try:
            with interrupts:
                seen = one.array.tolist()
        except self.gpu.TaskError:
            if not one.may_be_lost:
                raise
            return
        if len(set(seen)) != 1 or seen[0] not in one.values:
            raise AssertionError(f"{seen[:3]}... is not one of {one.values}")
        one.values = {seen[0]}

    def plain(self, interrupts):
        make = getattr(self.tasks, self.draws.choice(("kernel", "host", "light")))
        options = {"after": self.draws.sample(self.last, min(len(self.last), 2)), "held": self.draws.random() < 0.2}
        with interrupts:
            task = make("plain", lambda *_: sum(range(50)), **options)
            task.add_done_callback(lambda task: None)
        self.last.append(task)
        self.held += [task] if options["held"] else []

    def lets_go(self, interrupts):
        while self.held:
            task = self.held.pop()  # a call raises what has ended a function before, when it is made
            if not task.done():
                task.cancel() if self.draws.random() < 0.5 else task.release()

    def waits(self, interrupts):
        try:
            with interrupts:
                self.draws.choice([self.tasks, self.arrays, *self.last]).wait(self.draws.choice((0, 0.001, 0.01)))
        except (TimeoutError, self.gpu.TaskError):
            pass

    def frames(self, interrupts):
        try:
            with interrupts:
                with self.line.producer.acquire(0) as frame:
                    frame.bytes[0] = 1
                    frame.upload()
                with self.line.consumer.wait(0.001):
                    pass
        except (TimeoutError, self.gpu.FrameError):
            pass

    def renews(self, interrupts):
        """An array goes with work on it under way."""
        at = self.draws.randrange(ARRAYS)
        with interrupts:
            self.mine[at] = Mine(self.arrays, self.draws.randrange(1000))

    def forks(self, interrupts):
        if self.draws.random() < 0.7:
            return
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            calls = [
                lambda: self.tasks.host("plain", lambda: None),
                lambda: self.tasks.wait(1),
                lambda: self.mine[0].array.tolist(),
                lambda: self.arrays.array_of([1.0]),
                lambda: self.line.producer.acquire(1),
            ]
            for call in calls:
                try:
                    call()
                except (self.gpu.Error, KeyboardInterrupt):  # which a function has left to the next call
                    continue
                os._exit(1)
            if self.draws.random() < 0.5:
                os._exit(CODE)
            sys.exit(CODE)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != CODE:
            raise AssertionError(f"the child of a fork ends with {status:#x}")

    def answers(self):
        """What has ended functions is raised by the calls behind it."""
        while True:
            try:
                return self.dispatcher.statistics()
            except KeyboardInterrupt:
                pass

    def close(self, interrupts, free_before):
        """All ends, and nothing is left."""
        from overtake_gpu import _calls

        self.lets_go(None)
        for one in self.mine:
            try:
                value = one.array[0]
            except self.gpu.TaskError:
                if not one.may_be_lost:
                    raise
            else:
                assert value in one.values, (value, one.values)
        self.arrays.close()
        self.dispatcher.close()
        del self.mine[:], self.last[:]
        gc.collect()
        self.gpu.close()
        kept, left = len(_calls.alive), free_before - free_bytes(self.device)
        if kept != 0 or left != 0:
            raise AssertionError(f"{kept} functions are kept, and {left} bytes of the device")


def free_bytes(device):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    device.must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def go_on_in_a_child():
    """In one whose parent has made a template, and no dispatcher. The parent ends as the child does."""
    import overtake_gpu

    overtake_gpu.Template()
    child = os.fork()
    if child == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(SECONDS - 5)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def run(seed):
    from test_overtake import Device

    if seed % 3 == 2:
        go_on_in_a_child()
    faulthandler.register(signal.SIGUSR1)  # the runner asks where it is
    end, device = end_of(seed), Device()
    free_before = free_bytes(device)
    program = Program(seed, device)
    interrupts = Interrupts(program.draws)
    steps = program.draws.randrange(STEPS) if end != "closes" else STEPS
    for _ in range(steps):
        try:
            program.step(interrupts)
        except KeyboardInterrupt:
            pass
    program.answers()
    print(interrupts.seen, flush=True)
    if end == "closes":
        program.close(interrupts, free_before)
    elif end == "exits":
        sys.exit(CODE)
    elif end == "exits in a function":
        program.tasks.host("exits", sys.exit)
    elif end == "is interrupted":
        interrupts.is_armed = True
        time.sleep(SECONDS)


def main(first, count):
    interrupts, begin = 0, time.monotonic()
    for seed in range(first, first + count):
        ended = subprocess.Popen([sys.executable, "-B", __file__, str(seed)], **OUTPUT)
        try:
            said, told = ended.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            ended.send_signal(signal.SIGUSR1)
            time.sleep(1)
            ended.kill()
            sys.exit(f"program {seed}, which {end_of(seed)}, hangs:\n{ended.communicate()[1]}")
        if ended.returncode != ENDS[end_of(seed)]:
            sys.exit(f"program {seed}, which {end_of(seed)}: {ended.returncode}\n{said}{told}")
        interrupts += int(said)
    print(f"{count} programs, {interrupts} interrupts, {time.monotonic() - begin:.0f} s")
    if interrupts == 0:
        sys.exit("none was interrupted")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    run(*numbers) if len(numbers) == 1 else main(*numbers)
