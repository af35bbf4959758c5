//! The name of a node. Most names are short and stored in place: copying a name to separate memory, by a call, took a
//! fortieth of the instructions of a task.

/// The bytes of the longest name that needs no memory of its own.
const SHORT: usize = 32;

/// A name. Its memory is used again.
#[derive(Debug)]
pub(crate) struct Name {
    bytes: usize,
    /// Its bytes, if it is short.
    short: [u8; SHORT],
    /// A longer one.
    long: String,
}

impl Name {
    /// No name.
    pub const EMPTY: Name = Name { bytes: 0, short: [0; SHORT], long: String::new() };

    #[inline]
    pub fn set(&mut self, name: &str) {
        let (from, to) = (name.as_bytes(), &mut self.short);
        self.bytes = from.len();
        match from.len() {
            4..8 => copy_halves::<4>(from, to),
            8..16 => copy_halves::<8>(from, to),
            16..=SHORT => copy_halves::<16>(from, to),
            _ => self.set_other(name),
        }
    }

    /// A name of very few bytes, or one that is not short.
    #[cold]
    #[inline(never)]
    fn set_other(&mut self, name: &str) {
        match self.short.get_mut(..name.len()) {
            Some(short) => short.copy_from_slice(name.as_bytes()),
            None => {
                self.long.clear();
                self.long.push_str(name);
            }
        }
    }

    pub fn as_str(&self) -> &str {
        match self.short.get(..self.bytes) {
            Some(short) => std::str::from_utf8(short).expect("it is that of a text"),
            None => &self.long,
        }
    }
}

/// Copies the first bytes and the last ones, which overlap unless there are twice as many as `HALF`.
#[inline(always)]
fn copy_halves<const HALF: usize>(from: &[u8], to: &mut [u8; SHORT]) {
    let (Some(first), Some(last)) = (from.first_chunk::<HALF>(), from.last_chunk::<HALF>()) else { return };
    to[..HALF].copy_from_slice(first);
    to[from.len() - HALF..from.len()].copy_from_slice(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_kept() {
        let (text, mut name) = ("a name that is kept, as long as it is: ä".repeat(2), Name::EMPTY);
        // Behind each other, so that nothing is left of a longer one or a shorter one.
        for length in (0..=text.len()).chain((0..text.len()).rev()).filter(|length| text.is_char_boundary(*length)) {
            name.set(&text[..length]);
            assert_eq!(name.as_str(), &text[..length]);
        }
    }
}
