//! Measured times of computations, by name, bytes and device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use contexts::CudaContext;
use copies::Overtake;
use hal::{Event, EventFlags};
use overtake_tasks::task::Lane;

/// The measured times of computations with the same kernel, bytes and device.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The name of the kernel, or of the computation if it has no kernel.
    pub name: String,
    /// The bytes of all its uses.
    pub bytes: u64,
    /// The device, by its number among those of the dispatcher.
    pub device: u8,
    /// The number of measurements.
    pub count: u64,
    /// The mean time on the device, without transfers.
    pub mean_us: f64,
    /// The shortest time.
    pub least_us: f64,
    /// The most recent time.
    pub last_us: f64,
}

/// Computations whose times are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    name: String,
    bytes: u64,
}

/// The times on one device.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    all_us: f64,
    least_us: f64,
    last_us: f64,
}

impl Sum {
    fn add(&mut self, time_us: f64) {
        self.least_us = if self.count == 0 { time_us } else { self.least_us.min(time_us) };
        (self.count, self.all_us, self.last_us) = (self.count + 1, self.all_us + time_us, time_us);
    }

    fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.all_us / self.count as f64)
    }
}

/// The times of so many kernels and sizes are kept: of those that have been measured last, and of up to as many that
/// were before them. A program may make a name for each computation.
const ROWS: usize = 1024;

/// For each device.
#[derive(Default)]
struct Table {
    last: HashMap<Key, Vec<Sum>>,
    before: HashMap<Key, Vec<Sum>>,
}

impl Table {
    fn get(&self, key: &Key) -> Option<&Vec<Sum>> {
        self.last.get(key).or_else(|| self.before.get(key))
    }

    fn iter(&self) -> impl Iterator<Item = (&Key, &Vec<Sum>)> {
        self.last.iter().chain(&self.before)
    }

    /// One has been measured.
    fn add(&mut self, key: Key, (devices, device): (usize, usize), time_us: f64) {
        if let Some(sums) = self.last.get_mut(&key) {
            return sums[device].add(time_us);
        }
        let mut sums = self.before.remove(&key).unwrap_or_else(|| vec![Sum::default(); devices]);
        sums[device].add(time_us);
        if self.last.len() == ROWS {
            self.before = std::mem::take(&mut self.last);
        }
        self.last.insert(key, sums);
    }
}

/// A computation between two events.
struct Pending {
    key: Key,
    device: u8,
    begin: Event,
    end: Event,
}

#[derive(Default)]
struct State {
    /// Those that may not have ended.
    pending: Vec<Pending>,
    /// So many are worth a look at which have ended.
    many: usize,
    /// Events that can be used again, for each device.
    free: Vec<Vec<Event>>,
    table: Table,
}

const MANY: usize = 64;
/// A submission looks at so many.
const FEW: usize = 8;

/// The times of a set of arrays.
pub(super) struct Times {
    /// One for each device.
    contexts: Vec<CudaContext>,
    state: Mutex<State>,
}

impl Times {
    /// None yet.
    pub fn new(layers: &[Arc<Overtake>]) -> Times {
        let contexts: Vec<CudaContext> = layers.iter().map(|layer| layer.cuda_context().clone()).collect();
        let free = contexts.iter().map(|_| Vec::new()).collect();
        Times { state: Mutex::new(State { free, many: MANY, ..State::default() }), contexts }
    }

    /// All, by name.
    pub fn all(&self) -> Vec<Measured> {
        self.look(usize::MAX);
        let state = hal::locks::lock(&self.state);
        let of = |(key, sums): (&Key, &Vec<Sum>)| {
            let row = |(device, sum): (usize, &Sum)| {
                let Key { name, bytes } = key.clone();
                let Sum { count, least_us, last_us, .. } = *sum;
                let mean_us = sum.mean_us()?;
                Some(Measured { name, bytes, device: device as u8, count, mean_us, least_us, last_us })
            };
            sums.iter().enumerate().filter_map(row).collect::<Vec<_>>()
        };
        let mut all: Vec<Measured> = state.table.iter().flat_map(of).collect();
        all.sort_by(|one, other| (&one.name, one.bytes, one.device).cmp(&(&other.name, other.bytes, other.device)));
        all
    }

