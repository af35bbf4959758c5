"""Ctrl-C at every place of small programs: in the package, in what it uses of `contextlib`, and in the program's own
lines around its calls. What the library has made is not lost, and all ends. `tests/python.rs` runs them on the software
GPU.

The interpreter looks for signals where a function begins, where a loop goes back, and behind a call: these are the
places. INTERRUPTS_DEPTH is how many of the calls that lead to one tell it from others. The garbage collector is off:
what is only given back when it runs counts as lost."""

import array
import contextlib
import ctypes
import dis
import faulthandler
import functools
import gc
import os
import sys
import time
import unittest
import unittest.mock

import overtake_gpu
from overtake_gpu import _arrays, _calls as calls, _copies, _dispatcher, _exchange, _lib, _pipelines, _templates
from overtake_gpu import discard, read, write
from test_arrays import COUNT, Stranger, kernels
from test_overtake import WithDispatcher

DEPTH = int(os.environ.get("INTERRUPTS_DEPTH", "1"))
# One that takes longer hangs.
SECONDS = 60
FREES = ("_free", "_close", "_leave", "array_release")
MODULES = os.path.dirname(calls.__file__)


def is_traced(code):
    """Whether Ctrl-C is to come there: the bookkeeping of this file stands for calls of the library's."""
    if code.co_filename == __file__:
        return not code.co_qualname.startswith(("Interrupts.counting", "Interrupts.hearing", "handles"))
    return os.path.dirname(code.co_filename) == MODULES or code.co_filename == contextlib.__file__


@functools.cache
def names_of(code):
    """Its instructions, by their places."""
    return {each.offset: each.opname for each in dis.get_instructions(code)}


class Places:
    """Where Ctrl-C has come."""

    def __init__(self):
        self.seen, self.is_due, self.last, self.is_in_function = set(), False, None, False

    def key(self, frame):
        key = []
        while frame is not None and len(key) < DEPTH:
            if is_traced(frame.f_code):
                key.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(key)

    def trace(self, frame, *_):
        if not is_traced(frame.f_code):
            return None
        frame.f_trace_opcodes, names, before = True, names_of(frame.f_code), None

        def at(frame, kind, _):
            nonlocal before
            if kind == "opcode":
                name, earlier, before = names[frame.f_lasti], before, names[frame.f_lasti]
                is_behind_call = earlier in ("CALL", "CALL_FUNCTION_EX", "CALL_KW") and name != "PUSH_EXC_INFO"
                if self.is_due and (is_behind_call or name in ("RESUME", "JUMP_BACKWARD")):
                    self.interrupt(frame)
            return at

        return at

    def interrupt(self, frame):
        key = self.key(frame)
        if key not in self.seen:
            self.seen.add(key)
            self.is_due, self.last = False, (frame.f_code.co_qualname, frame.f_lineno, frame.f_lasti)
            self.is_in_function = calls._is_in_function()
            raise KeyboardInterrupt

    def next(self, program):
        """Runs it with Ctrl-C at the next place; returns whether it came."""
        self.is_due, self.is_in_function, is_raised = True, False, False
        sys.settrace(self.trace)
        try:
            program()
        except KeyboardInterrupt:
            is_raised = True
        finally:
            sys.settrace(None)
        while True:
            try:
                calls.raise_interrupt()
            except KeyboardInterrupt:  # it has ended the function of a task
                is_raised = True
            else:
                break
        if not self.is_due and not is_raised:
            raise AssertionError(f"Ctrl-C at {self.last} is lost")
        return not self.is_due


def twice(close):
    """It may be called again when Ctrl-C has come behind the call."""
    try:
        close()
    finally:
        close()


def handles(arguments):
    """The handles that a call has written: they have their kind in the top bits."""
    written = (getattr(getattr(argument, "_obj", None), "value", None) for argument in arguments)
    return {value for value in written if isinstance(value, int) and value >> 60}


