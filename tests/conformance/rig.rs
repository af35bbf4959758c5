//! The equipment of a check: a current context, buffers, streams and words, and the ways to wait for them.
//!
//! [`Rig::finish`] frees everything, even if the check has failed while a stream stands still. It opens every gate by
//! a plain store, waits for its streams, and only then frees. Memory of a stream that does not become idle is leaked.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hal::{
    CaptureStatus, Context, Device, DevicePtr, Driver, Event, EventFlags, Function, HostThread, MemOp, Module, Nanos,
    Stream, StreamFlags, Wait,
};

use crate::failure::{Failure, Outcome};
use crate::memory::Pinned;
use crate::place::Buffer;
use crate::word::{Gate, Word};

/// A check: a plain function, so that it can run on any driver, even on one that must fail it.
pub type Check = fn(&Rig) -> Outcome;

/// The time that a check has in virtual time.
const SPAN_VIRTUAL: Nanos = Nanos::from_ms(2_000);
/// The same in real time. It is long, because it only ends checks that hang: a modelled device shares its processor
/// with all other programs.
const SPAN_REAL: Nanos = Nanos::from_ms(120_000);

/// The time that a check waits, in the host's time, for something that must happen.
pub fn span(driver: &dyn Driver) -> Nanos {
    if driver.host().is_virtual() { SPAN_VIRTUAL } else { SPAN_REAL }
}

/// The time for which a state that must not change is watched.
const WATCHED: Nanos = Nanos::from_us(300);
const WORD_BYTES: u64 = 64;
const WORDS: u64 = 512;

/// The built-in kernels, loaded and warm.
#[derive(Clone, Copy)]
pub struct Kernels {
    /// The module they are in.
    pub module: Module,
    pub noop: Function,
    pub spin: Function,
    pub add: Function,
    pub store: Function,
}

#[derive(Default)]
struct Owned {
    streams: Vec<Stream>,
    events: Vec<Event>,
    buffers: Vec<Buffer>,
    pinned: Vec<Arc<Pinned>>,
    gates: Vec<Gate>,
    modules: Vec<Module>,
    contexts: Vec<(Context, Device)>,
}

/// A current context and the objects made in it.
pub struct Rig {
    driver: Arc<dyn Driver>,
    context: Context,
    deadline: Nanos,
    words: Arc<Pinned>,
    words_base: DevicePtr,
    words_used: Cell<u64>,
    owned: RefCell<Owned>,
}

impl Rig {
    /// Retains the primary context of device 0 and makes it current.
    pub fn new(driver: &Arc<dyn Driver>) -> Result<Rig, Failure> {
        let context = driver.primary_context_retain(Device(0))?;
        driver.context_set_current(Some(context))?;
        let words = Arc::new(Pinned::allocate(&**driver, WORDS * WORD_BYTES)?);
        let words_base = driver.host_device_pointer(words.pointer())?;
        let deadline = driver.host().now() + span(&**driver);
        let owned = RefCell::new(Owned { contexts: vec![(context, Device(0))], ..Owned::default() });
        Ok(Rig { driver: Arc::clone(driver), context, deadline, words, words_base, words_used: Cell::new(0), owned })
    }

    pub fn driver(&self) -> &dyn Driver {
        &*self.driver
    }

    /// As [`Rig::driver`], for callers that keep it.
    pub fn shared_driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// The primary context of device 0.
    pub fn context(&self) -> Context {
        self.context
    }

    /// Retains the primary context of another device until the rig goes. It does not become current.
    pub fn other_context(&self, device: Device) -> Result<Context, Failure> {
        let context = self.driver.primary_context_retain(device)?;
        self.owned.borrow_mut().contexts.push((context, device));
        Ok(context)
    }

    /// A stream that does not synchronise with the legacy default stream.
    pub fn stream(&self) -> Result<Stream, Failure> {
        self.stream_with(StreamFlags::NON_BLOCKING, 0)
    }

