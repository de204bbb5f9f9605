//! Examples in a Markdown page: a section for each task, with one block for each language and the
//! output that all of them have in common.

use std::collections::BTreeMap;

/// What stands for any text within a line of output.
pub const ANYTHING: char = '…';

/// One task of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub title: String,
    pub code: String,
    pub prints: String,
}

/// The page's examples in one language, each with the lines that all of them begin with: those of
/// the first section. A task that lacks this language or its output is a defect of the page.
pub fn in_language(page: &str, language: &str) -> Vec<Example> {
    let sections: Vec<(String, BTreeMap<String, String>)> =
        sections(page).into_iter().filter(|(_, blocks)| !blocks.is_empty()).collect();
    let (first, tasks) = sections.split_first().expect("a page with examples");
    let beginning = first.1.get(language).expect("lines that every example begins with");
    let example = |(title, blocks): &(String, BTreeMap<String, String>)| {
        let block = |name: &str| {
            blocks
                .get(name)
                .filter(|text| !text.trim().is_empty())
                .unwrap_or_else(|| panic!("'{title}' lacks {name}"))
        };
        let code = format!("{beginning}\n{}", block(language));
        Example { title: title.clone(), code, prints: block("text").clone() }
    };
    tasks.iter().map(example).collect()
}

/// Titles, and the fenced blocks below each by the word after the fence.
fn sections(page: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut sections: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (Some(_), Some(_)) => {
                let (word, text) = open.take().expect("it is open");
                let (title, blocks) = sections.last_mut().expect("a block is below a title");
                let taken = !word.is_empty() && blocks.insert(word.clone(), text).is_some();
                assert!(!taken, "'{title}' has two blocks of {word}");
            }
            (None, Some(word)) => open = Some((word.to_owned(), String::new())),
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    sections.push((title.to_owned(), BTreeMap::new()));
                }
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    sections
}

/// Whether a program printed what the page says, line by line.
pub fn prints_as_told(printed: &str, told: &str) -> bool {
    let (printed, told): (Vec<_>, Vec<_>) = (printed.lines().collect(), told.lines().collect());
    printed.len() == told.len() && printed.iter().zip(&told).all(|(printed, told)| line_fits(printed, told))
}

fn line_fits(printed: &str, told: &str) -> bool {
    let Some((before, after)) = told.split_once(ANYTHING) else { return printed == told };
    let Some(rest) = printed.strip_prefix(before) else { return false };
    // Something stands for the sign, and what follows may come at any later place.
    rest.char_indices()
        .skip(1)
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| at > 0 && line_fits(&rest[at..], after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n## Before\n\n```sh\nbegin\n```\n\n## A task\n\ntext\n\n```sh\nls\n```\n\n```text\n…\n```\n";

    #[test]
    fn a_task_is_its_code_after_the_common_lines() {
        let examples = in_language(PAGE, "sh");
        assert_eq!(examples.len(), 1);
        assert_eq!(examples[0].title, "A task");
        assert_eq!((examples[0].code.as_str(), examples[0].prints.as_str()), ("begin\n\nls\n", "…\n"));
    }

    #[test]
    #[should_panic(expected = "'A task' lacks text")]
    fn a_task_that_prints_nothing_is_a_defect() {
        in_language(&PAGE.replace("…\n", ""), "sh");
    }

    #[test]
    #[should_panic(expected = "'A task' lacks sh")]
    fn a_task_in_fewer_languages_is_a_defect() {
        in_language(&PAGE.replace("```sh\nls", "```bash\nls"), "sh");
    }

    #[test]
    fn output_is_compared_line_by_line() {
        for (printed, told, fits) in [
            ("a\nb\n", "a\nb\n", true),
            ("a\n", "a\nb\n", false),
            ("a\nb\nc\n", "a\nb\n", false),
            ("id-17 pending\n", "… pending\n", true),
            ("id-17 failed\n", "… pending\n", false),
            (" pending\n", "… pending\n", false),
            ("1 of 2 in 3 s\n", "… of … in … s\n", true),
            ("1 of 2 in 3\n", "… of … in … s\n", false),
            ("mean 0.5\n", "mean …\n", true),
            ("mean \n", "mean …\n", false),
        ] {
            assert_eq!(prints_as_told(printed, told), fits, "{printed:?} as {told:?}");
        }
    }
}
