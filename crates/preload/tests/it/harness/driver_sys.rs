//! The client that uses the crate `cuda-driver-sys`: cargo builds it, against the software GPU.

use std::process::Command;

use crate::harness::build::Places;
use crate::harness::list::Client;
use crate::harness::report::Expect;
use crate::harness::run::End;

/// Builds it. The inner error is the reason for leaving it out: its one dependency is not among the workspace's, and
/// cargo may not be able to fetch it.
pub fn build(places: &Places) -> Result<Result<Client, String>, String> {
    let mut said = String::new();
    for offline in [&["--offline"][..], &[]] {
        let output = cargo(places, offline).output().map_err(|error| format!("cannot run cargo: {error}"))?;
        if output.status.success() {
            return install(places).map(Ok);
        }
        said = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    let unreachable = ["failed to download", "failed to get", "no matching package", "failed to query"];
    match unreachable.iter().any(|what| said.contains(what)) {
        true => Ok(Err("the crate cuda-driver-sys can be had neither offline nor online".to_owned())),
        false => Err(said),
    }
}

fn cargo(places: &Places, options: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet"]).args(options);
    cargo.arg("--manifest-path").arg(places.tests.join("clients/driver_sys/Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", places.bin.join("driver_sys_target"));
    cargo.env("LIBRARY_PATH", &places.soft).env("CARGO_NET_RETRY", "0");
    for inherited in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        cargo.env_remove(inherited);
    }
    cargo
}

fn install(places: &Places) -> Result<Client, String> {
    let built = places.bin.join("driver_sys_target/debug/driver-sys-client");
    let name = "driver_sys_client";
    std::fs::copy(&built, places.bin.join(name)).map_err(|error| format!("copy {}: {error}", built.display()))?;
    Ok(Client {
        name: name.to_owned(),
        source: String::new(),
        flags: Vec::new(),
        end: End::Status(0),
        report: Expect::Moved,
        arguments: Vec::new(),
        is_library: false,
    })
}
