//! The methods by name: their labels, their transports, their construction.

use std::sync::Arc;

use crate::rig::STREAM_PRIORITY_DEFAULT;
use channels::chunk::{ENGINE_GAP, chunk_bytes};
use clap::ValueEnum;
use hal::{Device, Nanos, PriorityRange, Result};
use overtake::Options;
use overtake::options::{Emulation, Profile, Transport, UrgentTransport};
pub use report::views::{IDLE, OTHER_ENGINE, RAW};

use super::flow::Cargo;
use super::ground::Ground;
use super::method::Method;
use super::native::{Cut, Native};
use super::product::{Product, Setup, Way};

/// A method by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Two streams of equal priority.
    #[value(name = "native")]
    Native,
    /// The highest against the lowest CUDA stream priority.
    #[value(name = "native+priority")]
    NativePriority,
    /// Stream priorities, and a stream of bulk that has nothing but copies, of which some are always queued.
    #[value(name = "native+queue")]
    NativeQueue,
    /// Stream priorities, and bulk cut into chunks.
    #[value(name = "chunks")]
    Chunks,
    /// Stream priorities, and bulk cut into chunks with a kernel that does nothing behind each.
    #[value(name = "chunks+dummy")]
    ChunksDummy,
    /// Overtake: bulk in chunks on the engine, words raised by the CPU.
    #[value(name = "engine/hold")]
    EngineHold,
    /// Overtake: chunks on the engine, the patent's brackets.
    #[value(name = "engine/bracket")]
    EngineBracket,
    /// Overtake: chunks on the engine, atomic kernels.
    #[value(name = "engine/atomics")]
    EngineAtomics,
    /// Overtake: bulk by copy kernel, urgent copies on the engine.
    #[value(name = "kernel/hold")]
    KernelHold,
    /// Overtake: bulk as it is, urgent copies by copy kernel.
    #[value(name = "express")]
    Express,
    /// Overtake: bulk in chunks on the engine, urgent copies by copy kernel.
    #[value(name = "express+chunks")]
    ExpressChunks,
    /// Overtake as it is: it chooses the way of each copy.
    #[value(name = "overtake")]
    Overtake,
}

/// The description of a method in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    pub method: &'static str,
    /// The transport of bulk.
    pub transport: &'static str,
    /// The transport of urgent copies, if it differs.
    pub urgent_transport: Option<&'static str>,
    /// The emulation of semaphores.
    pub emulation: &'static str,
}

impl Label {
    #[must_use]
    pub const fn plain(method: &'static str) -> Label {
        Label { method, transport: "engine", urgent_transport: None, emulation: "none" }
    }
}

/// The common parts of all methods of a run.
pub struct Workshop {
    pub ground: Arc<Ground>,
    pub device: Device,
    /// CUDA's priorities there.
    pub range: PriorityRange,
    /// The options that methods of overtake start from.
    pub options: Options,
}

impl MethodName {
    /// The methods with ways of their own that are measured if none is named, the baselines first.
    pub const FIXED: [MethodName; 10] = [
        MethodName::Native,
        MethodName::NativePriority,
        MethodName::NativeQueue,
        MethodName::Chunks,
        MethodName::ChunksDummy,
        MethodName::EngineHold,
        MethodName::EngineBracket,
        MethodName::KernelHold,
        MethodName::Express,
        MethodName::ExpressChunks,
    ];

    /// Its description in a row.
    #[must_use]
    pub fn label(self) -> Label {
        let of =
            |method, transport, urgent_transport, emulation| Label { method, transport, urgent_transport, emulation };
        match self {
            MethodName::Native => Label::plain("native"),
            MethodName::NativePriority => Label::plain("native+priority"),
            MethodName::NativeQueue => Label::plain("native+queue"),
            MethodName::Chunks => Label::plain("chunks"),
            MethodName::ChunksDummy => Label::plain("chunks+dummy"),
            MethodName::EngineHold => of("engine/hold", "engine", None, "hold"),
            MethodName::EngineBracket => of("engine/bracket", "engine", None, "bracket"),
            MethodName::EngineAtomics => of("engine/atomics", "engine", None, "atomics"),
            MethodName::KernelHold => of("kernel/hold", "kernel", Some("engine"), "hold"),
            MethodName::Express => of("express", "engine", Some("kernel"), "none"),
            MethodName::ExpressChunks => of("express+chunks", "engine", Some("kernel"), "hold"),
            MethodName::Overtake => of("overtake", "auto", None, "none"),
        }
    }

    /// Whether bulk is cut by a latency target.
    #[must_use]
    pub fn has_chunks(self) -> bool {
        use MethodName::{Chunks, ChunksDummy, EngineAtomics, EngineBracket, EngineHold, ExpressChunks};
        matches!(self, Chunks | ChunksDummy | EngineHold | EngineBracket | EngineAtomics | ExpressChunks)
    }

    /// Whether urgent copies wait for whole bulk requests. Each sample then takes milliseconds.
    #[must_use]
    pub fn is_slow(self) -> bool {
        use MethodName::{Chunks, ChunksDummy, Native, NativePriority, NativeQueue};
        matches!(self, Native | NativePriority | NativeQueue | Chunks | ChunksDummy)
    }

