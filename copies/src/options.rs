//! Every tunable, in one place: the same names in the builder, in `OVERTAKE_*` variables and in a TOML file.
//!
//! Precedence, weakest first: defaults, the TOML file named by `OVERTAKE_CONFIG`, the variables, what the program sets.

mod tunable;
mod words;

use std::fmt;
use std::path::Path;
use std::sync::Once;

use channels::share::ShareOptions;
use channels::watchdog::Patience;
use doors::fault::{Fault, Source};
use hal::Nanos;
use semaphores::{Kind, Priorities};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::kernel::Workers;
use crate::variables;

use tunable::TUNABLES;
pub use tunable::Tunable;
pub use words::size;

/// What moves the bytes of a copy that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Chosen per request by the rules of `copy/plan.rs`.
    Auto,
    /// The copy engine, in chunks, through a channel.
    Engine,
    /// The copy kernel, in the application's own stream.
    Kernel,
    /// Nothing special: the copy as the driver does it, without ever waiting.
    Native,
}

/// What moves the bytes of an urgent copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrgentTransport {
    /// The copy engine, in the application's own stream, while bulk is held off.
    Engine,
    /// The copy kernel, beside whatever the engine is doing; bulk is not held off.
    Kernel,
}

impl Transport {
    const ALL: [Transport; 4] = [Transport::Auto, Transport::Engine, Transport::Kernel, Transport::Native];

    fn name(self) -> &'static str {
        match self {
            Transport::Auto => "auto",
            Transport::Engine => "engine",
            Transport::Kernel => "kernel",
            Transport::Native => "native",
        }
    }

    fn from_name(name: &str) -> Option<Transport> {
        Transport::ALL.into_iter().find(|transport| transport.name() == name)
    }
}

impl UrgentTransport {
    fn name(self) -> &'static str {
        match self {
            UrgentTransport::Engine => "engine",
            UrgentTransport::Kernel => "kernel",
        }
    }

    fn from_name(name: &str) -> Option<UrgentTransport> {
        [UrgentTransport::Engine, UrgentTransport::Kernel].into_iter().find(|transport| transport.name() == name)
    }
}

/// How guarded copies are guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardOptions {
    /// How long a copy kernel that could run may wait for multiprocessors.
    pub patience: Nanos,
    /// How many streams may have guarded copies under way at once; copies of others go natively meanwhile. Copies
    /// that these streams queue behind them occupy as many of the four hardware copy queues, and a rescue needs one.
    pub streams_max: u32,
    /// How many hardware queues copies of one direction have, as far as CUDA's own variables say. Copies behind a
    /// guarded one may fill a queue for each stream, and a rescue needs one more.
    pub copy_queues: u32,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Nanos::from_ms(20), streams_max: 2, copy_queues: 4 }
    }
}

/// An option that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option's name.
    pub name: String,
    /// What was given.
    pub value: String,
    /// What would have been understood; where there is no such option, what may have been meant.
    pub expected: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match TUNABLES.iter().any(|tunable| tunable.name == self.name) {
            true => write!(f, "option {} cannot be {:?}: expected {}", self.name, self.value, self.expected),
            false => f.write_str(&self.expected),
        }
    }
}

