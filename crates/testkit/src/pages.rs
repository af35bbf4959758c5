//! The code in Markdown pages, which tests compile and run.

/// All blocks of a page in this language, without their fences.
pub fn blocks<'page>(page: &'page str, language: &str) -> Vec<&'page str> {
    let begin = format!("\n```{language}\n");
    page.split(begin.as_str()).skip(1).map(|rest| rest.split_once("\n```\n").expect("a block ends").0).collect()
}

/// The first of them that holds a word.
pub fn block<'page>(page: &'page str, language: &str, word: &str) -> &'page str {
    let its = blocks(page, language).into_iter().find(|block| block.contains(word));
    its.unwrap_or_else(|| panic!("no block of {language} with `{word}`"))
}
