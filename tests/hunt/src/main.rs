//! The hunt: random copies of all kinds, from many threads over many streams, with kernels, events and priorities
//! between them. Every byte is compared at the end of its journey. Every wait ends: by completion, by deadline, or by
//! proof. `README.md` beside this crate explains it.
#![deny(unsafe_code)]

mod args;
mod chance;
mod guard;
mod journey;
mod kernel;
mod record;
mod slot;
mod tally;
mod worker;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser;
use console::device::OpenDevice;
use console::failure::Result;
use console::{header, open, output};
use hal::Nanos;
use hal::locks::lock;
use measure::stage::{product_options, span, write_json};
use overtake::options::{Emulation, Profile};
use overtake::{Options, Overtake, Priority, Words};
use priority::Direction;
use report::Header;

use args::{BugName, HuntArguments};
use chance::Chance;
use guard::Guard;
use kernel::{Spin, leave};
use record::{Hunt, Record, rows};
use slot::Slot;
use tally::Tallies;
use worker::{Field, Finding};

/// One slot in this many takes the largest copies; the others take at most [`SMALL_BYTES`].
const LARGE_ONE_IN: u32 = 16;
const SMALL_BYTES: u64 = 1 << 20;
/// The guard waits this much longer than the workers, which can describe their waits better.
const GUARD_MARGIN: Duration = Duration::from_secs(2);
/// Exit code of a hunt that found something.
const FOUND: i32 = 1;

/// All parts of a report, so that the guard can write one while all other threads are stuck.
struct Reporter {
    arguments: HuntArguments,
    header: Header,
    field: Arc<Field>,
    overtake: Overtake,
    transport: &'static str,
    emulation: &'static str,
    began: Nanos,
}

fn main() -> ExitCode {
    let hunt = HuntArguments::parse();
    os::messages::install();
    match run(&hunt) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure);
            ExitCode::FAILURE
        }
    }
}

fn run(hunt: &HuntArguments) -> Result<()> {
    let bug = hunt.plant.map(BugName::bug);
    let opened = open::open_with_bug(&hunt.globals, open::Payload::Real, bug)?;
    let device = OpenDevice::open(&opened.driver, hunt.device)?;
    let options = options(hunt)?;
    let overtake = Overtake::open(&opened.driver, device.device(), options.clone())?;
    let field = Arc::new(field(&overtake, hunt)?);
    let reporter = Arc::new(Reporter {
        arguments: hunt.clone(),
        header: header::header("overtake-hunt", &opened, device.device())?,
        field,
        overtake,
        transport: options.transport_of(Direction::HostToDevice).name(),
        emulation: options.profile.emulation.name(),
        began: opened.driver.host().now(),
    });
    let is_ok = reporter.hunt()?;
    if !is_ok {
        // A hang would keep destructors from ending.
        leave(FOUND);
    }
    // The reporter drops its slots, then overtake; the device is dropped last.
    drop(reporter);
    drop(device);
    Ok(())
}

fn options(hunt: &HuntArguments) -> Result<Options> {
    let mut options = product_options(&hunt.options)?;
    if hunt.without_watchdog {
        options.rescue_after = Nanos::MAX;
    }
    if hunt.assumed_queues.is_some() {
        options.guard.copy_queues = hunt.assumed_queues;
        options.wait_budget = Nanos::ZERO;
        options.profile = Profile::emulating(Emulation::Bracket);
        // The starvation bound is off as well: a deadlock is proven only while no thread waits for a deadline.
        options.profile.share.share = 0.0;
    }
    Ok(options)
}

