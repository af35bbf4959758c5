//! The machine: channels, engines and a clock that jumps from event to event. `README.md` has the rules.

use channels::share::Share;
use hal::Nanos;
use priority::Priority;
use semaphores::{Boost, Pending, Step};

use super::channel::{Channel, Command, Op, commands, waited_word};
use super::outcome::{Deadlock, Outcome, Run, Semaphore};
use super::scenario::Mode;
use super::setup::Setup;
use super::words::Words;

#[derive(Clone, Debug, Default)]
pub(super) struct Copy {
    pub(super) began: Option<Nanos>,
    pub(super) completed: Option<Nanos>,
    pub(super) pending: Option<Pending>,
}

/// A chunk on an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) channel: usize,
    pub(super) run: Run,
}

/// An engine and its host scheduler.
pub(super) struct Engine {
    pub(super) words: Words,
    pub(super) channels: Vec<usize>,
    pub(super) running: Option<Running>,
    /// The channel whose head the host scheduler executes, and the end of that.
    pub(super) executing: Option<(usize, Nanos)>,
    /// The channel that has the slice, and the end of the slice.
    pub(super) current: Option<(usize, Nanos)>,
    pub(super) turn: u64,
    /// The starvation bound of each level that may have to wait, and whether the level passes now.
    pub(super) shares: Vec<(Priority, Share, bool)>,
}

pub(super) struct Machine<'a> {
    pub(super) setup: &'a Setup,
    pub(super) now: Nanos,
    pub(super) engines: Vec<Engine>,
    pub(super) channels: Vec<Channel>,
    pub(super) copies: Vec<Copy>,
    pub(super) boosts: Vec<(usize, Boost)>,
    submitted: usize,
    received: u64,
    runs: Vec<Run>,
}

/// A scenario that needs more is not a small model; the most common cause is a starvation slice of nanoseconds.
const EVENTS_MAX: u32 = 2_000_000;

/// Runs a scenario to its end, or until nothing moves any more.
pub fn simulate(setup: &Setup) -> Result<Outcome, String> {
    let mut machine = Machine::new(setup);
    for _ in 0..EVENTS_MAX {
        let Some(now) = machine.next_event() else { return Ok(machine.into_outcome()) };
        machine.advance(now);
    }
    Err(format!("more than {EVENTS_MAX} events; lengthen `bulk_slice`, or simulate fewer and larger copies"))
}

