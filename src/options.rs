//! Every tunable, in one place: the same names in the builder, in `OVERTAKE_*` variables and in a TOML file.
//!
//! Precedence, weakest first: defaults, the TOML file named by `OVERTAKE_CONFIG`, the variables, what the program sets.

use std::fmt;

use channels::share::ShareOptions;
use channels::watchdog::Patience;
use hal::Nanos;
use semaphores::{Kind, Priorities};

use crate::kernel::{BLOCK_WARPS_MAX, Workers};

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

/// How guarded copies are guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardOptions {
    /// How long a copy kernel that could run may wait for multiprocessors.
    pub patience: Nanos,
    /// How many streams may have guarded copies under way at once; copies of others go natively meanwhile. Copies
    /// that these streams queue behind them occupy as many of the four hardware copy queues, and a rescue needs one.
    pub streams_max: u8,
}

impl Default for GuardOptions {
    fn default() -> GuardOptions {
        GuardOptions { patience: Nanos::from_ms(20), streams_max: 2 }
    }
}

/// An option that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option's name.
    pub name: String,
    /// What was given.
    pub value: String,
    /// What would have been understood.
    pub expected: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option {} cannot be {:?}: expected {}", self.name, self.value, self.expected)
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

/// One tunable: its name, what it takes, how it is set.
struct Tunable {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Options, &str) -> Option<()>,
}

