//! The bytes that one node uses, each counted once.

use std::ops::Range;

use super::{Mode, Spans};

/// Bytes of an object, by its number among those of the node, and how they are used.
pub type Stretch = (usize, Range<u64>, Mode);

/// The same uses with each byte in one of them. Bytes that stand in several are used in all their modes together
/// (SY-07). An object of which no byte stands twice keeps its uses as they are.
#[must_use]
pub fn each_once(uses: Vec<Stretch>) -> Vec<Stretch> {
    let overlap = |one: &Stretch, other: &Stretch| {
        one.0 == other.0 && one.1.start.max(other.1.start) < one.1.end.min(other.1.end)
    };
    let is_twice = |place: usize| uses[..place].iter().any(|before| overlap(before, &uses[place]));
    let twice: Vec<usize> = (1..uses.len()).filter(|place| is_twice(*place)).map(|place| uses[place].0).collect();
    if twice.is_empty() {
        return uses;
    }
    let mut once = Vec::new();
    for (object, range, mode) in &uses {
        if !twice.contains(object) {
            once.push((*object, range.clone(), *mode));
        } else if !once.iter().any(|(done, ..)| done == object) {
            united(&uses, *object, &mut once);
        }
    }
    once
}

/// Adds the uses of an object.
fn united(uses: &[Stretch], object: usize, once: &mut Vec<Stretch>) {
    let its = || uses.iter().filter(|(other, ..)| *other == object);
    let end = its().map(|(_, range, _)| range.end).max().unwrap_or(0);
    let mut modes = Spans::new(end, None);
    for (_, range, mode) in its() {
        modes.change(range, |both: &mut Option<Mode>| *both = Some(both.map_or(*mode, |other| other.and(*mode))));
    }
    modes.each(&(0..end), |range, mode| {
        let Some(mode) = mode else { return };
        match once.last_mut() {
            // Cut where another use ended.
            Some((last, before, same)) if *last == object && before.end == range.start && same == mode => {
                before.end = range.end;
            }
            _ => once.push((object, range, *mode)),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_stand_twice_are_used_in_both_modes() {
        let apart =
            vec![(0, 0..8, Mode::Read), (1, 0..8, Mode::Discard), (0, 8..16, Mode::Write), (1, 3..3, Mode::Read)];
        assert_eq!(each_once(apart.clone()), apart);
        for uses in
            [[(0, 0..8, Mode::Discard), (0, 0..8, Mode::Read)], [(0, 0..8, Mode::Read), (0, 0..8, Mode::Discard)]]
        {
            assert_eq!(each_once(uses.to_vec()), [(0, 0..8, Mode::ReadWrite)], "whichever comes first");
        }
        let within =
            vec![(2, 0..4, Mode::Write), (0, 0..9, Mode::Read), (0, 3..5, Mode::Read), (0, 20..22, Mode::Read)];
        let whole = [(2, 0..4, Mode::Write), (0, 0..9, Mode::Read), (0, 20..22, Mode::Read)];
        assert_eq!(each_once(within), whole);
        let crossed = vec![(0, 0..6, Mode::Read), (0, 4..9, Mode::Discard)];
        let parts = [(0, 0..4, Mode::Read), (0, 4..6, Mode::ReadWrite), (0, 6..9, Mode::Discard)];
        assert_eq!(each_once(crossed), parts);
    }
}
