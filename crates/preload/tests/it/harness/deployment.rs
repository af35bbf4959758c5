//! The ways to put the drop-in between a program and its driver.

use std::path::Path;
use std::process::Command;

use crate::harness::build::Places;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// Without the drop-in.
    Native,
    /// `LD_PRELOAD`.
    Preload,
    /// As a `libcuda.so.1` that the loader finds before the real one.
    Shadow,
    /// The same, with `OVERTAKE_LIBCUDA` naming the real one.
    ShadowOfNamed,
    /// `LD_AUDIT`.
    Audit,
    /// `LD_PRELOAD`, and switched off.
    Off,
    /// `LD_PRELOAD`, with pageable copies staged.
    Staged,
    /// `LD_PRELOAD`, and it only watches.
    Observed,
    /// `LD_PRELOAD`, and it watches beside its work.
    AlsoObserved,
}

impl Deployment {
    /// Every client runs in these.
    pub const EVERYWHERE: [Deployment; 3] = [Deployment::Preload, Deployment::Shadow, Deployment::Audit];

    /// The word in names of trials and folders.
    pub fn name(self) -> &'static str {
        match self {
            Deployment::Native => "native",
            Deployment::Preload => "preload",
            Deployment::Shadow => "shadow",
            Deployment::ShadowOfNamed => "shadow_of_named",
            Deployment::Audit => "audit",
            Deployment::Off => "off",
            Deployment::Staged => "staged",
            Deployment::Observed => "observed",
            Deployment::AlsoObserved => "also_observed",
        }
    }

    /// The word in the drop-in's report.
    pub fn reported(self) -> &'static str {
        match self {
            Deployment::Shadow | Deployment::ShadowOfNamed => "shadow",
            Deployment::Audit => "audit",
            Deployment::Native | Deployment::Preload | Deployment::Off | Deployment::Staged => "preload",
            Deployment::Observed | Deployment::AlsoObserved => "preload",
        }
    }

    /// Sets the environment of a program.
    pub fn apply(self, places: &Places, command: &mut Command) {
        let soft = places.soft.display();
        let shadow = format!("{}:{soft}", places.shadow.display());
        let library: &Path = &places.library;
        command.env("LD_LIBRARY_PATH", soft.to_string()).env("OVERTAKE_SOFT_HANDLES", "reused");
        match self {
            Deployment::Native => command,
            Deployment::Preload => command.env("LD_PRELOAD", library),
            Deployment::Shadow => command.env("LD_LIBRARY_PATH", shadow),
            Deployment::ShadowOfNamed => {
                command.env("LD_LIBRARY_PATH", shadow).env("OVERTAKE_LIBCUDA", places.soft.join("libcuda.so.1"))
            }
            Deployment::Audit => command.env("LD_AUDIT", library),
            Deployment::Off => command.env("LD_PRELOAD", library).env("OVERTAKE", "off"),
            Deployment::Observed => command.env("LD_PRELOAD", library).env("OVERTAKE_OBSERVE", "only"),
            Deployment::AlsoObserved => command.env("LD_PRELOAD", library).env("OVERTAKE_OBSERVE", "also"),
            Deployment::Staged => {
                // Small copies too, and by threads where the machine has few cores.
                let command = command.env("LD_PRELOAD", library).env("OVERTAKE_STAGING", "on");
                command.env("OVERTAKE_UNLISTED", "staging_bytes_min=4K").env("OVERTAKE_STAGING_THREADS", "3")
            }
        };
    }
}