impl<'a> Machine<'a> {
    fn new(setup: &'a Setup) -> Machine<'a> {
        let engine = |at: usize| Engine {
            words: Words::new(setup.mode.kind(), setup.priorities),
            channels: (0..setup.channels.len()).filter(|channel| setup.channels[*channel].engine == at).collect(),
            running: None,
            executing: None,
            current: None,
            turn: 0,
            shares: shares(setup),
        };
        Machine {
            setup,
            now: Nanos::ZERO,
            engines: (0..setup.engines.len()).map(engine).collect(),
            channels: setup.channels.iter().map(|_| Channel::default()).collect(),
            copies: vec![Copy::default(); setup.copies.len()],
            boosts: Vec::new(),
            submitted: 0,
            received: 0,
            runs: Vec::new(),
        }
    }

    /// The time of the next event; `None` if there will never be one.
    fn next_event(&self) -> Option<Nanos> {
        let arrival = self.setup.copies.get(self.submitted).map(|copy| copy.arrival);
        let running = self.engines.iter().filter_map(|engine| engine.running.map(|running| running.run.end));
        let executing = self.engines.iter().filter_map(|engine| engine.executing.map(|(_, ends)| ends));
        let moving = running.chain(executing).chain(arrival).min();
        let is_held = |engine: &Engine| engine.channels.iter().any(|channel| self.waits_at_gate(*channel));
        // A share without waiting copies must not keep the clock going for ever.
        let shares = self.engines.iter().filter(|engine| moving.is_some() || is_held(engine));
        shares.filter_map(|engine| engine.share_deadline()).chain(moving).min()
    }

    fn waits_at_gate(&self, channel: usize) -> bool {
        let head = self.channels[channel].commands.front();
        head.and_then(|command| waited_word(command.op)).is_some_and(Words::is_gate)
    }

    fn advance(&mut self, now: Nanos) {
        self.now = now;
        for engine in &mut self.engines {
            engine.keep_shares(now);
        }
        let mut is_news = false;
        for engine in 0..self.engines.len() {
            self.finish_command(engine);
            is_news |= self.finish_chunk(engine);
        }
        while self.setup.copies.get(self.submitted).is_some_and(|copy| copy.arrival <= now) {
            self.submit(self.submitted);
            self.submitted += 1;
            is_news = true;
        }
        if is_news && self.setup.mode == Mode::Hold {
            self.count_pending();
        }
        for engine in 0..self.engines.len() {
            self.schedule(engine);
        }
    }

    fn submit(&mut self, copy: usize) {
        let setup = self.setup;
        let made = &setup.copies[copy];
        let channel = setup.streams[made.stream].channel;
        let level = setup.channels[channel].level;
        let words = &self.engines[setup.channels[channel].engine].words;
        let ops = commands(words, setup.mode, setup.inc, level, &made.after, made.chunks.len());
        for op in ops {
            self.channels[channel].commands.push_back(Command { copy, op, received: self.received });
            self.received += 1;
        }
        self.channels[channel].copies.push_back(copy);
    }

    /// The command that the host scheduler has executed takes effect.
    fn finish_command(&mut self, engine: usize) {
        if let Some((channel, _)) = self.engines[engine].executing.filter(|(_, ends)| *ends <= self.now) {
            self.engines[engine].executing = None;
            self.take_effect(channel);
        }
    }

    /// Starts the head of a channel: a chunk occupies the engine, a semaphore command the host scheduler.
    pub(super) fn execute(&mut self, channel: usize) {
        let command = *self.channels[channel].commands.front().expect("only channels with work are chosen");
        let engine = self.setup.channels[channel].engine;
        match command.op {
            Op::Step(Step::Copy(chunk)) => {
                let end = self.now + self.setup.copies[command.copy].chunks[chunk];
                let run = Run { copy: command.copy, chunk, start: self.now, end };
                self.engines[engine].running = Some(Running { channel, run });
                self.channels[channel].is_busy = true;
                self.runs.push(run);
                self.copies[command.copy].began.get_or_insert(self.now);
            }
            Op::Step(_) if self.setup.command > Nanos::ZERO => {
                self.engines[engine].executing = Some((channel, self.now + self.setup.command));
                self.channels[channel].is_busy = true;
            }
            Op::Step(_) | Op::Join(_) => self.take_effect(channel),
        }
    }

    fn take_effect(&mut self, channel: usize) {
        let engine = self.setup.channels[channel].engine;
        let words = &mut self.engines[engine].words;
        let channel = &mut self.channels[channel];
        channel.is_busy = false;
        let command = channel.commands.pop_front().expect("the command that was executed is still the head");
        match command.op {
            Op::Step(Step::Write(word, value)) => words.write(word, value, self.now),
            Op::Step(Step::Add(word, value)) => words.add(word, value, self.now),
            Op::Step(Step::Wait(_) | Step::Copy(_)) | Op::Join(_) => {}
        }
    }

    /// The chunk that has ended frees the engine, and perhaps completes its copy. Returns whether it does.
    fn finish_chunk(&mut self, engine: usize) -> bool {
        let running = self.engines[engine].running.filter(|running| running.run.end <= self.now);
        let Some(Running { channel, run }) = running else { return false };
        self.engines[engine].running = None;
        self.take_effect(channel);
        if run.chunk + 1 < self.setup.copies[run.copy].chunks.len() {
            return false;
        }
        let first = self.channels[channel].complete();
        debug_assert_eq!(first, Some(run.copy), "copies of a channel complete in issue order");
        self.copies[run.copy].completed = Some(run.end);
        if let Some(pending) = self.copies[run.copy].pending.take() {
            let words = &mut self.engines[engine].words;
            words.counts().lower(pending);
            words.note(self.now);
        }
        true
    }

    fn into_outcome(self) -> Outcome {
        let deadlock = self.copies.iter().any(|copy| copy.completed.is_none()).then(|| self.deadlock());
        let named = |(engine, words): (usize, Words)| {
            let histories = words.into_histories().into_iter();
            histories.map(move |(priority, history)| Semaphore { engine, priority, history })
        };
        let words = self.engines.into_iter().map(|engine| engine.words).enumerate();
        Outcome {
            runs: self.runs,
            began: self.copies.iter().map(|copy| copy.began).collect(),
            completed: self.copies.iter().map(|copy| copy.completed).collect(),
            semaphores: words.flat_map(named).collect(),
            deadlock,
        }
    }

    fn deadlock(&self) -> Deadlock {
        let heads = self.channels.iter().zip(&self.setup.channels);
        let waits = heads.filter_map(|(channel, setup)| {
            let head = channel.commands.front()?;
            Some(format!("{}: {}", setup.name, self.reason(head, &self.engines[setup.engine].words)))
        });
        Deadlock { since: self.now, waits: waits.collect() }
    }

    fn reason(&self, head: &Command, words: &Words) -> String {
        let name = |copy: usize| self.setup.copies[copy].name.as_str();
        let copy = name(head.copy);
        match (head.op, waited_word(head.op)) {
            (Op::Join(other), _) => format!("{copy} waits for {}", name(other)),
            (_, Some(word)) => {
                let (priority, value) = (Words::priority_at(word), words.read(word));
                let counter =
                    if Words::is_gate(word) { "the number of pending copies above priority" } else { "semaphore" };
                format!("{copy} waits until {counter} {priority} is 0; it is {value}")
            }
            (op, None) => unreachable!("a channel never stands still at {op:?} while its engine is idle"),
        }
    }
}

fn shares(setup: &Setup) -> Vec<(Priority, Share, bool)> {
    if setup.mode != Mode::Hold || setup.share.share <= 0.0 {
        return Vec::new();
    }
    let waiters = setup.priorities.iter().filter(|level| *level < setup.priorities.highest());
    waiters.map(|level| (level, Share::new(setup.share, Nanos::ZERO), false)).collect()
}

impl Engine {
    /// The time at which a level must begin or stop to pass, at the latest.
    fn share_deadline(&self) -> Option<Nanos> {
        let counts = self.words.counts();
        let live = self.shares.iter().filter(|(level, _, exempt)| *exempt || counts.pending_above(*level) > 0);
        live.map(|(_, share, _)| share.deadline()).min()
    }

    /// Accounts for the time that has passed, before anything else changes.
    fn keep_shares(&mut self, now: Nanos) {
        let counts = self.words.counts();
        for (level, share, was_exempt) in &mut self.shares {
            let exempt = share.step(now, counts.pending_above(*level) > 0);
            if exempt != *was_exempt {
                *was_exempt = exempt;
                counts.set_exempt(*level, exempt);
            }
        }
    }
}
