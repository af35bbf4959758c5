//! Values of the profile that only tests set, by name, through the variable `OVERTAKE_UNLISTED`
//! (`NAME=VALUE,NAME=VALUE`). They are not in the list of options, and a warning says that the variable is set.
//! Mistakes in it are warnings too.

use os::fault::{Fault, Source};
use semaphores::EmulationKind as Emulation;

use crate::profile::{Transport, UrgentTransport};
use crate::settings::Options;
use crate::tunable::{Tunable, ValueKind, option, put};
use crate::workers::BLOCK_WARPS_MAX;

/// The variable.
pub(crate) const VARIABLE: &str = "OVERTAKE_UNLISTED";

const MEANING: &str = "a value of the profile, for tests";

/// All of them.
pub(crate) const UNLISTED: &[Tunable] = &[
    option(
        "transport",
        ValueKind::Word {
            words: "auto, engine, kernel or native",
            get: |o| o.profile.transport.name(),
            set: |o, word| put(&mut o.profile.transport, Transport::from_name(word)),
        },
        MEANING,
    ),
    option(
        "urgent_transport",
        ValueKind::Word {
            words: "engine, kernel or channel",
            get: |o| o.profile.urgent_transport.name(),
            set: |o, word| put(&mut o.profile.urgent_transport, UrgentTransport::from_name(word)),
        },
        MEANING,
    ),
    option(
        "emulation",
        ValueKind::Word {
            words: "hold, bracket or atomics",
            get: |o| o.profile.emulation.name(),
            set: |o, word| put(&mut o.profile.emulation, Emulation::from_name(word)),
        },
        MEANING,
    ),
    option("channels", ValueKind::Switch(|o| &mut o.profile.channels), MEANING),
    option("gate_bytes_min", ValueKind::Size(|o| &mut o.profile.gate_bytes_min), MEANING),
    option("kernel_bytes_min", ValueKind::Size(|o| &mut o.profile.kernel_bytes_min), MEANING),
    option("kernel_warps_h2d", ValueKind::Number(|o| &mut o.profile.kernel_h2d.warps, 1, BLOCK_WARPS_MAX), MEANING),
    option("kernel_blocks_d2h", ValueKind::Number(|o| &mut o.profile.kernel_d2h.blocks, 1, 64), MEANING),
    option("kernel_wait_max_us", ValueKind::Span(|o| &mut o.profile.kernel_wait_max), MEANING),
    option("guard_bytes_min", ValueKind::SizeOrOff(|o| &mut o.profile.guard_bytes_min), MEANING),
    option("calm_after_us", ValueKind::Span(|o| &mut o.profile.calm.after), MEANING),
    option("lull", ValueKind::Switch(|o| &mut o.profile.lull), MEANING),
    option("bulk_share", ValueKind::Fraction(|o| &mut o.profile.share.share), MEANING),
    option("staging_bytes_min", ValueKind::Size(|o| &mut o.profile.staging_bytes_min), MEANING),
    option("staging_slots", ValueKind::Number(|o| &mut o.profile.staging_slots, 0, 1024), MEANING),
    option("rescues_max", ValueKind::Number(|o| &mut o.profile.rescues_max, 0, u32::MAX), MEANING),
    option("fence_every", ValueKind::Number(|o| &mut o.profile.fence_every, 1, 1000), MEANING),
];

/// Applies the text of the variable. Returns the faults, as warnings.
pub(crate) fn apply(options: &mut Options, text: &str) -> Vec<Fault> {
    let fault = |message: String| Source { origin: VARIABLE, text: "" }.fault_of_all(message);
    let set = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let Some(tunable) = UNLISTED.iter().find(|tunable| tunable.name == name) else {
            return Some(fault(format!("{name:?} is no value of the profile that it sets")));
        };
        let expected = || fault(format!("{name} cannot be {value:?}: expected {}", tunable.expected()));
        tunable.set(options, value).is_none().then(expected)
    };
    text.split(',').filter(|setting| !setting.is_empty()).filter_map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::TUNABLES;

    #[test]
    fn the_variable_sets_several_and_tells_its_faults() {
        let mut options = Options::default();
        assert_eq!(apply(&mut options, "calm_after_us=600000000,lull=on,"), []);
        assert!(options.profile.lull && options.profile.calm.after.as_secs() == 600.0, "{options:?}");
        let said =
            apply(&mut options, "lull=much,trace=on,channels=off").iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            said,
            [
                "OVERTAKE_UNLISTED: lull cannot be \"much\": expected on or off",
                "OVERTAKE_UNLISTED: \"trace\" is no value of the profile that it sets",
            ]
        );
        assert!(!options.profile.channels, "what follows a fault is set");
    }

    #[test]
    fn no_option_is_among_them() {
        let is_option = |name: &str| TUNABLES.iter().any(|tunable| tunable.name == name);
        assert!(UNLISTED.iter().all(|tunable| !is_option(tunable.name)));
    }
}
