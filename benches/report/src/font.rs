//! The greatest width of a text, without a font at hand.
//!
//! An SVG names fonts, and each reader's browser takes the first one that it has. The tables here hold, for each
//! character, the widest advance among Helvetica, Arial and DejaVu Sans. The fonts that `system-ui` stands for (San
//! Francisco, Segoe UI, Cantarell, Noto Sans) are narrower, so a label that fits by these tables fits in all of them.

/// Advance widths of the printable ASCII characters from the blank on, in hundredths of the font's size.
const REGULAR: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, // blank to /
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 56, // 0 to ?
    102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79, // @ to O
    67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 40, 34, 40, 84, 56, // P to _
    50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, // ` to o
    64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84, // p to ~
];
/// The same for bold text: browsers take it for a weight of 600 where a font has no such weight.
const BOLD: [u8; 95] = [
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, // blank to /
    70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40, 84, 84, 84, 62, // 0 to ?
    100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100, 84, 86, // @ to O
    74, 86, 78, 73, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 56, // P to _
    50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, // ` to o
    72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84, // p to ~
];
/// Any other character: as wide as the widest letters of the alphabets of Europe, and as the signs of East Asia.
const OTHER: u8 = 117;

/// The reach of letters above and below the baseline, as shares of the font's size: `d` and `g` of DejaVu Sans.
pub const ASCENT: f64 = 0.76;
/// See [`ASCENT`].
pub const DESCENT: f64 = 0.24;

/// It stands for the rest of a text.
const ELLIPSIS: char = '\u{2026}';

/// A size and a weight of the figures' font.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Font {
    /// The size in pixels.
    pub size_px: f64,
    /// Whether its weight is above normal.
    pub is_bold: bool,
}

impl Font {
    /// The width that `text` does not exceed in any font of the figures' list.
    #[must_use]
    pub fn width_px(self, text: &str) -> f64 {
        text.chars().map(|letter| self.advance(letter)).sum::<f64>() * self.size_px / 100.0
    }

    /// The width of a letter in hundredths of the size.
    fn advance(self, letter: char) -> f64 {
        let advances = if self.is_bold { &BOLD } else { &REGULAR };
        let place = u32::from(letter).checked_sub(u32::from(' ')).and_then(|place| usize::try_from(place).ok());
        f64::from(place.and_then(|place| advances.get(place)).copied().unwrap_or(OTHER))
    }

    /// `text` where it fits into `width_px`, else as much of its beginning as does, and an ellipsis.
    #[must_use]
    pub fn shortened(self, text: &str, width_px: f64) -> String {
        // A place that was measured for this very text may come out a rounding error narrower.
        let width_px = width_px + 1e-6;
        if self.width_px(text) <= width_px {
            return text.to_owned();
        }
        let (mut advance, mut end) = (self.advance(ELLIPSIS), 0);
        let fits = |advance: f64| advance * self.size_px / 100.0 <= width_px;
        if !fits(advance) {
            return String::new();
        }
        for (at, letter) in text.char_indices() {
            advance += self.advance(letter);
            if !fits(advance) {
                break;
            }
            end = at + letter.len_utf8();
        }
        format!("{}{ELLIPSIS}", text[..end].trim_end())
    }

    /// `text` in lines of at most `width_px`, broken at blanks. A word that is longer than a line is shortened.
    #[must_use]
    pub fn wrapped(self, text: &str, width_px: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let word = self.shortened(word, width_px);
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match longer.filter(|line| self.width_px(line) <= width_px) {
                Some(line) => *lines.last_mut().expect("it has just been read") = line,
                None => lines.push(word),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font { size_px: 10.0, is_bold: false };
    const BOLD_FONT: Font = Font { size_px: 10.0, is_bold: true };

    #[test]
    fn widths_are_those_of_the_widest_font() {
        assert!((FONT.width_px("MW i") - 10.0 * (0.87 + 0.99 + 0.32 + 0.28)).abs() < 1e-9);
        assert!((BOLD_FONT.width_px("m~") - 10.0 * (1.05 + 0.84)).abs() < 1e-9);
        assert!((FONT.width_px("\u{4f60}") - 11.7).abs() < 1e-9, "a sign that no table holds");
        for letter in (' '..='~').map(String::from) {
            assert!(FONT.width_px(&letter) <= BOLD_FONT.width_px(&letter) + 0.2, "{letter}");
        }
    }

    #[test]
    fn texts_are_shortened_and_wrapped_to_a_width() {
        assert_eq!(FONT.shortened("short", 100.0), "short");
        let short = FONT.shortened("much longer than its place", 60.0);
        assert!(short.ends_with('\u{2026}') && FONT.width_px(&short) <= 60.0, "{short}");
        assert_eq!(FONT.shortened("anything", 3.0), "", "no room for the ellipsis");
        assert_eq!(FONT.shortened("one            two", 35.0), "one\u{2026}", "no blank before it");
        // With a look at the whole text for each letter that goes, this takes minutes.
        let long = "x".repeat(1 << 20);
        assert_eq!(FONT.shortened(&long, 60.0), FONT.shortened(&long[..100], 60.0));
        let lines = FONT.wrapped("one two  three unpronounceablylong", 60.0);
        assert_eq!(lines[..2], ["one two", "three"]);
        assert!(lines.iter().all(|line| FONT.width_px(line) <= 60.0), "{lines:?}");
        assert_eq!(FONT.wrapped(" ", 60.0), [""; 0]);
    }
}