    /// The ways of urgent copies and of bulk requests; `None` without overtake.
    fn ways(self) -> Option<(Way, Way)> {
        match self {
            MethodName::EngineHold => Some((Way::OwnStream, Way::Channel)),
            MethodName::EngineBracket | MethodName::EngineAtomics => Some((Way::Channel, Way::Channel)),
            MethodName::KernelHold => Some((Way::OwnStream, Way::Kernel)),
            MethodName::Express => Some((Way::Kernel, Way::Unchanged)),
            MethodName::ExpressChunks => Some((Way::Kernel, Way::Channel)),
            MethodName::Overtake => Some((Way::Any, Way::Any)),
            _ => None,
        }
    }

    /// The options that make overtake this method.
    #[must_use]
    pub fn options(self, base: &Options) -> Options {
        if self == MethodName::Overtake {
            return base.clone();
        }
        let by = |transport, urgent_transport| Profile { transport, urgent_transport, ..base.profile };
        let profile = match self {
            MethodName::KernelHold => by(Transport::Kernel, UrgentTransport::Engine),
            MethodName::Express => by(Transport::Native, UrgentTransport::Kernel),
            MethodName::ExpressChunks => by(Transport::Engine, UrgentTransport::Kernel),
            MethodName::EngineBracket => Profile::emulating(Emulation::Bracket),
            MethodName::EngineAtomics => Profile::emulating(Emulation::Atomics),
            _ => by(Transport::Engine, UrgentTransport::Engine),
        };
        // It would take the place of the profile's transports.
        Options { profile, wait_budget: Nanos::ZERO, ..base.clone() }
    }

    fn cut(self, options: &Options) -> Cut {
        // Overtake assumes the same of an engine, so one latency target means one size.
        let size = chunk_bytes(options.profile.chunk_max, u64::from(options.link_gbps()) * 1_000_000_000, ENGINE_GAP);
        match self {
            MethodName::Chunks => Cut::Chunks(size),
            MethodName::ChunksDummy => Cut::ChunksAndKernels(size),
            MethodName::NativeQueue => Cut::Queued,
            _ => Cut::Whole,
        }
    }

    /// The chunk size if the bench itself cuts. If overtake cuts, its statistics tell the size.
    #[must_use]
    pub fn own_chunk_bytes(self, options: &Options) -> Option<u64> {
        match self.cut(options) {
            Cut::Whole | Cut::Queued => None,
            Cut::Chunks(size) | Cut::ChunksAndKernels(size) => Some(size),
        }
    }

    /// Makes the method: first the urgent cargo, then that of the bulk.
    pub fn make(self, shop: &Workshop, options: &Options, cargo: (Cargo, Cargo)) -> Result<Arc<dyn Method>> {
        if let Some(ways) = self.ways() {
            let setup = Setup { options: self.options(options), ways, is_alone: false, device: shop.device };
            return Ok(Arc::new(Product::new(&shop.ground, setup, STREAM_PRIORITY_DEFAULT, cargo)?));
        }
        let priorities = match self {
            MethodName::Native => (STREAM_PRIORITY_DEFAULT, STREAM_PRIORITY_DEFAULT),
            _ => (shop.range.greatest, shop.range.least),
        };
        Ok(Arc::new(Native::new(&shop.ground, priorities, cargo, self.cut(options))?))
    }
}

#[cfg(test)]
mod tests {
    use overtake::options::WHOLE_BULK_FROM;
    use priority::Direction;

    use super::*;

    #[test]
    fn names_on_the_command_line_are_those_in_rows() {
        for &method in MethodName::value_variants() {
            let value = method.to_possible_value().unwrap();
            assert_eq!(value.get_name(), method.label().method);
        }
    }

    #[test]
    fn no_two_methods_look_alike() {
        for (index, method) in MethodName::FIXED.iter().enumerate() {
            let tone = |method: &MethodName| report::views::tone(method.label().method).unwrap();
            assert!(MethodName::FIXED[..index].iter().all(|other| tone(other) != tone(method)), "{method:?}");
        }
    }

    #[test]
    fn a_long_wait_budget_makes_no_method_another_one() {
        for method in MethodName::FIXED {
            let options = |wait_budget| method.options(&Options { wait_budget, ..Options::default() });
            let [without, with] = [Nanos::ZERO, WHOLE_BULK_FROM].map(options);
            assert_eq!(with.transport_of(Direction::HostToDevice), without.transport_of(Direction::HostToDevice));
            assert_eq!(with.urgent_transport(), without.urgent_transport(), "{method:?}");
        }
    }

    #[test]
    fn a_latency_target_sizes_naive_chunks_as_it_sizes_ours() {
        let options = Options::default().with_profile(|profile| profile.chunk_max = Nanos::from_us(40));
        let size = MethodName::Chunks.own_chunk_bytes(&options).unwrap();
        assert!((1 << 20..3 << 20).contains(&size), "{size}");
        assert_eq!(MethodName::EngineHold.own_chunk_bytes(&options), None);
    }
}
