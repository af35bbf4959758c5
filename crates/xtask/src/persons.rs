//! Words for persons in prose and names. The subject of a sentence is a thread, a copy, a stream or a caller: a word
//! for an unnamed person leaves open which of them is meant.

/// The words, in halves, so that this file does not find itself.
const PERSONS: [&str; 9] = [
    concat!("who", "ever"),
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("any", "body"),
    concat!("every", "body"),
    concat!("h", "e"),
    concat!("h", "is"),
    concat!("h", "im"),
    concat!("hims", "elf"),
];

/// Every such word in comments, strings and names of a file, with its line.
pub fn found(text: &str) -> Vec<(usize, String)> {
    let in_line = |(index, line): (usize, &str)| {
        let words = line.split(|letter: char| !letter.is_ascii_alphabetic());
        let persons = words.filter(|word| PERSONS.contains(&word.to_ascii_lowercase().as_str()));
        let told = |word| format!("`{word}`: name the thread, the copy, the stream or the caller that is meant");
        persons.map(|word| (index + 1, told(word))).collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(in_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_persons_are_found_in_comments_strings_and_names() {
        for word in PERSONS {
            for line in [
                format!("// waits for {word}."),
                format!("log::warn!(\"{word} waits\");"),
                format!("fn a_copy_holds_{word}_up() {{"),
                word.to_uppercase(),
            ] {
                let found = found(&format!("\n{line}\n"));
                assert!(matches!(&found[..], [(2, text)] if text.contains("caller")), "{line}: {found:?}");
            }
        }
    }

    #[test]
    fn parts_of_other_words_are_none() {
        assert_eq!(found("the cache of this thread; a threshold; antibodies\n"), []);
    }
}