class Interrupts(WithDispatcher):
    def setUp(self):
        super().setUp()
        self.arrays = self.dispatcher.arrays()
        self.x, self.y = (self.arrays.array_of([1.0] * COUNT) for _ in range(2))
        self.alive = set()
        calls.bind({**_pipelines._prototypes(), **_templates._prototypes()})
        counting = {name: self.counting(name, call) for name, call in calls.functions.items()}
        for patch in (
            unittest.mock.patch.dict(calls.functions, counting),
            unittest.mock.patch.object(calls, "bind", lambda _: None),
        ):
            self.enterContext(patch)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        gc.disable()

    def tearDown(self):
        gc.enable()
        super().tearDown()
        faulthandler.cancel_dump_traceback_later()

    def counting(self, name, call):
        def counted(*arguments):
            if name == "let_go":
                self.alive.discard(arguments[0]._obj.value)
                return call(*arguments)
            code = call(*arguments)
            if code == 0:
                self.alive |= handles(arguments)
                if name.endswith(FREES):
                    self.alive.discard(getattr(arguments[0], "value", arguments[0]))
            return code

        plain = ("last_error", "error_name", "answer_", "capsule_", "free_kept", "before_fork", "after_fork")
        return call if name.startswith(plain) else counted

    def at_every_place(self, program, after=lambda: None, is_in_cycle=False):
        places, is_interrupted = Places(), True
        while is_interrupted:
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            is_interrupted = places.next(program)
            try:
                after()
                self.nothing_is_left(is_in_cycle or places.is_in_function)
            except BaseException as error:
                error.add_note(f"Ctrl-C came at {places.last}") if hasattr(error, "add_note") else None
                raise
        self.assertGreater(len(places.seen), 5)

    def nothing_is_left(self, is_in_cycle):
        """No access is open, no group, no frame in hand, and no function is kept."""
        self.x.change(timeout=20).close()
        self.y.overwrite(timeout=20).close()  # the task that was to write it may have failed
        self.tasks.kernel("behind all", lambda lane: None).wait(20)
        until = time.monotonic() + 20
        while (calls.alive or self.alive) and time.monotonic() < until:  # a task that has ended goes a moment later
            time.sleep(0.001)
            if is_in_cycle:
                gc.collect()  # it has the exception of its function, which has the frames that have the task
        self.assertEqual((self.alive, list(calls.alive), _exchange._given), (set(), [], {}))

    def test_tasks(self):
        self.at_every_place(lambda: self.tasks.join("join"))
        names = self.dispatcher.tasks("names")
        self.alive.clear()
        self.at_every_place(lambda: names.named("later"))
        self.at_every_place(lambda: self.dispatcher.tasks("set"))

        def results():
            first = self.tasks.host("first", lambda: 7)
            second = self.tasks.kernel("second", lambda lane: lane.priority, after=[first], priority=2)
            self.assertEqual((first.result(20), second.result()), (7, 2))
            self.assertTrue(first.done() and not second.cancelled())

        def callbacks():
            heard, tasks = [], self.dispatcher.tasks()
            tasks.light("light", lambda: 7).add_done_callback(lambda task: heard.append(task.result()))
            tasks.wait(20)
            self.assertEqual(heard, [7])

        def failures():
            def fails():
                raise ValueError("as planned")

            for kind in (self.tasks.host, self.tasks.light):
                self.assertIsInstance(kind("fails", fails).exception(20).__cause__, ValueError)

        def changes():
            task = self.tasks.host("changes", lambda: 7)
            with contextlib.suppress(overtake_gpu.Error):  # it has begun
                task.precede(self.tasks.join("join"))
                task.set_priority(2)
                task.cancel()

        for program in (results, callbacks, failures, changes):
            self.at_every_place(program, is_in_cycle=program is failures)

    def test_groups(self):
        def group():
            with self.tasks.group() as group:
                task = self.tasks.kernel("inside", lambda lane: lane.device)
            self.assertEqual(task.result(20), 0)
            group.behind.wait(20)

        self.at_every_place(group)

    def test_what_comes_while_an_array_is_waited_for_is_raised_before_the_block(self):
        has_begun = False
        calls._unanswered.value = 1  # Ctrl-C has ended a function of a task
        with self.assertRaises(KeyboardInterrupt):
            with self.x.overwrite() as elements:
                has_begun = True
                elements[0] = 5.0
        self.assertFalse(has_begun)
        self.x[0] = 2.0  # no access is left open

    def test_what_comes_behind_the_opening_of_an_access_keeps_none_open(self):
        def ask(*given):
            _on_full_device(*given)
            raise KeyboardInterrupt

        _on_full_device = _arrays._on_full_device
        with unittest.mock.patch.object(_arrays, "_on_full_device", ask):
            try:
                self.x.overwrite()
            except KeyboardInterrupt as error:
                self.assertIsNotNone(error.__traceback__)  # it keeps the access
                self.assertEqual(self.alive, set())
        self.x[0] = 2.0

    def test_arrays(self):
        x, y = self.x, self.y
        add = self.arrays.kernel(kernels(), "work_add", "const pointer, const pointer, pointer, uint32")
        self.alive.clear()

        def makes():
            self.arrays.array_of([1, 2, 3], "int32")
            self.arrays.array_of(array.array("f", [1.0]), "float64")
            self.arrays.token()
            x.view(0, 4)

        def accesses():
            with x.read() as elements:
                self.assertEqual(elements[0], 1.0)
            with y.overwrite(timeout=20) as elements:
                elements.cast("B")[:] = bytes(4 * COUNT)
            with x.change(4, 4, timeout=20) as elements:
                elements[0] = 1.0
            x[0:2] = [1.0, 1.0]
            twice(x.read(timeout=20).close)
            self.assertEqual(len(x.tolist()), COUNT)

        def functions():
            def copies(lane, before, behind):
                addresses = [view.__cuda_array_interface__["data"][0] for view in (behind, before)]
                lane.copy(*addresses, 4 * COUNT)

            self.arrays.launch("copies", copies, read(x), discard(y))
            self.assertEqual(self.arrays.host("first", lambda elements: elements[0], read(y)).result(20), 1.0)
            with contextlib.suppress(overtake_gpu.TaskError):  # the first failure of the set
                self.arrays.wait(20)

        def sums():
            x.bring(0)
            add(COUNT // 256, 256)(x, x, y, COUNT)
            self.assertEqual(y[0], 2.0)

        for program in (makes, accesses, functions, sums):
            self.at_every_place(program)
        self.at_every_place(lambda: self.arrays.kernel(kernels(), "work_add", "const pointer"))

    def test_memory_of_other_libraries(self):
        stranger, x = Stranger(self.device, [1.0] * COUNT), self.x

        def adopts():
            adopted = self.arrays.adopt(stranger)
            adopted[0] = 1.0
            adopted.release()

        def releases_twice():
            twice(self.arrays.adopt(stranger).release)

        def lends():
            with x.on_device(write) as view:
                self.arrays.adopt(view).release()

        def lends_in_vain():
            with x.on_device() as view:
                view.__dlpack__()

        for program in (adopts, releases_twice, lends, lends_in_vain):
            self.at_every_place(program)
        self.assertEqual(stranger.values(self.device), [1.0] * COUNT)

    def test_a_set_of_arrays(self):
        def uses():
            with self.dispatcher.arrays() as arrays:
                arrays.array_of([1.0]).tolist()

        def closes_twice():
            twice(self.dispatcher.arrays().close)

        # A set that is lost goes with its dispatcher.
        for program in (uses, closes_twice):
            self.at_every_place(program, after=lambda: self.alive.difference_update(of_kind(6, self.alive)))

    def test_templates(self):
        def replays():
            seen, template = [], overtake_gpu.Template()
            first = template.kernel("first", lambda lane, number: seen.append(number))
            template.host("second", lambda number: seen.append(number), after=[first])
            template.replay(self.tasks, 7).wait(20)
            self.assertEqual(seen, [7, 7])

        self.at_every_place(replays)

    def test_pipelines(self):
        self.at_every_place(lambda: overtake_gpu.Admission(2))
        self.at_every_place(lambda: self.tasks.pipeline("line", 64))
        self.at_every_place(lambda: twice(self.tasks.pipeline("line", 64).producer.leave))
        line = self.tasks.pipeline("line", 64)
        self.alive.clear()

        def pass_on():
            with line.producer.acquire(0) as frame:
                frame.bytes[0] = 1
                frame.upload()
            with line.consumer.wait(20) as frame:
                frame.host_task("note", lambda: None)
                frame.complete()

        def none_is_in_hand():
            with contextlib.suppress(TimeoutError):
                while True:
                    with contextlib.suppress(overtake_gpu.FrameError):  # given up with its tasks
                        line.consumer.wait(0.01).release()
            line.producer.acquire(20).give_up()

        self.at_every_place(pass_on, after=none_is_in_hand)

    def test_copies(self):
        stream, library, heard = self.device.made("cuStreamCreate", 1), _lib.load(), []

        source, target = self.device.made("cuMemAllocHost_v2", 4096), self.device.made("cuMemAlloc_v2", 4096)

        def queues():
            with overtake_gpu.CopyQueue(stream, 1, 8) as queue:
                queue.literal()
                with contextlib.suppress(overtake_gpu.Error):  # as it is literal
                    queue.copy(target, source, 1)
                queue.copy(target, source, 4096)
                queue.flush()
                queue.set(target, 7, 4096)

        def loses_what_it_queues():
            overtake_gpu.CopyQueue(stream, 1, 8).copy(target, source, 4096)

        def scopes():
            with overtake_gpu.priority(2):
                with overtake_gpu.priority(3):
                    pass

        def no_scope_is_left():
            self.assertNotEqual(library.overtake_pop_priority(), 0)

        def listens():
            overtake_gpu.set_log_callback(lambda *_: None)

        def the_listener_is_kept():
            self.assertTrue(not heard or any(heard[-1] is each for each in _copies._listeners.values()))

        names = ("copy_queue_open", "copy_queue_close", "set_log_callback")
        for name in names:
            call = getattr(library, "overtake_" + name)
            counted = self.counting(name, call) if name != names[-1] else self.hearing(heard, call)
            self.enterContext(unittest.mock.patch.object(library, "overtake_" + name, counted))
        self.at_every_place(queues)
        self.at_every_place(loses_what_it_queues)
        self.at_every_place(scopes, after=no_scope_is_left)
        self.at_every_place(listens, after=the_listener_is_kept)
        overtake_gpu.set_log_callback(None)

    def hearing(self, heard, call):
        def counted(function, listener, *others):
            code = call(function, listener, *others)
            heard.append(getattr(listener, "_obj", None))
            return code

        return counted

    def test_dispatchers(self):
        """Those that are lost close as the interpreter ends."""
        closes = []

        def at_exit():
            for close in closes[1:]:
                close()
            del closes[1:]

        def uses(devices):
            with overtake_gpu.Dispatcher(devices=devices, lanes=1) as dispatcher:
                self.assertEqual(dispatcher.tasks().host("task", lambda: 7).result(20), 7)

        for patch in (
            unittest.mock.patch.object(_dispatcher.atexit, "register", closes.append),
            unittest.mock.patch.object(_dispatcher.atexit, "unregister", closes.remove),
        ):
            self.enterContext(patch)
        closes.append(self.dispatcher._at_exit)
        def closes_twice():
            dispatcher = overtake_gpu.Dispatcher(lanes=1)
            try:
                dispatcher.close()
            finally:
                dispatcher.close()

        for program in (lambda: uses(None), lambda: uses([0]), closes_twice):
            self.at_every_place(program, after=at_exit)


def of_kind(kind, handles):
    return {handle for handle in handles if handle >> 60 == kind}


if __name__ == "__main__":
    unittest.main()
