"""Tests of tasks from Python; `tests/python.rs` runs them on the software GPU."""

import copy
import ctypes
import gc
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock
import weakref

import overtake_gpu
from overtake_gpu import _calls as calls, _dispatcher
from test_overtake import Device, WithDispatcher

SIZE = 64 << 10


class Tasks(WithDispatcher):
    def pinned(self):
        return self.device.made("cuMemHostAlloc", ctypes.c_size_t(SIZE), 0)

    def word(self):
        """A word that is 0, and the work that waits on the device until it is 1 or more."""
        word, equal_or_more = ctypes.c_uint32.from_address(self.pinned()), 0
        word.value = 0

        def wait_for_the_word(lane):
            at = ctypes.c_uint64(ctypes.addressof(word))
            self.device.must("cuStreamWaitValue32_v2", ctypes.c_void_p(lane.stream), at, 1, equal_or_more)

        return word, wait_for_the_word

    def test_a_chain_through_the_device(self):
        source, target, middle = self.pinned(), self.pinned(), self.device.made("cuMemAlloc_v2", ctypes.c_size_t(SIZE))
        ctypes.memmove(source, bytes(range(256)) * (SIZE // 256), SIZE)
        seen = []

        def fill(lane):
            seen.append((lane.turn, lane.priority))
            at, count = ctypes.c_uint64(middle + lane.turn), ctypes.c_size_t(1)
            self.device.must("cuMemsetD8Async", at, ctypes.c_ubyte(200), count, ctypes.c_void_p(lane.stream))
            if lane.turn < 2:
                lane.again()

        up = self.tasks.upload("up", lambda lane: lane.copy(middle, source, SIZE, overtake_gpu.HOST_TO_DEVICE))
        kernel = self.tasks.kernel("fill", fill, after=[up], priority=3)

        @self.tasks.download("down", after=[kernel])
        def down(lane):
            lane.copy(target, middle, SIZE)
            lane.sync_point()

        read = self.tasks.host("read", lambda: ctypes.string_at(target, 6), after=[down])
        self.assertEqual(read.result(), bytes([200, 200, 200, 3, 4, 5]))
        self.assertEqual(seen, [(0, 3), (1, 3), (2, 3)])
        self.assertTrue(read.done() and up.done())
        self.assertEqual(ctypes.string_at(target, SIZE)[3:], ctypes.string_at(source, SIZE)[3:])
        self.tasks.wait()
        counts = self.dispatcher.statistics()
        self.assertEqual((counts["launches"], counts["functions"], counts["tasks"]), (5, 1, 0))
        self.dispatcher.close()
        self.assertEqual(read.result()[0], 200, "a result that is known stays")

    def test_exceptions_name_the_task_and_are_the_cause(self):
        broken = self.tasks.host("parse", lambda: {}["width"])
        after = self.tasks.kernel("draw", lambda lane: self.fail("it must not run"), after=[broken])
        with self.assertRaises(overtake_gpu.TaskError) as raised:
            broken.result()
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        self.assertEqual(raised.exception.name, "OVERTAKE_ERROR_TASK_FAILED")
        self.assertIn("task \"parse\" failed: KeyError: 'width'", str(raised.exception))
        with self.assertRaises(overtake_gpu.TaskError) as raised:
            after.wait()
        self.assertEqual(raised.exception.name, "OVERTAKE_ERROR_TASK_NOT_RUN")
        self.assertRegex(str(raised.exception), 'task "draw" was not run: task "parse" failed')
        call = self.tasks.upload("call", lambda lane: lane.copy(0, 0, 1, kind=9))
        with self.assertRaisesRegex(overtake_gpu.TaskError, '"call" failed: .*overtake_lane_copy: kind'):
            call.wait()
        with self.assertRaises(overtake_gpu.TaskError):
            self.tasks.wait()

    def test_functions_live_as_long_as_their_tasks(self):
        class Picture:
            pass

        def submit(**options):
            picture = Picture()
            task = self.tasks.kernel("kept", lambda lane: picture and None, **options)
            return task, weakref.ref(picture)

        held, kept = submit(held=1)
        gc.collect()
        self.assertIsNotNone(kept())
        held.release()
        held.wait()
        self.dispatcher.close()
        gc.collect()
        self.assertIsNone(kept(), "the task has ended")
        self.assertRaises(overtake_gpu.Error, self.tasks.host, "late", lambda: None)

    def test_references_orders_and_names(self):
        order = []
        note = lambda number: lambda *lane: order.append(number)
        later = self.tasks.named("later")
        last = self.tasks.light("last", note(4), after=[later], held=1)
        second = self.tasks.host("second", note(2), held=1)
        first = self.tasks.host("first", note(1), held=1)
        first.precede(second)
        self.assertRaisesRegex(overtake_gpu.Error, "first", second.precede, first)
        self.tasks.host("later", note(3), after=[second], named=True)
        second.release()
        last.release()
        self.assertFalse(second.done() or order)
        first.hold()
        first.release()
        first.release()
        last.wait()
        self.assertEqual(order, [1, 2, 3, 4])
        self.assertRaises(overtake_gpu.Error, first.release)
        many = [self.tasks.light("another", lambda: None, held=1) for _ in range(100)]
        for task in many:
            task.release()
        self.tasks.wait()
        text = '"first" has finished, so its order with "last"'
        self.assertRaisesRegex(overtake_gpu.Error, text, first.precede, last)

    def test_an_order_of_launches(self):
        order = []
        word, wait_for_the_word = self.word()
        kernel = self.tasks.kernel("kernel", wait_for_the_word)
        ran = threading.Event()
        patient = self.tasks.host("patient", lambda: order.append("patient"), after=[kernel])
        prompt = self.tasks.host("prompt", lambda: (order.append("prompt"), ran.set()), after_launch=[kernel])
        try:
            self.assertTrue(ran.wait(20), "it does not wait for the device")
            self.assertFalse(kernel.done() or patient.done() or prompt.done())
        finally:
            word.value = 1
        patient.wait()
        prompt.wait()
        self.assertEqual(order, ["prompt", "patient"])

    def test_the_order_of_physx_does_not_see_priorities(self):
        for physx_order, expected in ((False, ["urgent", "bulk"]), (True, ["bulk", "urgent"])):
            order = []
            with overtake_gpu.Dispatcher(physx_order=physx_order) as dispatcher:
                tasks = dispatcher.tasks()
                with tasks.group():
                    # In the order of PhysX the last is the first.
                    tasks.kernel("urgent", lambda lane: order.append("urgent"), priority=5)
                    tasks.kernel("bulk", lambda lane: order.append("bulk"), priority=1)
                tasks.wait()
            self.assertEqual(order, expected)

    def test_a_dispatcher_has_counts_and_a_picture(self):
        word, wait_for_the_word = self.word()
        with overtake_gpu.Dispatcher(groups=1, lanes=1) as dispatcher:
            tasks = dispatcher.tasks()
            tasks.kernel("waits", wait_for_the_word)
            last = tasks.kernel("last", lambda lane: None)
            until = time.monotonic() + 20
            while dispatcher.statistics()["launches"] < 2 and time.monotonic() < until:
                time.sleep(0.001)
            self.assertEqual((dispatcher.statistics()["launches"], last.done()), (2, False))
            self.assertRegex(dispatcher.dot(), r'label="waits\\nkernel on device 0, priority 1\\nin flight, lane 0"')
            for number in range(200):
                tasks.join(f"a join with a long name, {number}", after=[last])
            self.assertIn("a join with a long name, 199", dispatcher.dot(), "longer than the first buffer")
            word.value = 1
            tasks.wait()
            counts = dispatcher.statistics()
        self.assertEqual((counts["launches"], counts["tasks"], counts["lifts"]), (2, 0, 0))
        self.assertEqual((counts["captures_ended"], counts["joins_saved"]), (0, 0))

    def test_a_closed_dispatcher_names_the_task(self):
        self.dispatcher.close()
        with self.assertRaisesRegex(overtake_gpu.Error, 'task "late" needs a set of a dispatcher that is open'):
            self.tasks.host("late", lambda: None)
        self.dispatcher = overtake_gpu.Dispatcher()

    def test_groups_priorities_and_sets(self):
        order, other = [], self.dispatcher.tasks("other")
        reader = other.light("reader", lambda: order.append("reader"), held=1)
        with self.tasks.group():
            self.tasks.kernel("bulk", lambda lane: order.append("bulk"))
            needed = self.tasks.kernel("needed", lambda lane: (order.append(lane.priority), lane.completes(reader)))
            urgent = self.tasks.kernel("urgent", lambda lane: order.append("urgent"), after=[needed])
            urgent.set_priority(5)
            self.assertEqual(order, [])
        reader.release()
        self.tasks.wait()
        other.wait()
        self.assertEqual(order[:3], [5, "urgent", "bulk"])
        self.assertEqual(order[3:], ["reader"])
        order.clear()
        with self.tasks.group() as group:
            self.tasks.light("behind", lambda: order.append("behind"), after=[group.behind])
            self.tasks.light("before", lambda: order.append("before"), after=[group.before])
            self.tasks.kernel("inside", lambda lane: order.append("inside"))
        self.tasks.wait()
        self.assertEqual(order, ["before", "inside", "behind"])
        other.stop()
        waiting = other.join("waiting")
        self.assertFalse(waiting.done())
        other.start()
        waiting.wait()

    def test_a_launch_that_fails_is_repeated(self):
        turns = iter([ValueError("not yet"), ValueError("not yet"), None])

        def launch(lane):
            if (error := next(turns)) is not None:
                raise error

        self.tasks.kernel("again", launch, retries=2).wait()
        self.assertRaises(StopIteration, next, turns)
        self.assertRaisesRegex(overtake_gpu.Error, '"once"', self.tasks.host, "once", print, retries=1)

    def test_functions_of_the_host_run_while_others_wait(self):
        ids = [self.tasks.host("id", threading.get_ident).result() for _ in range(3)]
        self.assertNotIn(threading.get_ident(), ids)
        waits = self.tasks.host("waits", lambda: self.tasks.join("inner", held=1).wait())
        self.assertRaisesRegex(overtake_gpu.TaskError, "not from the function of a task", waits.wait)

    def test_an_interpreter_that_ends_closes_its_dispatchers(self):
        program = (
            "import overtake_gpu, sys\n"
            "from test_overtake import Device\n"
            "device = Device()\n"
            "tasks = overtake_gpu.Dispatcher().tasks()\n"
            "for _ in range(200):\n"
            "    tasks.host('late', lambda: sum(range(1000)))\n"
            "tasks.host('never', print, held=1)\n"
        )
        folder = os.path.dirname(__file__)
        ended = subprocess.run([sys.executable, "-B", "-c", program], cwd=folder, capture_output=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (0, b""), ended.stderr)

    def test_an_exception_without_a_text(self):
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError("it has none")

        def raises(*lane):
            raise Odd

        for task in (self.tasks.host("odd", raises), self.tasks.kernel("odd", raises)):
            text = 'task "odd" failed: Odd, whose text cannot be made'
            with self.assertRaisesRegex(overtake_gpu.TaskError, text) as raised:
                task.wait()
            self.assertIsInstance(raised.exception.__cause__, Odd)

    def test_waits_end_with_their_time(self):
        held = self.tasks.host("held", lambda: 7, held=1)
        for wait in (held.wait, held.result, self.tasks.wait):
            for timeout in (0.02, 0, -1, -math.inf):
                self.assertRaisesRegex(TimeoutError, f"within {timeout} s", wait, timeout=timeout)
        self.assertRaises(ValueError, held.wait, math.nan)
        held.release()
        self.assertEqual((held.result(math.inf), held.result(1e300), held.result(-1)), (7, 7, 7))
        self.tasks.wait(timeout=1e300)

    def test_ctrl_c_ends_a_wait(self):
        held = self.tasks.join("held", held=1)
        for wait in (held.wait, self.tasks.wait, lambda: held.wait(50)):
            start = time.monotonic()
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            self.assertRaises(KeyboardInterrupt, wait)
            self.assertLess(time.monotonic() - start, 20)
        held.release()
        held.wait()

    def test_ctrl_c_in_a_function_reaches_the_main_thread(self):
        def interrupted(lane):
            signal.raise_signal(signal.SIGINT)
            time.sleep(0)

        with self.assertRaises(KeyboardInterrupt):
            self.tasks.kernel("interrupted", interrupted)
            self.tasks.wait()
            time.sleep(20)
        # One that came before the first statement, as the library counts it.
        calls._unanswered.value = 1
        self.assertRaises(KeyboardInterrupt, self.tasks.stop)
        self.tasks.start()
        self.assertEqual(self.tasks.host("after", lambda: 3).result(), 3)

    def test_what_ends_a_function_ends_no_other(self):
        def ends(lane):
            raise SystemExit("the end")

        seen = []
        with self.assertRaises(SystemExit):
            with self.tasks.group():
                self.tasks.kernel("ends", ends)
                other = self.tasks.kernel("other", lambda lane: seen.append(lane.device))
        other.wait()
        self.assertEqual(seen, [0])

    def test_no_function_begins_while_the_interpreter_forks(self):
        """A thread that enters CPython 3.12 or older then may have a lock for which the child waits for ever."""
        calls.functions["before_fork"]()
        try:
            task = self.tasks.host("begins", lambda: 7)
            self.assertRaises(TimeoutError, task.wait, 0.1)
            self.assertEqual(self.tasks.light("here", lambda: 8).result(20), 8)  # this thread is there already
        finally:
            calls.functions["after_fork"]()
        self.assertEqual(task.result(20), 7)

    def test_forks_are_told_of(self):
        told = []
        with (
            unittest.mock.patch.object(calls, "_watches_forks", False),
            unittest.mock.patch.object(os, "register_at_fork", lambda **hooks: told.append(hooks)),
        ):
            calls.bind({})
            calls.bind({})
        hooks = {"before": calls.functions["before_fork"], "after_in_parent": calls.functions["after_fork"]}
        self.assertEqual(told, [hooks])

    def test_a_listener_does_not_begin_while_the_interpreter_forks(self):
        """It has a thread of the library's too."""
        heard = threading.Event()
        overtake_gpu.set_log_callback(lambda *_: heard.set())
        calls.functions["before_fork"]()
        try:
            self.tasks.light("fails", lambda: {}["width"])
            self.assertFalse(heard.wait(0.1))
        finally:
            calls.functions["after_fork"]()
        self.assertTrue(heard.wait(20))
        overtake_gpu.set_log_callback(None)

    def ends_well(self, program):
        """A process of its own, whose hooks for forks stay there."""
        paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Later versions of CPython warn of a fork beside threads.
        command = [sys.executable, "-B", "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=paths)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_the_child_of_a_fork_may_open_the_first_dispatcher(self):
        self.ends_well("""
            import os, signal
            import overtake_gpu
            template = overtake_gpu.Template()
            overtake_gpu.set_log_callback(lambda *_: None)
            overtake_gpu.set_log_callback(None)
            child = os.fork()
            if child != 0:
                _, status = os.waitpid(child, 0)
                assert status == 0, status
            else:
                signal.alarm(20)
                with overtake_gpu.Dispatcher(devices=[0]) as dispatcher:
                    tasks, seen = dispatcher.tasks(), []
                    assert tasks.host("here", lambda: 7).result(10) == 7
                    template.host("step", seen.append)
                    template.replay(tasks, 8).wait(10)
                    assert seen == [8]
        """)

    def test_other_hooks_of_forks_may_wait_for_functions(self):
        """They are called while the library's has its threads wait, as it was registered later."""
        self.ends_well("""
            import os, signal, threading, time
            import overtake_gpu
            lock, begun, drained = threading.Lock(), threading.Event(), []
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
            os.register_at_fork(before=lambda: drained.append(tasks.host("drain", lambda: 8).result(20)))
            tasks = overtake_gpu.Dispatcher(devices=[0]).tasks()

            def waits():
                with lock:
                    begun.set()
                    time.sleep(0.2)
                    tasks.host("locked", lambda: 7).result(20)

            waiting = threading.Thread(target=waits)
            waiting.start()
            begun.wait()
            signal.alarm(30)
            child = os.fork()
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0 and drained == [8]
            waiting.join()
        """)

    def test_what_a_function_refers_to_is_kept_with_it(self):
        interpreter = calls._interpreter
        with unittest.mock.patch.object(calls, "_interpreter", type(interpreter)(*interpreter)):
            kept, there = calls.Kept(print), weakref.ref(calls._interpreter)
        self.assertIsNotNone(there())
        del kept
        self.assertIsNone(there())

    def test_handles_are_not_copied(self):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            self.assertRaisesRegex(TypeError, "neither copied nor pickled", copied, self.tasks.join("join"))

    def test_children_of_forks_end_while_functions_begin(self):
        for _ in range(100):
            for _ in range(10):
                self.tasks.host("begins", lambda: None)
            child = os.fork()
            if child == 0:
                os._exit(0)
            until = time.monotonic() + 20
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(child, signal.SIGKILL)
                    self.fail("a child hangs")
                time.sleep(0.001)
        self.tasks.wait(20)

    def test_a_task_behind_others_is_no_cycle(self):
        first = self.tasks.host("first", lambda: 7)
        gone = weakref.ref(first)
        gc.disable()
        try:
            self.tasks.host("second", lambda: 8, after=[first], after_launch=first).wait(20)
            del first
            self.assertIsNone(gone())
        finally:
            gc.enable()

    def test_the_end_of_a_failed_function_is_no_cycle(self):
        class Mine:
            pass

        def fails():
            mine = Mine()
            seen.append(weakref.ref(mine))
            raise ValueError("as planned")

        seen = []
        gc.disable()
        try:
            self.assertRaises(overtake_gpu.TaskError, self.tasks.host("fails", fails).wait, 20)
            until = time.monotonic() + 20
            while seen[0]() is not None and time.monotonic() < until:
                time.sleep(0.001)
            self.assertIsNone(seen[0]())
        finally:
            gc.enable()

    def test_an_interrupt_that_waits_keeps_no_function(self):
        kept = len(calls.alive)
        calls._interrupts.append(KeyboardInterrupt())
        self.assertRaises(KeyboardInterrupt, self.tasks.kernel, "none", lambda lane: None)
        self.assertEqual(len(calls.alive), kept)

    def test_a_handle_that_is_freed_leaves_the_text_of_the_last_failure(self):
        wrong = calls.Owner()
        wrong._place.value = 3 << 60 | 16  # a task, as far as its bits tell
        self.assertNotEqual(calls.functions["tasks_free"](None), 0)
        del wrong
        self.assertIn(b"the set of tasks is null", calls.functions["last_error"]())

    def test_a_dispatcher_that_cannot_be_used_is_closed(self):
        closed = []
        for patch in (
            unittest.mock.patch.object(_dispatcher, "_current_device", side_effect=OSError("no driver")),
            unittest.mock.patch.object(_dispatcher.atexit, "unregister", closed.append),
        ):
            self.enterContext(patch)
        self.assertRaises(OSError, overtake_gpu.Dispatcher)
        self.assertEqual(len(closed), 1)
        self.assertNotEqual(closed[0](), 0)  # it is closed

    def test_many(self):
        sums = [self.tasks.host("sum", lambda number=number: number * 2) for number in range(300)]
        self.assertEqual(sum(each.result() for each in sums), 300 * 299)
        del sums
        gc.collect()
        self.assertEqual(self.dispatcher.statistics()["tasks"], 0)


class WithoutLibrary(unittest.TestCase):
    def test_a_dispatcher_says_what_is_missing(self):
        self.assertRaisesRegex(overtake_gpu.Unavailable, "cargo xtask install", overtake_gpu.Dispatcher)


if __name__ == "__main__":
    unittest.main()