    /// Several such streams.
    pub fn streams(&self, count: usize) -> Result<Vec<Stream>, Failure> {
        (0..count).map(|_| self.stream()).collect()
    }

    /// A stream with any flags and priority.
    #[track_caller]
    pub fn stream_with(&self, flags: StreamFlags, priority: i32) -> Result<Stream, Failure> {
        let stream = self.driver.stream_create(flags, priority)?;
        self.owned.borrow_mut().streams.push(stream);
        Ok(stream)
    }

    /// For a check that destroys the stream itself.
    pub fn disown_stream(&self, stream: Stream) {
        self.owned.borrow_mut().streams.retain(|s| *s != stream);
    }

    /// An event without time stamps.
    pub fn event(&self) -> Result<Event, Failure> {
        self.event_with(EventFlags::DISABLE_TIMING)
    }

    /// An event with any flags.
    #[track_caller]
    pub fn event_with(&self, flags: EventFlags) -> Result<Event, Failure> {
        let event = self.driver.event_create(flags)?;
        self.owned.borrow_mut().events.push(event);
        Ok(event)
    }

    /// For a check that destroys the event itself.
    pub fn disown_event(&self, event: Event) {
        self.owned.borrow_mut().events.retain(|e| *e != event);
    }

    /// Device memory in the current context, with undefined contents.
    #[track_caller]
    pub fn buffer(&self, bytes: u64) -> Result<Buffer, Failure> {
        let buffer = Buffer { base: self.driver.mem_alloc(bytes)?, bytes };
        self.owned.borrow_mut().buffers.push(buffer);
        Ok(buffer)
    }

    /// Device memory with these bytes in it.
    #[track_caller]
    pub fn buffer_of(&self, bytes: &[u8]) -> Result<Buffer, Failure> {
        let buffer = self.buffer(bytes.len() as u64)?;
        self.htod_now((buffer, 0), bytes)?;
        self.driver.context_synchronize()?;
        Ok(buffer)
    }

    /// For a check that frees the buffer itself.
    pub fn disown_buffer(&self, buffer: Buffer) {
        self.owned.borrow_mut().buffers.retain(|b| *b != buffer);
    }

    /// Pinned memory from the driver.
    #[track_caller]
    pub fn pinned(&self, bytes: u64) -> Result<Arc<Pinned>, Failure> {
        Ok(self.own_pinned(Pinned::allocate(&*self.driver, bytes)?))
    }

    /// Pinned memory with these bytes in it.
    #[track_caller]
    pub fn pinned_of(&self, bytes: &[u8]) -> Result<Arc<Pinned>, Failure> {
        let pinned = self.pinned(bytes.len() as u64)?;
        pinned.write(0, bytes);
        Ok(pinned)
    }

    /// Memory of the heap, registered.
    #[track_caller]
    pub fn registered(&self, bytes: u64) -> Result<Arc<Pinned>, Failure> {
        Ok(self.own_pinned(Pinned::register(&*self.driver, bytes)?))
    }

    fn own_pinned(&self, pinned: Pinned) -> Arc<Pinned> {
        let pinned = Arc::new(pinned);
        self.owned.borrow_mut().pinned.push(Arc::clone(&pinned));
        pinned
    }

    /// Frees pinned memory before the rig ends.
    #[track_caller]
    pub fn release_pinned(&self, pinned: Arc<Pinned>) -> Outcome {
        self.owned.borrow_mut().pinned.retain(|p| !Arc::ptr_eq(p, &pinned));
        let pinned = Arc::into_inner(pinned).expect("the check holds the last handle");
        Ok(pinned.release(&*self.driver)?)
    }

    /// A fresh word, 0.
    pub fn word(&self) -> Word {
        let offset = self.words_used.get() * WORD_BYTES;
        assert!(offset < WORDS * WORD_BYTES, "a check uses more than {WORDS} words");
        self.words_used.set(self.words_used.get() + 1);
        Word::new(Arc::clone(&self.words), self.words_base, offset)
    }

