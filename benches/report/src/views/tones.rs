//! One meaning a colour. Grey is a reference, such as the idle device; red is CUDA alone, green overtake, and blue
//! overtake by a second setting. Where a panel has more curves, each has a colour of its own kind: warm ones are CUDA
//! alone, and cold ones overtake.

use super::{IDLE, OTHER_ENGINE, RAW};
use crate::figure::Tone;

/// Methods that have a colour of their own.
const METHODS: [(&str, Tone); 14] = [
    (IDLE, Tone::Grey),
    ("native", Tone::Orange),
    ("native+priority", Tone::Red),
    ("native+queue", Tone::Ink),
    ("chunks", Tone::Pink),
    ("chunks+dummy", Tone::Olive),
    ("engine/hold", Tone::Teal),
    ("engine/bracket", Tone::Violet),
    ("engine/atomics", Tone::Ink),
    ("kernel/hold", Tone::Green),
    ("overtake", Tone::Green),
    ("staged", Tone::Green),
    ("express", Tone::Blue),
    ("express+chunks", Tone::Sky),
];

/// The colours of a kind, in the order in which its curves get them.
const REFERENCES: [Tone; 2] = [Tone::Grey, Tone::Ink];
const ALONE: [Tone; 5] = [Tone::Red, Tone::Orange, Tone::Pink, Tone::Olive, Tone::Ink];
const OVERTAKE: [Tone; 6] = [Tone::Green, Tone::Blue, Tone::Teal, Tone::Violet, Tone::Sky, Tone::Ink];

/// References beside the idle device: bulk alone, and what no method can undercut.
const OTHER_REFERENCES: [&str; 6] =
    [RAW, OTHER_ENGINE, "idle pipeline", "idle template", "bound", "bound with contention"];
/// Programs that use CUDA alone.
const PROGRAMS_ALONE: [&str; 8] = [
    "chunks",
    "chunks+dummy",
    "window",
    "serial",
    "one stream",
    "no priority",
    "stream priorities",
    "ordered before submission",
];

/// The colour of a method, if it has one of its own.
#[must_use]
pub fn tone(method: &str) -> Option<Tone> {
    METHODS.iter().find(|(name, _)| *name == method).map(|(_, tone)| *tone)
}

/// The colour of a method's kind: grey, red or green, and blue for a second setting of overtake.
#[must_use]
pub fn meaning(method: &str) -> Tone {
    // A second turn, and a part that is told behind a comma, change no method.
    let name = method.strip_suffix(" again").unwrap_or(method);
    let first = name.split(',').next().unwrap_or(name);
    let is_idle = name.ends_with(", idle") || [IDLE].iter().chain(&OTHER_REFERENCES).any(|other| *other == first);
    let is_alone = first.starts_with("native") || PROGRAMS_ALONE.contains(&first) || name.contains("by hand");
    match () {
        () if is_idle => Tone::Grey,
        () if is_alone => Tone::Red,
        () if first.starts_with("express") => Tone::Blue,
        () => Tone::Green,
    }
}

/// The colours of a method's kind.
fn kind(method: &str) -> &'static [Tone] {
    match meaning(method) {
        Tone::Grey => &REFERENCES,
        Tone::Red => &ALONE,
        _ => &OVERTAKE,
    }
}

/// The colours of curves, each with its method: the method's own if it is free, else one of its kind that no other
/// curve has, while there are any.
pub(super) fn tones<'a>(curves: impl IntoIterator<Item = (String, &'a str)>) -> Vec<(String, Tone)> {
    let mut known: Vec<(String, &str, Option<Tone>)> = Vec::new();
    for (name, method) in curves {
        if known.iter().any(|curve| curve.0 == name) {
            continue;
        }
        let is_free = |tone: &Tone| known.iter().all(|curve| curve.2 != Some(*tone));
        let own = tone(method).filter(is_free);
        known.push((name, method, own));
    }
    // CUDA alone is red where it has one curve.
    if let [only] = known.iter_mut().filter(|curve| kind(curve.1) == ALONE).collect::<Vec<_>>().as_mut_slice() {
        only.2 = Some(Tone::Red);
    }
    for index in 0..known.len() {
        let kind = kind(known[index].1);
        let is_free = |tone: &Tone| known.iter().all(|curve| curve.2 != Some(*tone));
        let next = || kind.iter().copied().find(is_free).unwrap_or(kind[index % kind.len()]);
        known[index].2 = known[index].2.or_else(|| Some(next()));
    }
    known.into_iter().filter_map(|(name, _, tone)| Some((name, tone?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_has_one_meaning() {
        let of = |methods: &[&str]| methods.iter().map(|method| meaning(method)).collect::<Vec<_>>();
        let idle = of(&[IDLE, RAW, "raw again", "raw, no layer open", OTHER_ENGINE, "native, idle", "graph, idle"]);
        assert!(idle.iter().all(|tone| *tone == Tone::Grey), "{idle:?}");
        let alone = of(&["native", "native+priority", "native again", "chunks", "window", "copies by hand", "serial"]);
        assert!(alone.iter().all(|tone| *tone == Tone::Red), "{alone:?}");
        let ours = of(&["kernel/hold", "overtake", "overtake, armed", "pipeline", "dispatcher", "automatic"]);
        assert!(ours.iter().all(|tone| *tone == Tone::Green), "{ours:?}");
        assert_eq!(meaning("express"), Tone::Blue);
    }

    fn of(methods: &[&'static str]) -> Vec<Tone> {
        tones(methods.iter().map(|method| ((*method).to_owned(), *method))).into_iter().map(|curve| curve.1).collect()
    }

    #[test]
    fn curves_have_colours_of_their_own_and_of_their_kind() {
        let methods = ["native", "kernel/hold", "overtake", "a new method", IDLE, "native+priority", "window"];
        let tones = of(&methods);
        let colours = [Tone::Orange, Tone::Green, Tone::Blue, Tone::Teal, Tone::Grey, Tone::Red, Tone::Pink];
        assert_eq!(tones, colours);
    }

    #[test]
    fn cuda_alone_is_red_where_it_has_one_curve() {
        assert_eq!(of(&[IDLE, "native", "overtake"]), [Tone::Grey, Tone::Red, Tone::Green]);
        assert_eq!(of(&["native", "native+priority"]), [Tone::Orange, Tone::Red]);
    }
}
