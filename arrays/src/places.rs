//! Chooses the device of a computation, and the memory that its bytes come from.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use copies::Overtake;
use graph::{Bandwidth, Location, Locations, Selector, Use};
use hal::Code;

use crate::options::ArrayOptions;

/// How many computations of each device have not ended.
type Load = Arc<[AtomicU32]>;

/// The devices of arrays, and the links between their memories.
pub(super) struct Places {
    selector: Mutex<Selector>,
    bandwidth: Option<Bandwidth>,
    /// For each device those whose memory it reaches.
    reach: Vec<Locations>,
    load: Load,
}

/// A computation that has not ended.
pub(super) struct Busy {
    load: Load,
    device: usize,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.load[self.device].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Places {
    /// The devices of these layers. Each gets access to the memory of the others, where there is a link.
    pub fn open(layers: &[Arc<Overtake>], options: &ArrayOptions) -> hal::Result<Places> {
        let count = layers.len() as u8;
        if options.selection.needs_bandwidth() && options.bandwidth.is_none() {
            let text = "its selection looks at transfer times, and there are no bandwidths: give those that `overtake \
                        bench bandwidth --pairs --csv` prints";
            return Err(Code::INVALID_VALUE.at("overtake arrays open").because(text));
        }
        let reach = layers.iter().map(|layer| reach(layer, layers)).collect::<hal::Result<_>>()?;
        let mut selector = Selector::new(options.selection, count);
        selector.bandwidth.clone_from(&options.bandwidth);
        selector.threshold = options.threshold;
        let load = (0..count).map(|_| AtomicU32::default()).collect();
        Ok(Places { selector: Mutex::new(selector), bandwidth: options.bandwidth.clone(), reach, load })
    }

    /// How many devices there are.
    pub fn devices(&self) -> u8 {
        self.reach.len() as u8
    }

    /// How near a memory is to another one, and 0 if no copy goes that way.
    pub fn nearness(&self, from: Location, to: Location) -> f64 {
        let is_far = match (from, to) {
            (Location::Device(one), Location::Device(other)) => !(self.reaches(one, to) && self.reaches(other, from)),
            _ => false,
        };
        let nearness = match (&self.bandwidth, from) {
            _ if is_far => return 0.0,
            (Some(bandwidth), _) => bandwidth.between(from, to).unwrap_or(0.0),
            // A link between devices is faster than that of the host, as a rule.
            (None, Location::Device(_)) => 2.0,
            (None, Location::Host) => 1.0,
        };
        nearness.max(f64::MIN_POSITIVE)
    }

    fn reaches(&self, device: u8, memory: Location) -> bool {
        self.reach.get(usize::from(device)).is_some_and(|reach| reach.has(memory))
    }

    /// The device of a computation with these uses: one of the first `among`.
    pub fn choose(&self, uses: &[Use], among: u8) -> hal::Result<u8> {
        let all: Vec<u8> = (0..among.min(self.devices())).collect();
        let load: Vec<u32> = self.load.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let chosen = hal::locks::lock(&self.selector).select(uses, &all, &load);
        chosen.map_err(|unplaced| Code::INVALID_VALUE.at("overtake arrays").because(unplaced.to_string()))
    }

    /// A computation of this device begins. None of the host, nor where there is no other device to choose.
    pub fn begin(&self, place: Location) -> Option<Busy> {
        let Location::Device(device) = place else { return None };
        if self.devices() == 1 {
            return None;
        }
        let busy = Busy { load: Arc::clone(&self.load), device: usize::from(device) };
        busy.load[busy.device].fetch_add(1, Ordering::Relaxed);
        Some(busy)
    }
}

/// The memories that this device's copies reach: its own, and those of devices with a link.
fn reach(layer: &Overtake, layers: &[Arc<Overtake>]) -> hal::Result<Locations> {
    let (context, driver) = (layer.cuda_context(), layer.driver());
    let device = context.device()?;
    let mut reach = Locations::NONE;
    for (number, other) in (0..).zip(layers) {
        let (there, peer) = (other.cuda_context(), other.cuda_context().device()?);
        let is_own = there.raw() == context.raw();
        let may = !is_own && peer != device && driver.device_can_access_peer(device, peer).unwrap_or(false);
        let enabled = || match context.call(|driver| driver.enable_peer_access(there.raw())) {
            Err(error) if error.code() != Code::PEER_ACCESS_ALREADY_ENABLED => {
                log::info!("device {device:?} has no access to the memory of {peer:?}: {error}");
                false
            }
            _ => true,
        };
        if is_own || (may && enabled()) {
            reach = reach.and(Location::Device(number));
        }
    }
    Ok(reach)
}