    /// Holds the stream until the gate is opened.
    #[track_caller]
    pub fn gate(&self, stream: Stream) -> Result<Gate, Failure> {
        let gate = self.new_gate();
        self.wait_at(&gate, stream)?;
        Ok(gate)
    }

    /// A gate that holds no stream yet.
    pub fn new_gate(&self) -> Gate {
        let gate = Gate::new(self.word());
        self.owned.borrow_mut().gates.push(gate.clone());
        gate
    }

    /// Holds one more stream.
    #[track_caller]
    pub fn wait_at(&self, gate: &Gate, stream: Stream) -> Outcome {
        Ok(self.driver.mem_op(stream, gate.wait())?)
    }

    /// The stream stores `value` when it reaches this operation.
    #[track_caller]
    pub fn mark(&self, stream: Stream, word: &Word, value: u32) -> Outcome {
        Ok(self.driver.mem_op(stream, MemOp::write32(word.address, value))?)
    }

    /// A loaded module.
    #[track_caller]
    pub fn module(&self, image: &[u8]) -> Result<Module, Failure> {
        let module = self.driver.module_load(image)?;
        self.owned.borrow_mut().modules.push(module);
        Ok(module)
    }

    /// Loads the built-in kernels and runs each once. A driver that loads lazily may wait for the device, which must
    /// not happen while a stream stands at a gate.
    pub fn kernels(&self) -> Result<Kernels, Failure> {
        let module = self.module(softgpu::BUILTIN_PTX.as_bytes())?;
        let find = |name| self.driver.module_function(module, name);
        let (noop, spin) = (find("soft_noop")?, find("soft_spin_ns")?);
        let (add, store) = (find("soft_atomic_add_u32")?, find("soft_store_u32")?);
        let (stream, scratch) = (self.stream()?, self.buffer(256)?);
        self.launch_noop(noop, stream)?;
        self.launch_spin(spin, 1_000, stream)?;
        self.launch_add(add, (scratch, 0), 1, stream)?;
        self.launch_store(store, (scratch, 0), 1, stream)?;
        self.settle(stream)?;
        Ok(Kernels { module, noop, spin, add, store })
    }

    /// Waits until the stream is idle.
    #[track_caller]
    pub fn settle(&self, stream: Stream) -> Outcome {
        let host = self.driver.host();
        let mut pause = Nanos::from_us(2);
        while !self.driver.stream_query(stream)? {
            if host.now() >= self.deadline {
                return Err(Failure::new(format_args!("{stream:?} has not come to rest by the deadline")));
            }
            host.sleep(pause);
            pause = Nanos((pause.0 * 2).min(1_000_000));
        }
        Ok(())
    }

    /// Waits until all the streams are idle.
    #[track_caller]
    pub fn settle_all(&self, streams: &[Stream]) -> Outcome {
        for stream in streams {
            self.settle(*stream)?;
        }
        Ok(())
    }

    /// Waits until the word holds `value`.
    #[track_caller]
    pub fn reaches(&self, what: &str, word: &Word, value: u32) -> Outcome {
        match self.driver.host().wait_until(Some(self.deadline), &mut || word.load() == value) {
            Wait::Met => Ok(()),
            end => Err(Failure::new(format_args!("{what}: the word is {} and not {value} ({end:?})", word.load()))),
        }
    }

    /// Watches for a while that the word keeps `value`.
    #[track_caller]
    pub fn stays(&self, what: &str, word: &Word, value: u32) -> Outcome {
        let host = self.driver.host();
        match host.wait_until(Some(host.now() + WATCHED), &mut || word.load() != value) {
            Wait::Met => {
                Err(Failure::new(format_args!("{what}: the word became {} and not stayed {value}", word.load())))
            }
            Wait::Deadline | Wait::Stuck => Ok(()),
        }
    }

