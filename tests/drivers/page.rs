//! The tables of `docs/drivers.md`.

use std::fmt::Write as _;

use overtake::options::{Machine as Constants, Options, Profile, Transport};
use softgpu::Parameters;

use crate::machine::Machine;

const DEVICE: &str = "h100-sxm-pcie5";

fn machine(device: &str, release: u32) -> Machine {
    Machine::new(Parameters::named(&format!("{device}@{release}")).expect("the device and the release are known"))
}

fn has(version: i32, function: &str) -> &'static str {
    match abi::resolve(function, version, false) {
        Some(_) => "yes",
        None => "-",
    }
}

/// By release of the driver.
pub fn drivers() -> String {
    let mut table = "\
| driver | CUDA | bulk by, library | bulk by, drop-in | kernels of tasks | `cuMemcpyBatchAsync` |
|---|---|---|---|---|---|
"
    .to_owned();
    for release in Parameters::releases() {
        let machine = machine(DEVICE, release);
        let cuda = machine.parameters().device.driver_version;
        let [library, drop_in] =
            [Profile::LIBRARY, Profile::DROP_IN].map(|profile| match machine.beside_bulk(profile, None).ways()[0] {
                "native" => "the driver",
                way => way,
            });
        let tasks = if machine.kernel_of_a_task().is_ok() { "yes" } else { "-" };
        let (major, minor, batch) = (cuda / 1000, cuda % 1000 / 10, has(cuda, "cuMemcpyBatchAsync"));
        let _ = writeln!(table, "| {release} | {major}.{minor} | {library} | {drop_in} | {tasks} | {batch} |");
    }
    table
}

/// By device: the constants, and how long an urgent copy of 64 KiB takes beside bulk. In brackets with the constants of
/// the measurements.
pub fn devices() -> String {
    let mut table = "\
| device | GB/s | warps to device, to host | by kernel from | guarded from | beside chunks | beside a copy kernel |
|---|--:|---|--:|--:|--:|--:|
"
    .to_owned();
    for device in crate::devices() {
        let machine = Machine::new(Parameters::named(device).expect("the device is known"));
        let constants = machine.constants();
        let [library, drop_in] = [Profile::LIBRARY, Profile::DROP_IN].map(|profile| {
            let mut options = Options { profile, ..Options::default() };
            options.fit(constants);
            options.profile
        });
        let [to_device, to_host] =
            [drop_in.kernel_h2d, drop_in.kernel_d2h].map(|workers| format!("{} x {}", workers.blocks, workers.warps));
        let unguarded = library.kernel_bytes_min >> 10;
        let guarded = drop_in.guard_bytes_min.unwrap_or_default() >> 10;
        let chunks = Profile { transport: Transport::Engine, ..Profile::LIBRARY };
        let [beside_chunks, beside_kernel] = [chunks, Profile::LIBRARY].map(|profile| {
            let [own, measured] = [None, Some(Constants::MEASURED.link_gbps)]
                .map(|link_gbps| machine.beside_bulk(profile, link_gbps).urgent_us.round());
            if own == measured { format!("{own} us") } else { format!("{own} us ({measured})") }
        });
        let gbps = constants.link_gbps;
        let _ = writeln!(
            table,
            "| {device} | {gbps} | {to_device}, {to_host} | {unguarded} KiB | {guarded} KiB | {beside_chunks} | \
             {beside_kernel} |"
        );
    }
    table
}
