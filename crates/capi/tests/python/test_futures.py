"""Tests of tasks as futures; `tests/python.rs` runs them on the software GPU."""

import asyncio
import gc
import signal
import threading
import time
import unittest
import weakref

import overtake_gpu
from overtake_gpu import _calls as calls
from test_overtake import WithDispatcher


class Futures(WithDispatcher):
    def test_callbacks_come_once_in_their_order_with_the_task(self):
        task, seen = self.tasks.host("task", lambda: 7, held=1), []
        ends = [threading.Event() for _ in range(3)]
        for number, end in enumerate(ends):
            def note(ended, number=number, end=end):
                seen.append((number, ended is task, ended.result(0)))
                end.set()

            task.add_done_callback(note)
        self.assertEqual((seen, task.done()), ([], False))
        task.release()
        self.assertTrue(all(end.wait(20) for end in ends))
        self.assertEqual(seen, [(0, True, 7), (1, True, 7), (2, True, 7)])
        task.add_done_callback(lambda ended: seen.append(threading.get_ident()))
        self.assertEqual(seen[3:], [threading.get_ident()], "it has ended before: the call is made here")
        self.assertTrue(task.done())

    def test_a_callback_that_fails_concerns_no_other(self):
        task, end = self.tasks.host("task", lambda: {}["width"], held=1), threading.Event()
        task.add_done_callback(lambda _: self.fail("a callback that fails"))
        task.add_done_callback(lambda _: end.set())
        task.release()
        self.assertTrue(end.wait(20))
        with self.assertRaises(overtake_gpu.TaskError) as raised:
            task.result()
        self.assertIsInstance(raised.exception.__cause__, KeyError, "the failure is the task's own")

    def test_callbacks_go_with_the_task(self):
        class Picture:
            pass

        def submit():
            picture = Picture()
            task = self.tasks.host("kept", lambda: None, held=1)
            task.add_done_callback(lambda _: picture and None)
            return task, weakref.ref(picture)

        task, kept = submit()
        gc.collect()
        self.assertIsNotNone(kept())
        task.release()
        task.wait()
        before = len(calls.alive)
        task.add_done_callback(lambda _: None)
        self.assertLessEqual(len(calls.alive), before)
        self.dispatcher.close()
        gc.collect()
        self.assertIsNone(kept())

    def test_a_coroutine_awaits_and_others_run_meanwhile(self):
        async def program():
            held = self.tasks.host("held", lambda: 7, held=1)
            kernel = self.tasks.kernel("kernel", lambda lane: None)
            ticks, threads = [], threading.active_count()

            async def tick():
                for _ in range(5):
                    await asyncio.sleep(0.01)
                    ticks.append(threading.active_count() - threads)
                held.release()

            found = await asyncio.wait_for(asyncio.gather(held, kernel, tick()), 20)
            return found, ticks, await held

        # It would never end if an await kept the loop.
        found, ticks, again = asyncio.run(program())
        self.assertEqual((found, again), ([7, None, None], 7))
        self.assertEqual(ticks, [0] * 5, "no thread of Python's waits")

    def test_an_await_raises_the_failure(self):
        async def program():
            broken = self.tasks.host("parse", lambda: {}["width"])
            await self.tasks.host("after", lambda: None, after=broken)

        with self.assertRaisesRegex(overtake_gpu.TaskError, 'task "after" was not run: task "parse" failed: KeyError'):
            asyncio.run(program())

        async def cause():
            await self.tasks.host("parse", lambda: {}["width"])

        with self.assertRaises(overtake_gpu.TaskError) as raised:
            asyncio.run(cause())
        self.assertIsInstance(raised.exception.__cause__, KeyError)

    def test_an_await_that_ends_before_the_task(self):
        held = self.tasks.host("held", lambda: 7, held=1)

        async def program():
            await asyncio.wait_for(held, 0.02)

        self.assertRaises(asyncio.TimeoutError, asyncio.run, program())
        self.assertFalse(held.done())
        held.release()  # its callback finds a loop that is closed
        self.assertEqual(held.result(20), 7)
        self.assertEqual(asyncio.run(self.result_of(self.tasks.host("next", lambda: 3))), 3)

    def test_many_awaits_that_end_early_leave_one_listener(self):
        held = self.tasks.host("held", lambda: 7, held=1)

        async def program():
            before = len(calls.alive)
            for _ in range(5):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(held, 0.001)
            listeners = len(calls.alive) - before
            both = asyncio.gather(self.result_of(held), self.result_of(held))
            await asyncio.sleep(0.01)
            held.release()
            return listeners, await both

        self.assertEqual(asyncio.run(program()), (1, [7, 7]))

    def test_an_await_has_the_outcome_of_a_task_that_a_close_ends(self):
        with overtake_gpu.Dispatcher() as dispatcher:
            held = dispatcher.tasks().host("held", lambda: 7, held=1)

            async def program():
                task = asyncio.ensure_future(self.result_of(held))
                await asyncio.sleep(0.01)
                await asyncio.get_running_loop().run_in_executor(None, dispatcher.close)
                return await task

            self.assertRaisesRegex(overtake_gpu.TaskError, '"held" failed: .*closed', asyncio.run, program())
        self.assertRaisesRegex(overtake_gpu.TaskError, '"held" failed: .*closed', held.wait)

    async def result_of(self, task):
        return await task

    def test_arrays_are_brought_without_blocking(self):
        arrays, may_write = self.dispatcher.arrays(), threading.Event()
        x = arrays.array_of([1, 2, 3], "float32")

        def write(elements):
            may_write.wait(20)
            elements[0] = 5

        async def program():
            arrays.host("write", write, overtake_gpu.write(x))
            brought = asyncio.ensure_future(self.result_of(x.bring()))
            await asyncio.sleep(0.02)
            self.assertFalse(brought.done())
            may_write.set()
            await brought
            return x.tolist()

        self.assertEqual(asyncio.run(program()), [5, 2, 3])
        arrays.close()

    def test_a_task_that_has_not_started_can_be_cancelled(self):
        seen = []
        held = self.tasks.host("held", lambda: seen.append(1), held=1)
        behind = self.tasks.host("behind", lambda: seen.append(2), after=held)
        self.assertTrue(held.cancel())
        self.assertRaisesRegex(overtake_gpu.TaskError, 'task "held" was not run: it was cancelled', held.result, 20)
        text = '"behind" was not run: task "held" was cancelled'
        self.assertRaisesRegex(overtake_gpu.TaskError, text, behind.result, 20)
        self.assertFalse(held.cancel())
        done = self.tasks.host("done", lambda: 7)
        self.assertEqual(done.result(), 7)
        self.assertFalse(done.cancel())
        self.tasks.wait()
        self.assertEqual(seen, [])

    def test_the_end_is_told_apart_without_a_raise(self):
        def callback(task):
            seen.append((task.cancelled(), task.exception(0)))
            end.set()

        held = self.tasks.host("held", lambda: None, held=1)
        behind = self.tasks.host("behind", lambda: None, after=held)
        seen, end = [], threading.Event()
        held.add_done_callback(callback)
        self.assertFalse(held.cancelled())
        self.assertRaises(TimeoutError, held.exception, 0)
        self.assertTrue(held.cancel())
        self.assertTrue(end.wait(20))
        [(is_cancelled, error)] = seen
        self.assertTrue(is_cancelled, "the callback may come before `cancel` returns")
        self.assertRegex(str(error), "it was cancelled")
        self.assertIsInstance(behind.exception(20), overtake_gpu.TaskError)
        self.assertFalse(behind.cancelled(), "it was not run, as those behind one that fails")

        def quote():
            raise RuntimeError('task "x" was not run: it was cancelled')

        broken = self.tasks.host("broken", quote)
        follower = self.tasks.host("follower", lambda: None, after=broken)
        for task in (broken, follower):
            self.assertIn("it was cancelled", task.exception(20).text)
            self.assertFalse(task.cancelled())
        done = self.tasks.host("done", lambda: 7)
        self.assertEqual((done.exception(20), done.cancelled()), (None, False))

    def test_one_task_and_several_come_before(self):
        order = []
        note = lambda name: self.tasks.host(name, lambda: order.append(name), held=1)
        first, second, third, last = (note(name) for name in ("first", "second", "third", "last"))
        first.precede(second, third)
        last.succeed(second, third)
        third.succeed(second)
        for task in (last, third, second, first):
            task.release()
        self.tasks.host("one", lambda: order.append("one"), after=last).wait(20)
        self.tasks.light("all", lambda: order.append("all"), after=(task for task in (first, last))).wait(20)
        self.assertEqual(order, ["first", "second", "third", "last", "one", "all"])

    def test_submissions_wait_for_room(self):
        with overtake_gpu.Dispatcher(tasks_max=4) as dispatcher:
            tasks, seen = dispatcher.tasks(), []
            held = tasks.host("held", lambda: seen.append(0), held=1)
            for number in range(3):
                tasks.host("behind", lambda: seen.append(0), after=held)
            kept = len(calls.alive)
            for timeout, least in ((0, 0), (0.12, 0.12)):
                start = time.monotonic()
                with self.assertRaises(overtake_gpu.Error) as raised:
                    tasks.host("more", lambda: seen.append(1), room_timeout=timeout)
                self.assertEqual(raised.exception.name, "OVERTAKE_ERROR_WOULD_BLOCK")
                self.assertGreaterEqual(time.monotonic() - start, least)
            self.assertEqual(len(calls.alive), kept, "nothing of a refused task is kept")
            threading.Timer(0.12, held.release).start()
            for _ in range(50):
                tasks.host("more", lambda: seen.append(1), room_timeout=None)
            tasks.wait()
            self.assertEqual((seen.count(0), seen.count(1)), (4, 50))

    def test_a_full_device_is_waited_for_as_long_as_the_caller_says(self):
        with self.dispatcher.arrays(device_bytes_max=1 << 23) as arrays:
            one, other = (arrays.array_of(bytes(1 << 23)) for _ in range(2))
            held = arrays.launch("held", lambda lane, view: None, overtake_gpu.write(one), held=1)
            kept = len(calls.alive)

            def use(**options):
                return arrays.launch("use", lambda lane, view: None, overtake_gpu.write(other), **options)

            waits = (use, lambda **options: other.bring(0, **options), lambda **options: other.on_device(**options))
            for wait in waits:
                start = time.monotonic()
                with self.assertRaisesRegex(TimeoutError, "the device is full.* wait longer"):
                    wait(room_timeout=0.12)
                self.assertTrue(0.12 <= time.monotonic() - start < 20)
                # Ctrl-C ends one that would wait for a minute.
                threading.Timer(0.12, signal.raise_signal, [signal.SIGINT]).start()
                self.assertRaises(KeyboardInterrupt, wait)
                self.assertLess(time.monotonic() - start, 20)
            self.assertEqual(len(calls.alive), kept, "nothing of a refused computation is kept")
            threading.Timer(0.12, held.release).start()
            use(room_timeout=None).wait(20)

    def test_a_timeout_of_the_program_is_never_taken_for_the_librarys(self):
        made = []

        def submit(_):  # the handler of a signal raises it behind a call that has succeeded
            made.append(1)
            raise TimeoutError("the program's own")

        with self.assertRaisesRegex(TimeoutError, "the program's own"):
            calls.with_room(None, submit)
        self.assertEqual(len(made), 1)

    def test_computations_wait_for_room(self):
        with overtake_gpu.Dispatcher(tasks_max=8) as dispatcher, dispatcher.arrays() as arrays:
            x, tasks, held = arrays.array_of([0], "int32"), dispatcher.tasks(), []
            with self.assertRaises(overtake_gpu.Error):
                while True:
                    held.append(tasks.join("held", held=1))

            def add(elements):
                elements[0] += 1

            kept = len(calls.alive)
            with self.assertRaises(overtake_gpu.Error) as raised:
                arrays.host("add", add, overtake_gpu.read_write(x), room_timeout=0.12)
            self.assertEqual(raised.exception.name, "OVERTAKE_ERROR_WOULD_BLOCK")
            self.assertEqual(len(calls.alive), kept)
            threading.Timer(0.12, lambda: [task.release() for task in held]).start()
            for _ in range(30):
                arrays.host("add", add, overtake_gpu.read_write(x), room_timeout=None)
            arrays.wait()
            self.assertEqual(x[0], 30)

    def test_replays_wait_for_room(self):
        with overtake_gpu.Dispatcher(tasks_max=8) as dispatcher:
            tasks, seen, template = dispatcher.tasks(), [], overtake_gpu.Template()
            template.host("second", seen.append, after=template.host("first", seen.append))
            held = tasks.join("held", held=1)
            for _ in range(6):
                tasks.join("behind", after=held)
            kept = len(calls.alive)
            for timeout, least in ((0, 0), (0.12, 0.12)):
                start = time.monotonic()
                with self.assertRaises(overtake_gpu.Error) as raised:
                    template.replay(tasks, 1, room_timeout=timeout)
                self.assertEqual(raised.exception.name, "OVERTAKE_ERROR_WOULD_BLOCK")
                self.assertGreaterEqual(time.monotonic() - start, least)
            self.assertEqual(len(calls.alive), kept, "nothing of a refused replay is kept")
            threading.Timer(0.12, held.release).start()
            for _ in range(30):
                template.replay(tasks, 1, room_timeout=None)
            template.replay(tasks, 2, room_timeout=20).wait(20)
            tasks.wait()
            self.assertEqual((seen.count(1), seen.count(2)), (60, 2))

    def test_tasks_before_one_that_waits_for_room_may_be_an_iterator(self):
        for option in ("after", "after_launch"):
            with overtake_gpu.Dispatcher(tasks_max=4) as dispatcher:
                tasks, seen = dispatcher.tasks(), []
                held = tasks.host("held", lambda: seen.append("held"), held=1)
                full = tasks.host("full", lambda: None, held=1)
                for _ in range(2):
                    tasks.join("behind", after=full)
                threading.Timer(0.12, full.release).start()
                last = tasks.host("last", lambda: seen.append("last"), room_timeout=20, **{option: iter([held])})
                time.sleep(0.05)
                self.assertEqual(seen, [], option)
                held.release()
                last.wait(20)
                self.assertEqual(seen, ["held", "last"], option)

    def test_tasks_that_only_an_iterator_has_come_before(self):
        seen = []
        note = lambda number: self.tasks.host("one", lambda: seen.append(number))
        last = self.tasks.join("last", after=(note(number) for number in range(20)))
        last.wait(20)
        self.assertEqual(sorted(seen), list(range(20)))

    def test_options_that_are_none_are_named(self):
        for submit in (self.tasks.host, self.tasks.kernel):
            self.assertRaisesRegex(TypeError, "prioirty", submit, "x", lambda *_: None, prioirty=5)
        self.assertRaisesRegex(TypeError, "prioirty", self.tasks.join, "x", prioirty=5)
        self.assertRaisesRegex(TypeError, "data", self.tasks.join, "x", data=5)

    def test_a_function_does_not_wait_for_room(self):
        with overtake_gpu.Dispatcher(tasks_max=4) as dispatcher:
            tasks = dispatcher.tasks()

            def fills():
                for _ in range(5):
                    tasks.join("more", held=1, room_timeout=None)

            with self.assertRaisesRegex(overtake_gpu.TaskError, "must not wait for room"):
                tasks.host("fills", fills).result(20)


if __name__ == "__main__":
    unittest.main()