    /// Watches for a while that the stream does not become idle.
    #[track_caller]
    pub fn held(&self, what: &str, stream: Stream) -> Outcome {
        self.driver.host().sleep(WATCHED);
        match self.driver.stream_query(stream)? {
            true => Err(Failure::new(format_args!("{what}: {stream:?} has come to rest and should be held back"))),
            false => Ok(()),
        }
    }

    /// Starts a thread with the primary context current.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        body: impl FnOnce(&dyn Driver) -> Result<T, Failure> + Send + 'static,
    ) -> HostThread<Result<T, Failure>> {
        let (driver, context) = (Arc::clone(self.shared_driver()), self.context);
        hal::spawn(&self.driver, name, move || {
            driver.context_set_current(Some(context))?;
            body(&*driver)
        })
        .expect("a thread for a check")
    }

    /// Opens the gate from another thread, after a while.
    pub fn open_later(&self, gate: &Gate) -> HostThread<Result<(), Failure>> {
        let gate = gate.clone();
        self.spawn("opener", move |driver| {
            driver.host().sleep(WATCHED);
            gate.open();
            Ok(())
        })
    }

    /// Waits for a thread and returns its failure.
    pub fn join<T>(&self, thread: HostThread<Result<T, Failure>>) -> Result<T, Failure> {
        thread.join(self.driver.host())
    }

    /// Downloads a whole buffer, behind all work in `stream`.
    #[track_caller]
    pub fn download(&self, buffer: Buffer, stream: Stream) -> Result<Vec<u8>, Failure> {
        let pinned = self.pinned(buffer.bytes)?;
        self.dtoh((&pinned, 0), (buffer, 0), buffer.bytes, stream)?;
        self.settle(stream)?;
        Ok(pinned.read_all())
    }

    /// Opens all gates, ends all captures and waits for all streams.
    fn come_to_rest(&mut self) -> Outcome {
        self.driver.context_set_current(Some(self.context))?;
        let owned = self.owned.borrow();
        owned.gates.iter().for_each(Gate::open);
        self.deadline = self.driver.host().now() + span(&*self.driver);
        for stream in &owned.streams {
            if self.driver.stream_capture_status(*stream).is_ok_and(|status| status != CaptureStatus::None) {
                let _ = self.driver.stream_end_capture(*stream).map(|graph| self.driver.graph_destroy(graph));
            }
        }
        self.settle_all(&owned.streams)?;
        self.settle_all(&[Stream::LEGACY, Stream::PER_THREAD])
    }

    /// Frees everything. A driver that refuses to free something has failed the check.
    pub fn finish(mut self) -> Outcome {
        self.come_to_rest()?;
        let Rig { driver, words, owned, .. } = self;
        let Owned { streams, events, buffers, mut pinned, gates, modules, contexts } = owned.into_inner();
        drop(gates);
        pinned.push(words);
        events.into_iter().try_for_each(|event| driver.event_destroy(event))?;
        streams.into_iter().try_for_each(|stream| driver.stream_destroy(stream))?;
        modules.into_iter().try_for_each(|module| driver.module_unload(module))?;
        buffers.into_iter().try_for_each(|buffer| driver.mem_free(buffer.base))?;
        for memory in pinned.into_iter().filter_map(Arc::into_inner) {
            memory.release(&*driver)?;
        }
        driver.context_set_current(None)?;
        Ok(contexts.into_iter().try_for_each(|(_, device)| driver.primary_context_release(device))?)
    }
}

/// Runs a check on a fresh rig.
pub fn run(check: impl FnOnce(&Rig) -> Outcome, driver: &Arc<dyn Driver>) -> Outcome {
    let rig = Rig::new(driver)?;
    let outcome = check(&rig);
    let end = rig.finish();
    outcome.and(end)
}