impl std::error::Error for OptionError {}

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `false` turns the whole product into plain copies.
    pub enabled: bool,
    /// How many priorities there are, 1 to 32.
    pub priorities: Priorities,
    /// From how many bytes on a copy is bulk, where nothing else says how urgent it is; `None`: such copies are left
    /// alone. Heard by the drop-in and by the C library: in Rust every stream has its priority.
    pub bulk_bytes_min: Option<u64>,
    /// What moves copies that may have to wait.
    pub transport: Transport,
    /// What moves urgent copies.
    pub urgent_transport: UrgentTransport,
    /// How the engine transport says its semaphores.
    pub emulation: Kind,
    /// How long one chunk may keep the engine busy, and so an urgent copy waiting.
    pub blocking_max: Nanos,
    /// Copies below this are never held up: one of them delays an urgent copy by a few microseconds at most.
    pub gate_bytes_min: u64,
    /// Copies below this go by engine rather than by kernel when the transport is chosen automatically.
    pub kernel_bytes_min: u64,
    /// Who copies towards the device where bulk goes by kernel.
    pub kernel_h2d: Workers,
    /// Who copies towards the host where bulk goes by kernel.
    pub kernel_d2h: Workers,
    /// How long the warps of one copy kernel stand still at most, all waits together.
    pub kernel_wait_max: Nanos,
    /// Every how many urgent copies of a stream one gets a completion ticket of its own; the others are estimated. In a
    /// burst one in four of these is enough. 1 means all.
    pub ticket_every: u32,
    /// The share of the time that bulk gets even under endless urgent traffic, and in what slices.
    pub share: ShareOptions,
    /// Whether copies may wait in channels. Without them, whatever cannot go by kernel goes to the driver, and a word
    /// written behind it lets other streams have their turn.
    pub channels: bool,
    /// Bulk copies of this size and more go by guarded kernel, which the copy engine replaces where the kernel finds no
    /// free multiprocessor; smaller ones never go by kernel, and urgent ones neither. Then no program hangs on a copy
    /// kernel that cannot begin. `None`: copy kernels go unguarded, in the application's streams, which costs a few
    /// microseconds less.
    pub guard_bytes_min: Option<u64>,
    /// How guarded copies are guarded.
    pub guard: GuardOptions,
    /// When the watchdog opens everything, and when it gives up.
    pub patience: Patience,
    /// For how long after an urgent copy the monitor does not sleep. While it is awake it keeps a processor busy.
    pub monitor_awake: Nanos,
    /// How long the monitor sleeps between looks while copies are out: so long a word may stay up too long.
    pub monitor_nap: Nanos,
    /// Whether every copy is recorded ([`crate::Overtake::trace`]).
    pub trace: bool,
    /// Whether there is a watchdog at all. Only tests turn it off.
    pub watchdog: bool,
    /// Whether semaphore operations are put into the application's own streams. This deadlocks; only tests turn it on.
    pub in_stream_brackets: bool,
    /// Where the counters of `docs/counters.md` that wrap begin. Only tests set it, to just below where they do.
    pub counters_from: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enabled: true,
            priorities: Priorities::new(6).expect("6 is a valid count"),
            bulk_bytes_min: Some(1 << 20),
            transport: Transport::Auto,
            urgent_transport: UrgentTransport::Engine,
            emulation: Kind::Hold,
            blocking_max: Nanos::from_us(45),
            gate_bytes_min: 64 << 10,
            kernel_bytes_min: 256 << 10,
            // As few as fill the link: more only make urgent copies wait for what is in flight. Measured on an H100
            // (`reports/driver/h100/2026-11-21-workers.txt`).
            kernel_h2d: Workers { blocks: 5, warps: 10 },
            kernel_d2h: Workers { blocks: 4, warps: 4 },
            kernel_wait_max: Nanos::from_ms(20),
            ticket_every: 8,
            share: ShareOptions::default(),
            patience: Patience::default(),
            channels: true,
            monitor_awake: Nanos::from_us(3000),
            monitor_nap: Nanos::from_us(50),
            trace: false,
            guard_bytes_min: None,
            guard: GuardOptions::default(),
            watchdog: true,
            in_stream_brackets: false,
            counters_from: 0,
        }
    }
}

impl Options {
    /// The table of options.
    pub fn tunables() -> impl Iterator<Item = &'static Tunable> {
        TUNABLES.iter()
    }

    /// Sets one option by name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let error = |expected: String| OptionError { name: name.to_owned(), value: value.to_owned(), expected };
        let tunable = TUNABLES.iter().find(|tunable| tunable.name == name).ok_or_else(|| error(unknown(name)))?;
        tunable.set(self, value).ok_or_else(|| error(tunable.expected()))
    }

    /// The same with one option set, for building options in one expression.
    pub fn with(mut self, name: &str, value: &str) -> Result<Options, OptionError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Applies a TOML table of options; what cannot be understood is left as it was, and returned.
    pub fn apply_toml(&mut self, source: &Source<'_>) -> Vec<Fault> {
        let table = match DeTable::parse(source.text) {
            Ok(table) => table,
            Err(error) => return vec![syntax(source, &error)],
        };
        let mut faults = Vec::new();
        for (name, value) in table.get_ref() {
            faults.extend(self.apply(source, name, value).err());
        }
        doors::fault::sort(&mut faults);
        faults
    }

    /// Applies one entry of such a table.
    pub fn apply(
        &mut self,
        source: &Source<'_>,
        name: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), Fault> {
        let Some(tunable) = TUNABLES.iter().find(|tunable| tunable.name == *name.get_ref()) else {
            return Err(source.fault(name.span(), unknown(name.get_ref())));
        };
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(on) => Some(if *on { "on" } else { "off" }.to_owned()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Float(number) => Some(number.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        };
        let set = text.and_then(|text| tunable.set(self, &text));
        set.ok_or_else(|| source.fault(value.span(), format!("{}: expected {}", tunable.name, tunable.expected())))
    }

    /// Applies variables: `OVERTAKE=off`, then `OVERTAKE_<NAME>` for each option; what cannot be understood is left as
    /// it was, and returned. `lookup` is the environment.
    pub fn apply_variables(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Vec<Fault> {
        let switch = ("OVERTAKE".to_owned(), "enabled");
        let options = TUNABLES.iter().map(|tunable| (variables::of_option(tunable.name), tunable.name));
        let mut faults = Vec::new();
        for (variable, name) in std::iter::once(switch).chain(options) {
            if let Some(value) = lookup(&variable)
                && let Err(error) = self.set(name, &value)
            {
                let message = format!("cannot be {value:?}: expected {}", error.expected);
                faults.push(Source { origin: &variable, text: "" }.fault_of_all(message));
            }
        }
        for name in ["CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS"] {
            if let Some(queues) = lookup(name).and_then(|value| value.trim().parse::<u32>().ok()) {
                self.guard.copy_queues = queues.clamp(1, 32);
            }
        }
        faults
    }

    /// Defaults, then the file that `OVERTAKE_CONFIG` names, then the variables. Variables that look like ours and are
    /// not are logged, once.
    pub fn from_environment() -> Result<Options, Fault> {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| variables::unknown_here().iter().for_each(|warning| log::warn!("{warning}")));
        let mut options = Options::default();
        let mut faults = Vec::new();
        if let Some(path) = doors::variable::path("OVERTAKE_CONFIG") {
            let origin = path.display().to_string();
            match doors::file::read_text(Path::new(&path)) {
                Ok(text) => faults.extend(options.apply_toml(&Source { origin: &origin, text: &text })),
                Err(error) => faults.push(unreadable("OVERTAKE_CONFIG", &origin, &error)),
            }
        }
        faults.extend(options.apply_variables(|name| std::env::var(name).ok()));
        faults.into_iter().next().map_or(Ok(options), Err)
    }
}