const TUNABLES: &[Tunable] = &[
    Tunable { name: "enabled", expected: "on or off", set: |o, v| put(&mut o.enabled, switch(v)) },
    Tunable {
        name: "priorities",
        expected: "a number from 1 to 32",
        set: |o, v| put(&mut o.priorities, v.parse().ok().and_then(Priorities::new)),
    },
    Tunable {
        name: "transport",
        expected: "auto, engine, kernel or native",
        set: |o, v| put(&mut o.transport, transport(v)),
    },
    Tunable {
        name: "urgent_transport",
        expected: "engine or kernel",
        set: |o, v| put(&mut o.urgent_transport, urgent_transport(v)),
    },
    Tunable {
        name: "emulation",
        expected: "hold, bracket or atomics",
        set: |o, v| put(&mut o.emulation, Kind::from_name(v)),
    },
    Tunable {
        name: "max_blocking_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.blocking_max, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable { name: "gate_bytes_min", expected: "a size such as 64K", set: |o, v| put(&mut o.gate_bytes_min, size(v)) },
    Tunable {
        name: "kernel_bytes_min",
        expected: "a size such as 256K",
        set: |o, v| put(&mut o.kernel_bytes_min, size(v)),
    },
    Tunable {
        name: "kernel_blocks_h2d",
        expected: "a number from 1 to 64",
        set: |o, v| put(&mut o.kernel_h2d.blocks, number(v, 64)),
    },
    Tunable {
        name: "kernel_blocks_d2h",
        expected: "a number from 1 to 64",
        set: |o, v| put(&mut o.kernel_d2h.blocks, number(v, 64)),
    },
    Tunable {
        name: "kernel_warps_h2d",
        expected: "a number from 1 to 16",
        set: |o, v| put(&mut o.kernel_h2d.warps, number(v, BLOCK_WARPS_MAX)),
    },
    Tunable {
        name: "kernel_warps_d2h",
        expected: "a number from 1 to 16",
        set: |o, v| put(&mut o.kernel_d2h.warps, number(v, BLOCK_WARPS_MAX)),
    },
    Tunable {
        name: "kernel_wait_max_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.kernel_wait_max, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable {
        name: "monitor_awake_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.monitor_awake, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable {
        name: "monitor_nap_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.monitor_nap, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable { name: "trace", expected: "on or off", set: |o, v| put(&mut o.trace, switch(v)) },
    Tunable { name: "channels", expected: "on or off", set: |o, v| put(&mut o.channels, switch(v)) },
    Tunable {
        name: "guard_bytes_min",
        expected: "a size such as 1M, or off",
        set: |o, v| put(&mut o.guard_bytes_min, if v == "off" { Some(None) } else { size(v).map(Some) }),
    },
    Tunable {
        name: "guard_after_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.guard.patience, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable {
        name: "guard_streams_max",
        expected: "a number from 1 to 8",
        set: |o, v| put(&mut o.guard.streams_max, v.parse().ok().filter(|streams| (1..=8).contains(streams))),
    },
    Tunable {
        name: "ticket_every",
        expected: "a number from 1 to 1000",
        set: |o, v| put(&mut o.ticket_every, v.parse().ok().filter(|every| (1..=1000).contains(every))),
    },
    Tunable {
        name: "bulk_share",
        expected: "a fraction from 0 to 0.99",
        set: |o, v| put(&mut o.share.share, fraction(v)),
    },
    Tunable {
        name: "bulk_slice_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.share.slice, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable {
        name: "rescue_after_us",
        expected: "microseconds",
        set: |o, v| put(&mut o.patience.rescue_after, v.parse().ok().map(Nanos::from_us)),
    },
    Tunable { name: "rescues_max", expected: "a number", set: |o, v| put(&mut o.patience.rescues_max, v.parse().ok()) },
];

fn put<T>(slot: &mut T, value: Option<T>) -> Option<()> {
    *slot = value?;
    Some(())
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

fn transport(value: &str) -> Option<Transport> {
    match value {
        "auto" => Some(Transport::Auto),
        "engine" => Some(Transport::Engine),
        "kernel" => Some(Transport::Kernel),
        "native" => Some(Transport::Native),
        _ => None,
    }
}

fn urgent_transport(value: &str) -> Option<UrgentTransport> {
    match value {
        "engine" => Some(UrgentTransport::Engine),
        "kernel" => Some(UrgentTransport::Kernel),
        _ => None,
    }
}

/// Bytes, with an optional K, M or G (powers of 1024).
#[must_use]
pub fn size(value: &str) -> Option<u64> {
    let (digits, shift) = match value.as_bytes().last()? {
        b'K' | b'k' => (&value[..value.len() - 1], 10),
        b'M' | b'm' => (&value[..value.len() - 1], 20),
        b'G' | b'g' => (&value[..value.len() - 1], 30),
        _ => (value, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn number(value: &str, most: u32) -> Option<u32> {
    value.parse().ok().filter(|number| (1..=most).contains(number))
}

fn fraction(value: &str) -> Option<f64> {
    value.parse().ok().filter(|share| (0.0..=0.99).contains(share))
}

impl Options {
    /// The names of all tunables with what they take, for help texts.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        TUNABLES.iter().map(|tunable| (tunable.name, tunable.expected))
    }

    /// Sets one tunable by name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let error = |expected: String| OptionError { name: name.to_owned(), value: value.to_owned(), expected };
        let Some(tunable) = TUNABLES.iter().find(|tunable| tunable.name == name) else {
            let known: Vec<_> = TUNABLES.iter().map(|tunable| tunable.name).collect();
            return Err(error(format!("one of the options {}", known.join(", "))));
        };
        (tunable.set)(self, value).ok_or_else(|| error(tunable.expected.to_owned()))
    }

    /// The same with one tunable set, for building options in one expression.
    pub fn with(mut self, name: &str, value: &str) -> Result<Options, OptionError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Applies a TOML table of tunables.
    pub fn apply_toml(&mut self, text: &str) -> Result<(), OptionError> {
        let error = |message: String| OptionError {
            name: "the TOML file".to_owned(),
            value: message,
            expected: "a table of options".to_owned(),
        };
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| error(e.message().to_owned()))?;
        for (name, value) in &table {
            let text = match value {
                toml::Value::String(text) => text.clone(),
                toml::Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
                other => other.to_string(),
            };
            self.set(name, &text)?;
        }
        Ok(())
    }

    /// Applies variables: `OVERTAKE=off`, then `OVERTAKE_<NAME>` for each tunable. `lookup` is the environment.
    pub fn apply_variables(&mut self, lookup: impl Fn(&str) -> Option<String>) -> Result<(), OptionError> {
        if let Some(value) = lookup("OVERTAKE") {
            self.set("enabled", &value)?;
        }
        for tunable in TUNABLES {
            if let Some(value) = lookup(&format!("OVERTAKE_{}", tunable.name.to_uppercase())) {
                self.set(tunable.name, &value)?;
            }
        }
        Ok(())
    }

    /// Defaults, then the file that `OVERTAKE_CONFIG` names, then the variables.
    pub fn from_environment() -> Result<Options, OptionError> {
        let mut options = Options::default();
        if let Ok(path) = std::env::var("OVERTAKE_CONFIG") {
            let text = std::fs::read_to_string(&path).map_err(|e| OptionError {
                name: "OVERTAKE_CONFIG".to_owned(),
                value: path,
                expected: format!("a readable file ({e})"),
            })?;
            options.apply_toml(&text)?;
        }
        options.apply_variables(|name| std::env::var(name).ok())?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_set_of_names_everywhere() {
        let mut by_file = Options::default();
        by_file.apply_toml("priorities = 8\ntransport = \"kernel\"\nmax_blocking_us = 80\nbulk_share = 0.1\n").unwrap();
        let mut by_variable = Options::default();
        let variables = [
            ("OVERTAKE_PRIORITIES", "8"),
            ("OVERTAKE_TRANSPORT", "kernel"),
            ("OVERTAKE_MAX_BLOCKING_US", "80"),
            ("OVERTAKE_BULK_SHARE", "0.1"),
        ];
        let lookup = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        by_variable.apply_variables(lookup).unwrap();
        assert_eq!(by_file, by_variable);
        assert_eq!((by_file.priorities.count(), by_file.blocking_max), (8, Nanos::from_us(80)));
    }

    #[test]
    fn errors_name_the_option_and_the_choices() {
        let mut options = Options::default();
        let error = options.set("transport", "teleport").unwrap_err();
        assert_eq!(
            error.to_string(),
            "option transport cannot be \"teleport\": expected auto, engine, kernel or native"
        );
        assert!(options.set("transprot", "auto").unwrap_err().to_string().contains("urgent_transport"));
        assert!(options.set("bulk_share", "1.5").is_err());
    }

    #[test]
    fn the_kill_switch() {
        let mut options = Options::default();
        options.apply_variables(|name| (name == "OVERTAKE").then(|| "off".to_owned())).unwrap();
        assert!(!options.enabled);
    }

    #[test]
    fn sizes_take_suffixes() {
        assert_eq!((size("64K"), size("3"), size("2G")), (Some(65536), Some(3), Some(2 << 30)));
        assert_eq!((size("K"), size(""), size("99999999999G")), (None, None, None));
    }
}
