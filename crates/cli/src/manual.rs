//! `overtake manual`: the man pages, and the completions of three shells, from the definition of the command line.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _, ValueHint};
use clap_complete::aot::{Bash, Fish, Generator, Zsh};
use clap_mangen::Man;
use console::failure::{Failure, Result};
use console::output;

use crate::args::Arguments;

const NAME: &str = "overtake";

/// Arguments of `manual`.
#[derive(Debug, Args)]
pub struct ManualArguments {
    /// The folder that has `share`, such as ~/.local or /usr/local.
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

/// Writes each file into its place below the folder, and prints its path.
pub fn run(arguments: &ManualArguments) -> Result<()> {
    for (below, text) in files() {
        let file = arguments.folder.join(below);
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| Failure::File(folder.to_owned(), error))?;
        output::write_file(&file, &text)?;
        output::print(&format!("{}\n", file.display()))?;
    }
    Ok(())
}

/// The texts of all files, by the places where man and the shells look for them.
fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    add_pages(&command, &mut files);
    let completions: [(&str, &dyn Fn() -> String); 3] = [
        ("bash-completion/completions/overtake", &|| completion(Bash)),
        ("zsh/site-functions/_overtake", &|| completion(Zsh)),
        ("fish/vendor_completions.d/overtake.fish", &|| completion(Fish)),
    ];
    files.extend(completions.map(|(place, text)| (format!("share/{place}"), text())));
    files
}

/// The page of a command, and those of its commands.
fn add_pages(command: &Command, files: &mut Vec<(String, String)>) {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).expect("a vector takes every text");
    files.push((format!("share/man/man1/{}", page.get_filename()), with_examples(&into_text(text))));
    command.get_subcommands().filter(|command| !command.is_hide_set()).for_each(|command| add_pages(command, files));
}

/// The page with its indented lines left as they are: they are examples.
fn with_examples(page: &str) -> String {
    let (mut text, mut is_example) = (String::with_capacity(page.len() + 100), false);
    for line in page.lines() {
        if line.starts_with("  ") != is_example {
            is_example = !is_example;
            text.push_str(if is_example { ".nf\n" } else { ".fi\n" });
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn completion(shell: impl Generator) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut text);
    into_text(text)
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("help is text")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::process::{self, Stdio};

    use super::*;

    fn text_of(place: &str) -> String {
        files().into_iter().find(|(below, _)| below == place).expect("it is there").1
    }

    /// Each command, as it is called, with its long options.
    fn commands() -> BTreeMap<String, Vec<String>> {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let mut found = BTreeMap::new();
        add_commands(&command, NAME, &mut found);
        found
    }

    fn add_commands(command: &Command, called: &str, found: &mut BTreeMap<String, Vec<String>>) {
        assert!(!command.get_arguments().any(clap::Arg::is_hide_set), "completions offer hidden options too: {called}");
        let options = command.get_arguments().filter_map(clap::Arg::get_long);
        found.insert(called.to_owned(), options.map(|option| format!("--{option}")).collect());
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            add_commands(inner, &format!("{called} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn there_is_a_page_for_each_command_and_it_names_every_option() {
        let found = commands();
        assert!(found["overtake run"].contains(&"--compare".to_owned()) && found.len() > 20, "{found:?}");
        let pages: BTreeMap<String, String> =
            files().into_iter().filter(|(place, _)| place.contains("/man/")).collect();
        for (called, options) in &found {
            let page = &pages[&format!("share/man/man1/{}.1", called.replace(' ', "-"))].replace("\\-", "-");
            for option in options {
                assert!(page.contains(&format!("\\fB{option}\\fR")), "{called}: {option} is not in its page:\n{page}");
            }
        }
        assert_eq!(pages.len(), found.len(), "a page without a command");
        for called in found.keys().filter(|called| called.split(' ').count() == 2) {
            let shown = format!("{}(1)", called.replace(' ', "-"));
            let first = pages["share/man/man1/overtake.1"].replace("\\-", "-");
            assert!(first.contains(&shown), "{shown} is not in the page of the command:\n{first}");
        }
    }

    /// A program that does not complain of a locale that is not installed, and runs no script of the user's.
    fn in_plain_words(program: &str) -> process::Command {
        let mut command = process::Command::new(program);
        command.env("LC_ALL", "C.UTF-8").env_remove("BASH_ENV");
        command
    }

    /// What bash offers for the last of these words.
    fn offered(script: &Path, words: &[&str]) -> String {
        let (last, words) = (words.last().unwrap(), words.join("' '"));
        let asked = format!(
            "set -e; source '{}'; COMP_WORDS=('{words}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n\
             _overtake overtake '{last}' \"${{COMP_WORDS[COMP_CWORD - 1]}}\" || true; echo \"${{COMPREPLY[*]}}\"\n",
            script.display()
        );
        let output = in_plain_words("bash").args(["--norc", "-c", &asked]).output().expect("bash");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    #[test]
    fn bash_completes_commands_options_and_values() {
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("overtake");
        fs::write(&script, completion(Bash)).unwrap();
        let offered = |words: &[&str]| offered(&script, words);
        assert_eq!(offered(&["overtake", "ru"]), "run");
        assert_eq!(offered(&["overtake", "run", "--comp"]), "--compare");
        assert_eq!(offered(&["overtake", "run", "--deployment", "sh"]), "shadow");
        assert_eq!(offered(&["overtake", "dag", "pl"]), "plan");
        for (called, options) in commands() {
            let words: Vec<&str> = called.split(' ').chain(["--"]).collect();
            let offered = offered(&words);
            for option in options {
                assert!(offered.split(' ').any(|word| word == option), "{called}: {option} is not in {offered}");
            }
        }
    }

    /// Each program reads the text, and says nothing against it. One that is not here is left out.
    #[test]
    #[expect(clippy::print_stderr, reason = "the log of a test")]
    fn the_texts_are_accepted_by_their_readers() {
        let readers: [(&str, &[&str], &str); 4] = [
            ("bash", &["-n"], "bash-completion/completions/overtake"),
            ("zsh", &["-n"], "zsh/site-functions/_overtake"),
            ("fish", &["--no-execute"], "fish/vendor_completions.d/overtake.fish"),
            ("groff", &["-man", "-Tutf8", "-z"], "man/man1/overtake-run.1"),
        ];
        for (program, arguments, place) in readers {
            let mut reader = in_plain_words(program);
            reader.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let Ok(mut reader) = reader.spawn() else {
                eprintln!("left out: there is no {program}");
                continue;
            };
            reader.stdin.take().unwrap().write_all(text_of(&format!("share/{place}")).as_bytes()).unwrap();
            let output = reader.wait_with_output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{program}: {output:?}");
        }
    }
}