    /// The time that such a computation takes on this device, in ns: its mean, else that of all devices, else none.
    pub fn expected_ns(&self, name: &str, bytes: u64, device: u8) -> u64 {
        self.look(FEW);
        let state = hal::locks::lock(&self.state);
        let Some(sums) = state.table.get(&Key { name: name.to_owned(), bytes }) else { return 0 };
        let known: Vec<f64> = sums.iter().filter_map(Sum::mean_us).collect();
        let elsewhere = known.iter().sum::<f64>() / known.len().max(1) as f64;
        (sums[usize::from(device)].mean_us().unwrap_or(elsewhere) * 1e3) as u64
    }

    /// Measures those of the so many oldest computations that have ended. Without the lock while it asks the driver.
    fn look(&self, most: usize) {
        let pending: Vec<Pending> = {
            let pending = &mut hal::locks::lock(&self.state).pending;
            let most = most.min(pending.len());
            pending.drain(..most).collect()
        };
        let (mut left, mut ended) = (Vec::new(), Vec::new());
        for one in pending {
            let context = &self.contexts[usize::from(one.device)];
            let asked = context.call(|driver| match driver.event_query(one.end)? {
                true => driver.event_elapsed_ms(one.begin, one.end).map(Some),
                false => Ok(None),
            });
            match asked {
                Ok(None) => left.push(one),
                Ok(Some(time_ms)) => ended.push((one, Some(f64::from(time_ms) * 1e3))),
                // One that was not measured, on a device that has failed perhaps.
                Err(_) => ended.push((one, None)),
            }
        }
        let mut state = hal::locks::lock(&self.state);
        for (Pending { key, device, begin, end }, time_us) in ended {
            let device = usize::from(device);
            state.free[device].extend([begin, end]);
            if let Some(time_us) = time_us {
                let devices = self.contexts.len();
                state.table.add(key, (devices, device), time_us);
            }
        }
        state.pending.splice(..0, left);
        state.many = MANY.max(2 * state.pending.len());
    }

    /// A new measurement.
    pub fn timer(self: &Arc<Times>, name: &str, bytes: u64) -> Timer {
        let state = hal::locks::lock(&self.state);
        let is_worth_it = state.pending.len() >= state.many;
        drop(state);
        if is_worth_it {
            self.look(usize::MAX);
        }
        Timer { times: Arc::clone(self), key: Key { name: name.to_owned(), bytes }, begin: None }
    }

    /// An event in the lane, behind all its work. None if the driver refuses: then it is not measured.
    fn record(&self, lane: &Lane<'_>) -> Option<Event> {
        let free = hal::locks::lock(&self.state).free[usize::from(lane.device())].pop();
        let event = free.or_else(|| lane.driver().event_create(EventFlags::DEFAULT).ok())?;
        match lane.driver().event_record(event, lane.own_stream().raw()) {
            Ok(()) => Some(event),
            Err(_) => {
                self.give_back(lane.device(), event);
                None
            }
        }
    }

    fn give_back(&self, device: u8, event: Event) {
        hal::locks::lock(&self.state).free[usize::from(device)].push(event);
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let state = std::mem::take(self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
        let pending = state.pending.into_iter().flat_map(|one| [(one.device, one.begin), (one.device, one.end)]);
        let free = (0..).zip(state.free).flat_map(|(device, events)| events.into_iter().map(move |it| (device, it)));
        for (device, event) in pending.chain(free) {
            if let Err(error) = self.contexts[usize::from(device)].call(|driver| driver.event_destroy(event)) {
                log::debug!("an event that measures computations is not destroyed: {error}");
            }
        }
    }
}

/// The measurement of one computation.
pub(super) struct Timer {
    times: Arc<Times>,
    key: Key,
    begin: Option<(u8, Event)>,
}

impl Timer {
    /// Its first work is about to be submitted.
    pub fn begin(&mut self, lane: &Lane<'_>) {
        if self.begin.is_none() {
            self.begin = self.times.record(lane).map(|event| (lane.device(), event));
        }
    }

    /// All its work has been submitted.
    pub fn end(&mut self, lane: &Lane<'_>) {
        let Some((device, begin)) = self.begin.take() else { return };
        match self.times.record(lane) {
            Some(end) => {
                let pending = Pending { key: self.key.clone(), device, begin, end };
                hal::locks::lock(&self.times.state).pending.push(pending);
            }
            None => self.times.give_back(device, begin),
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some((device, begin)) = self.begin.take() {
            self.times.give_back(device, begin);
        }
    }
}