fn field(overtake: &Overtake, hunt: &HuntArguments) -> Result<Field> {
    let driver = overtake.driver();
    let (mut chance, levels) = (Chance::new(hunt.seed, 0), u64::from(overtake.priorities().count()));
    let words = Arc::new(Words::new(driver, u64::from(hunt.streams))?);
    let mut slots = Vec::new();
    for number in 0..hunt.streams {
        let level = u8::try_from(chance.below(levels)).unwrap_or(0) + 1;
        let stream = overtake.stream(Priority::new(level).unwrap_or(Priority::LOWEST))?;
        let bytes = if number % LARGE_ONE_IN == 0 { hunt.bulk_bytes } else { hunt.bulk_bytes.min(SMALL_BYTES) };
        slots.push(Slot::new(stream, driver, &words, u64::from(number), bytes)?);
    }
    let host = driver.host();
    Ok(Field {
        driver: Arc::clone(driver),
        context: overtake.context(),
        slots: Mutex::new(slots),
        spin: Spin::load(driver)?,
        tallies: Tallies::default(),
        finding: Mutex::default(),
        stop: AtomicBool::new(false),
        end: host.now() + span(hunt.seconds),
        patience: (!host.is_virtual()).then(|| span(hunt.patience)),
        levels,
    })
}

impl Reporter {
    /// Hunts and reports. Returns whether nothing was found.
    fn hunt(self: &Arc<Reporter>) -> Result<bool> {
        let patience = Duration::from_secs_f64(self.arguments.patience) + GUARD_MARGIN;
        let for_guard = Arc::clone(self);
        let guard = Guard::watch(&self.field, self.arguments.seconds, patience, move || for_guard.give_up(patience));
        let host = self.field.driver.host();
        let workers = (0..self.arguments.threads)
            .map(|number| {
                let (field, chance) =
                    (Arc::clone(&self.field), Chance::new(self.arguments.seed, u64::from(number) + 1));
                hal::spawn(&self.field.driver, &format!("hunter {number}"), move || field.work(chance))
            })
            .collect::<hal::Result<Vec<_>>>()?;
        // The workers are not joined at once: a joining thread does not take part in the proof of a deadlock, and
        // several proofs may be needed before all workers return.
        while !workers.iter().all(hal::HostThread::is_done) {
            let _told = host.wait_until(None, &mut || workers.iter().all(hal::HostThread::is_done));
        }
        workers.into_iter().for_each(|worker| worker.join(host));
        self.settle_all();
        drop(guard);
        let seconds = host.now().since(self.began).as_secs();
        self.report(seconds)
    }

    /// Waits for the last journeys, or for their deadlines.
    fn settle_all(&self) {
        let host = self.field.driver.host();
        let mut slots = std::mem::take(&mut *lock(&self.field.slots));
        if !self.field.has_found() {
            let _all_settled = slots.iter_mut().all(|slot| self.field.settle(slot));
        }
        if host.is_virtual() {
            self.explain(&slots);
        }
        *lock(&self.field.slots) = slots;
    }

    /// After a proof of a hang, the driver's own error lists the waits. Only then can this question not block.
    fn explain(&self, slots: &[Slot]) {
        let mut finding = lock(&self.field.finding).clone();
        let Some(Finding::Hung(what)) = &mut finding else { return };
        if what != slot::PROVEN {
            return;
        }
        let stuck = slots.iter().find(|slot| !slot.is_done());
        if let Some(error) = stuck.and_then(|slot| slot.stream.synchronize().err()) {
            *what = error.to_string();
            *lock(&self.field.finding) = finding;
        }
    }

    fn report(&self, seconds: f64) -> Result<bool> {
        let finding = lock(&self.field.finding).clone();
        let statistics = self.overtake.statistics();
        let hunt = Hunt::new(&self.arguments, seconds, &self.field.tallies, &statistics, finding);
        let is_ok = hunt.is_ok();
        let rows = rows(&statistics, self.transport, self.emulation);
        let record = Record { header: self.header.clone(), rows, hunt };
        if !write_json(self.arguments.json.as_ref(), &record)? {
            output::print(&record.hunt.text())?;
        }
        Ok(is_ok)
    }

    /// Called by the guard without progress: reports without calling the driver, and ends the process.
    fn give_up(&self, patience: Duration) {
        let what = format!("nothing moved for {:.0} s of real time", patience.as_secs_f64());
        self.field.found(Finding::Hung(what)); // an earlier finding stays
        // The driver's clock is not read: the hang may be there.
        if let Err(failure) = self.report(self.arguments.seconds) {
            output::complain(&failure);
        }
        leave(FOUND);
    }
}
