//! The command line of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, ValueHint};
use overtake::Options;
use overtake::options::Automatic;

const AFTER_HELP: &str = "\
Examples:
  overtake run -- python serve.py                     urgent copies pass bulk copies; nothing else changes
  overtake run --report -- python serve.py            the same, with a report on standard error at exit
  overtake run --observe -- python serve.py           native copies, watched: would overtake help?
  overtake run --compare 3 -- python serve.py         natively and with overtake, three times each: what differs
  overtake run --json run.json --trace run.trace.json -- ./program --its-own-option
  overtake run --automatic size --bulk-bytes-min 4M -- torchrun --nproc-per-node 2 train.py
  overtake run --wait-budget 60us -- python train.py  bulk loses nothing, and urgent copies gain less
  overtake run --deployment shadow -- ./program       where a program escapes the preloaded library

A copy's priority comes from the first of these that applies: the program's own calls of the C interface, the rules,
the priority of the copy's stream, the rule of --automatic. By demand, copies of a stream that keeps the link busy
yield to those of a stream that moves little. By size, copies of --bulk-bytes-min and more yield to smaller ones.

The program inherits everything: standard streams, environment, process group; so do its children, through shells, exec,
Python's multiprocessing and torchrun. Without --report, --json and --trace (and without --deployment shadow)
`overtake run` becomes the program, and no other process stays. With them it stays until the program ends, passes on
the signals that are sent to it, and stops when the program is stopped. For children that outlive the program, the
report covers the time until the program ended.

CUDA_DEVICE_MAX_COPY_CONNECTIONS is left as it is, because another number of queues may change the order of a program's
copies. If many streams copy and wait, 8 leaves urgent copies a free queue more often. Shadow and audit are for programs
that take their symbols past LD_PRELOAD, such as plugins loaded with RTLD_DEEPBIND. No deployment reaches
statically linked programs without a loader, or programs with set-user-id.

With --observe, --report, --json and --compare the drop-in reads the clock twice at each copy, and looks at the
memory of some. It gives the device no work.

Exit status: the program's own; when a signal ended it, `overtake run` ends by the same signal. 125 when overtake itself
fails, 126 when the program cannot be executed, 127 when it is not found, 2 when the command line makes no sense.";

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArguments {
    /// The drop-in library; else OVERTAKE_PRELOAD_LIBRARY, else libovertake_preload.so beside this executable or in
    /// ../lib.
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// How the library is loaded into the program.
    #[arg(long, value_enum, default_value_t = Deployment::Preload, value_name = "WAY")]
    pub deployment: Deployment,
    /// The rule for copies to which neither the program, a rule nor their stream gives a priority (default demand).
    #[arg(long, value_parser = PossibleValuesParser::new(Automatic::ALL.map(Automatic::name)), value_name = "RULE")]
    pub automatic: Option<String>,
    /// Copies of at least this size are bulk by `--automatic size` (default 1M).
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub bulk_bytes_min: Option<String>,
    /// The time that an urgent copy may wait for bulk, such as 60us or 1ms (default 0us). From 60us on bulk keeps its
    /// full speed: it stays whole on the copy engine, and urgent copies go by kernel beside it. Below that it gives way
    /// at once.
    #[arg(long, value_parser = wait_budget, value_name = "TIME")]
    pub wait_budget: Option<String>,
    /// Rules that give copies their priority (TOML).
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Options from a file (TOML); --set takes precedence.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Sets one option, as the variable OVERTAKE_NAME does. May be repeated.
    #[arg(long = "set", value_parser = setting, value_name = "NAME=VALUE")]
    pub settings: Vec<Setting>,
    /// Load the library with everything switched off, for comparison.
    #[arg(long)]
    pub off: bool,
    /// Leave all copies to the driver, watch them, and report where they wait and whether overtake would help.
    #[arg(long, conflicts_with_all = ["off", "trace"])]
    pub observe: bool,
    /// Run the program so many times natively, watched, and as many times with overtake, in turn, and print what
    /// differs. With --json as JSON too.
    #[arg(
        long,
        value_name = "ROUNDS",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["off", "observe", "trace", "report"]
    )]
    pub compare: Option<u32>,
    /// Hide the program's own output, for --compare.
    #[arg(long, requires = "compare")]
    pub hide_output: bool,
    /// Print a report on the program's copies on standard error when it has ended.
    #[arg(long)]
    pub report: bool,
    /// Write the same as JSON, for all processes together and for each; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a trace of all processes that Perfetto (ui.perfetto.dev) and chrome://tracing open.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        value_name = "PROGRAM",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub program: Vec<OsString>,
}

impl RunArguments {
    /// Whether a report must be written when the program has ended.
    pub fn wants_reports(&self) -> bool {
        self.report || self.observe || self.json.is_some() || self.trace.is_some()
    }
}

/// How the library is loaded into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deployment {
    /// LD_PRELOAD.
    Preload,
    /// As libcuda.so.1, first on LD_LIBRARY_PATH.
    Shadow,
    /// LD_AUDIT.
    Audit,
}

impl Deployment {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Deployment::Preload => "preload",
            Deployment::Shadow => "shadow",
            Deployment::Audit => "audit",
        }
    }
}

/// One option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
}

/// Parses `name=value` and checks the option here, because the drop-in can only warn of mistakes.
fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as wait_budget_us=60")?;
    let name = name.replace('-', "_").to_lowercase();
    Options::default().set(&name, value).map_err(|error| error.to_string())?;
    Ok(Setting { name, value: value.to_owned() })
}

/// A size in its original spelling: the variable takes the same form.
fn size(text: &str) -> Result<String, String> {
    setting(&format!("bulk_bytes_min={text}")).map(|setting| setting.value)
}

/// A time with its unit. Returns the microseconds, as the variable takes them.
fn wait_budget(text: &str) -> Result<String, String> {
    let unit_us =
        |unit, us: u64| text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok()?.checked_mul(us));
    let us = unit_us("us", 1).or_else(|| unit_us("ms", 1_000));
    let us = us.ok_or("expected a whole number of us or ms, such as 60us")?;
    setting(&format!("wait_budget_us={us}")).map(|setting| setting.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_names_with_values() {
        let set = |text| setting(text).map(|setting| (setting.name, setting.value));
        assert_eq!(set("wait-budget-us=30"), Ok(("wait_budget_us".to_owned(), "30".to_owned())));
        assert_eq!(set("BULK_BYTES_MIN=2M").unwrap().0, "bulk_bytes_min");
        assert!(set("automatic=teleport").unwrap_err().contains("size, demand or off"));
        assert!(set("wait_budgt_us=3").unwrap_err().contains("is it wait_budget_us?"));
        assert!([set("wait_budget_us"), set("=3"), set("bulk_bytes_min=x")].iter().all(Result::is_err));
    }

    #[test]
    fn a_wait_budget_has_a_unit() {
        let us = |text| wait_budget(text).ok();
        assert_eq!(["50us", "2ms", "0us"].map(us), ["50", "2000", "0"].map(|us| Some(us.to_owned())));
        for text in ["50", "us", "-1us", "1.5ms", "50 us", "3s", "18446744073709551615ms"] {
            assert!(wait_budget(text).unwrap_err().contains("such as 60us"), "{text}");
        }
        assert!(wait_budget("3600001ms").unwrap_err().contains("at most an hour"));
    }

    #[test]
    fn sizes_are_checked_and_kept() {
        assert_eq!((size("4M"), size("65536")), (Ok("4M".to_owned()), Ok("65536".to_owned())));
        assert!([size("M"), size("4MB"), size("-1"), size("")].iter().all(Result::is_err));
    }
}
