"""Ctrl-C at every step of the calls that make something: what the library has made is not lost. `tests/python.rs` runs
them on the software GPU."""

import contextlib
import itertools
import os
import sys
import unittest
import unittest.mock

import overtake_gpu
from overtake_gpu import _arrays, _calls as calls, _dispatcher, _pipelines, _templates
from test_arrays import COUNT, Stranger, kernels
from test_overtake import WithDispatcher

FREES = ("_free", "_close", "_leave")

MODULES = os.path.dirname(calls.__file__)


def handles(arguments):
    """The handles that a call has written: they have their kind in the top bits."""
    written = (getattr(getattr(argument, "_obj", None), "value", None) for argument in arguments)
    return {value for value in written if isinstance(value, int) and value >> 60}


def is_freeing(frame):
    """Whether an object goes. What comes then is printed, and ends nothing."""
    return frame.f_code.co_name == "__del__" or frame.f_back is not None and is_freeing(frame.f_back)


def interrupted(make, step, event):
    """Whether Ctrl-C comes at that step of `make`, as the interpreter counts opcodes or lines of the modules."""
    left = step

    def trace(frame, kind, _):
        nonlocal left
        if os.path.dirname(frame.f_code.co_filename) != MODULES or is_freeing(frame):
            return None
        frame.f_trace_opcodes = event == "opcode"
        left -= kind == event
        if left == 0:
            left = -1
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        made = make()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    if hasattr(made, "close"):
        made.close()
    return False


class Interrupts(WithDispatcher):
    def setUp(self):
        super().setUp()
        self.arrays = self.dispatcher.arrays()
        self.x = self.arrays.array_of([1.0] * COUNT)
        self.alive = set()
        calls.bind({**_pipelines._prototypes(), **_templates._prototypes()})
        counting = {name: self.counting(name, call) for name, call in calls.functions.items()}
        for patch in (
            unittest.mock.patch.dict(calls.functions, counting),
            unittest.mock.patch.object(calls, "bind", lambda _: None),
        ):
            self.enterContext(patch)

    def counting(self, name, call):
        def counted(*arguments):
            code = call(*arguments)
            if code == 0:
                self.alive |= handles(arguments)
                if name.endswith(FREES):
                    self.alive.discard(arguments[0])
            return code

        return call if name.startswith(("last_error", "error_name", "answer_")) else counted

    def at_every_step(self, make, event="opcode", after=lambda: None):
        for step in itertools.count(1):
            is_interrupted = interrupted(make, step, event)
            after()
            self.assertEqual(self.alive, set(), f"interrupted at step {step}")
            if not is_interrupted:
                return self.assertGreater(step, 10)

    def test_tasks(self):
        self.at_every_step(lambda: self.tasks.join("join"))
        self.at_every_step(lambda: self.tasks.named("later"))
        self.at_every_step(lambda: self.dispatcher.tasks("set"))
        with self.tasks.group():
            self.at_every_step(lambda: _dispatcher.Group(self.tasks))

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
        stranger, x = Stranger(self.device, [1.0] * COUNT), self.x
        add = self.arrays.kernel(kernels(), "work_add", "const pointer, const pointer, pointer, uint32")
        self.alive.clear()
        self.at_every_step(lambda: self.arrays.array(4))
        self.at_every_step(lambda: self.arrays.adopt(stranger))
        self.at_every_step(lambda: self.arrays.kernel(kernels(), "work_add", "const pointer"))
        self.at_every_step(lambda: x.view(0, 4))
        self.at_every_step(lambda: x.bring(0))
        self.at_every_step(x.read)
        self.at_every_step(x.on_device)
        self.at_every_step(lambda: add(COUNT // 256, 256)(x, x, x, COUNT))
        x[0] = 2.0  # no access is left open
        # A set without arrays that is lost while it is returned goes with its dispatcher.
        self.at_every_step(lambda: overtake_gpu.Arrays(self.dispatcher), "line")

    def test_an_access_that_ends_is_not_left_open(self):
        def use():
            with self.x.read():
                pass

        self.at_every_step(use)
        self.x[0] = 2.0

    def test_pipelines_and_templates(self):
        self.at_every_step(lambda: overtake_gpu.Admission(2))
        self.at_every_step(lambda: self.tasks.pipeline("line", 64))
        self.at_every_step(overtake_gpu.Template)

    def test_no_frame_stays_in_hand(self):
        line = self.tasks.pipeline("line", 64)
        self.alive.clear()

        def pass_on():
            with line.producer.acquire(0):
                pass
            with line.consumer.wait(0):
                pass

        def none_is_in_hand():
            with contextlib.suppress(TimeoutError):
                while True:
                    line.consumer.wait(0).release()
            line.producer.acquire(0).give_up()

        self.at_every_step(pass_on, after=none_is_in_hand)

    def test_dispatchers(self):
        before = set(_dispatcher._open)

        def at_exit():
            """Closes those that the end of the interpreter closes."""
            for key in set(_dispatcher._open) - before:
                calls.call("dispatcher_close", _dispatcher._open.pop(key).value)

        for devices in (None, [0]):
            self.at_every_step(lambda: overtake_gpu.Dispatcher(devices=devices, lanes=1), after=at_exit)


if __name__ == "__main__":
    unittest.main()
