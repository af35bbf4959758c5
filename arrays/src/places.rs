//! Chooses the device of a computation, and the memory that its bytes come from.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use copies::Overtake;
use graph::{Bandwidth, DevicePolicy, Graph, Location, Locations, NodeId, Selector, Use};
use hal::Code;
use overtake_tasks::task::Handle;

use crate::options::ArrayOptions;
use crate::streams::{Spot, Streams};

/// So many edges are looked at for computations that will have ended.
const OVER_MAX: u32 = 1024;

/// The computations of each device that have not ended.
type Load = Arc<[Work]>;

#[derive(Default)]
struct Work {
    count: AtomicU32,
    /// The time that they are expected to take, as far as such were measured.
    time_ns: AtomicU64,
}

/// The devices of arrays, and the links between their memories.
pub(super) struct Places {
    selector: Mutex<Selector>,
    /// By a policy, if there is one.
    streams: Option<Mutex<Streams>>,
    bandwidth: Option<Bandwidth>,
    is_grcuda: bool,
    /// For each device those whose memory it reaches.
    reach: Vec<Locations>,
    load: Load,
}

/// A computation that has not ended.
pub(super) struct Busy {
    load: Load,
    device: usize,
    time_ns: u64,
}

/// A device for a computation, and its place in a stream, which others have if it is not submitted.
pub(super) struct Chosen {
    pub device: u8,
    /// None where there are no streams, and where the caller has named the device.
    spot: Option<(Arc<Places>, Spot)>,
}

impl Chosen {
    /// On this device.
    pub fn on(device: u8) -> Chosen {
        Chosen { device, spot: None }
    }

    /// The computation that it goes on behind in its stream.
    pub fn behind(&self) -> Option<Handle> {
        self.spot.as_ref().and_then(|(_, spot)| spot.behind.clone())
    }

    /// It has been submitted.
    pub fn enter(mut self, places: &Places, task: &Handle) {
        let Some(streams) = &places.streams else { return };
        match self.spot.take() {
            Some((_, spot)) => hal::locks::lock(streams).enter(&spot, task),
            None => hal::locks::lock(streams).enter_on(self.device, task),
        }
    }
}

impl Drop for Chosen {
    fn drop(&mut self) {
        if let Some((places, spot)) = self.spot.take()
            && let Some(streams) = &places.streams
        {
            hal::locks::lock(streams).leave(&spot);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let work = &self.load[self.device];
        work.count.fetch_sub(1, Ordering::Relaxed);
        work.time_ns.fetch_sub(self.time_ns, Ordering::Relaxed);
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
        selector.is_grcuda = options.grcuda_compat;
        selector.threshold = options.threshold;
        let (selector, streams) =
            (Mutex::new(selector), options.parents.map(|policy| Mutex::new(Streams::new(policy, options.new_stream))));
        let load = (0..count).map(|_| Work::default()).collect();
        Ok(Places {
            selector,
            streams,
            bandwidth: options.bandwidth.clone(),
            is_grcuda: options.grcuda_compat,
            reach,
            load,
        })
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

    /// Whether devices are chosen as GrCUDA does.
    pub fn is_grcuda(&self) -> bool {
        self.is_grcuda
    }

    /// Whether the computations before one have a say.
    pub fn has_streams(&self) -> bool {
        self.streams.is_some()
    }

    /// The computations in streams that have ended when one after these nodes can begin, in ascending order. To GrCUDA
    /// none has before the host has waited for it.
    pub fn over(&self, graph: &mut Graph, before: &[NodeId]) -> Vec<NodeId> {
        let Some(streams) = self.streams.as_ref().filter(|_| !self.is_grcuda) else { return Vec::new() };
        let last = hal::locks::lock(streams).last();
        let mut over = graph.ended_before(before, &last, OVER_MAX);
        over.sort_unstable();
        over
    }

    /// The device of a computation with these uses, after the nodes `before` and with those `over`
    /// ([`Places::over`]): one of the first `among`. It is expected to take so long on each device, if that is known.
    pub fn choose(
        self: &Arc<Places>,
        uses: &[Use],
        among: u8,
        (before, over): (&[NodeId], &[NodeId]),
        expected_ns: &[u64],
    ) -> hal::Result<Chosen> {
        let all: Vec<u8> = (0..among.min(self.devices())).collect();
        let busy_ns = self.load.iter().map(|work| work.time_ns.load(Ordering::Relaxed));
        let until_ns: Vec<u64> = busy_ns.zip(expected_ns).map(|(busy, own)| busy + own).collect();
        let select = |among: &[u8], load: &[u32]| {
            let mut selector = hal::locks::lock(&self.selector);
            selector.until_ns.clone_from(&until_ns);
            selector.select(uses, among, load)
        };
        let chosen = match &self.streams {
            Some(streams) => {
                let mut select = |among: Option<&[u8]>, load: &[u32]| select(among.unwrap_or(&all), load);
                let spot = hal::locks::lock(streams).choose((before, over), all.len() as u8, &mut select);
                spot.map(|spot| Chosen { device: spot.device, spot: Some((Arc::clone(self), spot)) })
            }
            None => {
                let load: Vec<u32> = self.load.iter().map(|work| work.count.load(Ordering::Relaxed)).collect();
                select(&all, &load).map(Chosen::on)
            }
        };
        chosen.map_err(|unplaced| Code::INVALID_VALUE.at("overtake arrays").because(unplaced.to_string()))
    }

    #[cfg(test)]
    pub fn device_of(&self, task: &Handle) -> Option<u8> {
        hal::locks::lock(self.streams.as_ref()?).device_of(task)
    }

    #[cfg(test)]
    pub fn stream_of(&self, task: &Handle) -> Option<u32> {
        hal::locks::lock(self.streams.as_ref()?).stream_of(task)
    }

    #[cfg(test)]
    pub fn streams(&self) -> usize {
        self.streams.as_ref().map_or(0, |streams| hal::locks::lock(streams).count())
    }

    #[cfg(test)]
    pub fn known_streams(&self) -> usize {
        self.streams.as_ref().map_or(0, |streams| hal::locks::lock(streams).known())
    }

    /// A computation of this device begins, which is expected to take so long on each. None of the host, nor where
    /// there is no other device to choose.
    pub fn begin(&self, place: Location, expected_ns: &[u64]) -> Option<Busy> {
        let Location::Device(device) = place else { return None };
        if self.devices() == 1 {
            return None;
        }
        let time_ns = expected_ns.get(usize::from(device)).copied().unwrap_or(0);
        let busy = Busy { load: Arc::clone(&self.load), device: usize::from(device), time_ns };
        busy.load[busy.device].count.fetch_add(1, Ordering::Relaxed);
        busy.load[busy.device].time_ns.fetch_add(time_ns, Ordering::Relaxed);
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