/// A file that a variable names and that cannot be read.
#[must_use]
pub fn unreadable(variable: &str, path: &str, error: &std::io::Error) -> Fault {
    Source { origin: path, text: "" }.fault_of_all(format!("cannot be read: {error}; {variable} names it"))
}

/// A text that is no TOML.
#[must_use]
pub fn syntax(source: &Source<'_>, error: &toml::de::Error) -> Fault {
    match error.span() {
        Some(span) => source.fault(span, error.message()),
        None => source.fault_of_all(error.message()),
    }
}

/// What to say of a name that is none.
fn unknown(name: &str) -> String {
    match variables::nearest(name, TUNABLES.iter().map(|tunable| tunable.name)) {
        Some(near) => format!("no option is called {name}: is it {near}?"),
        None => format!("no option is called {name}: `overtake options` lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_set_of_names_everywhere() {
        let mut by_file = Options::default();
        let text = "priorities = 8\ntransport = \"kernel\"\nmax_blocking_us = 80\nbulk_share = 0.1\n";
        assert_eq!(by_file.apply_toml(&Source { origin: "a file", text }), []);
        let mut by_variable = Options::default();
        let variables = [
            ("OVERTAKE_PRIORITIES", "8"),
            ("OVERTAKE_TRANSPORT", "kernel"),
            ("OVERTAKE_MAX_BLOCKING_US", "80"),
            ("OVERTAKE_BULK_SHARE", "0.1"),
        ];
        let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        assert_eq!(by_variable.apply_variables(lookup), []);
        assert_eq!(by_file, by_variable);
        assert_eq!((by_file.priorities.count(), by_file.blocking_max), (8, Nanos::from_us(80)));
    }

    #[test]
    fn copy_queues_are_what_the_drivers_variables_say() {
        let queues = |variables: &[(&str, &str)]| {
            let mut options = Options::default();
            let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            assert_eq!(options.apply_variables(lookup), []);
            options.guard.copy_queues
        };
        let (all, copies) = ("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_COPY_CONNECTIONS");
        assert_eq!(queues(&[]), 4);
        assert_eq!(queues(&[(all, "1")]), 1);
        assert_eq!(queues(&[(all, "1"), (copies, "8")]), 8);
        assert_eq!((queues(&[(copies, "0")]), queues(&[(copies, "1000")]), queues(&[(copies, "x")])), (1, 32, 4));
    }

    #[test]
    fn errors_name_the_option_and_the_choices() {
        let mut options = Options::default();
        let error = options.set("transport", "teleport").unwrap_err();
        assert_eq!(
            error.to_string(),
            "option transport cannot be \"teleport\": expected auto, engine, kernel or native"
        );
        assert_eq!(
            options.set("transprot", "auto").unwrap_err().to_string(),
            "no option is called transprot: is it transport?"
        );
        let faults = options.apply_variables(|name| (name == "OVERTAKE_TRACE").then(|| "much".to_owned()));
        assert_eq!(faults[0].to_string(), "OVERTAKE_TRACE: cannot be \"much\": expected on or off");
        assert!(options.set("bulk_share", "1.5").is_err());
    }

    #[test]
    fn the_kill_switch() {
        let mut options = Options::default();
        assert_eq!(options.apply_variables(|name| (name == "OVERTAKE").then(|| "off".to_owned())), []);
        assert!(!options.enabled);
    }

    #[test]
    fn every_fault_of_a_file_has_its_place_and_leaves_the_rest_alone() {
        let mut options = Options::default();
        let text = "trace = true\ntransprot = \"auto\"\nmax_blocking_us = [3]\npriorities = 8\n";
        let faults: Vec<String> =
            options.apply_toml(&Source { origin: "o.toml", text }).iter().map(ToString::to_string).collect();
        let places: Vec<&str> = faults.iter().map(|fault| fault.lines().next().unwrap_or_default()).collect();
        assert_eq!(
            places,
            [
                "o.toml:2:1: no option is called transprot: is it transport?",
                "o.toml:3:19: max_blocking_us: expected microseconds, at most an hour",
            ]
        );
        assert!(options.trace && options.priorities.count() == 8);
        let faults = options.apply_toml(&Source { origin: "o.toml", text: "no toml" });
        assert!(faults.len() == 1 && faults[0].to_string().starts_with("o.toml:1:4: "), "{faults:?}");
    }
}
