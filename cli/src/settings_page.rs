//! `docs/settings.md` is what the programs say of themselves.

use clap::{Arg, Command, CommandFactory as _};
use std::{fmt::Write as _, path::Path};

const BEGINNING: &str = "# Settings

Generated from the programs by a test, so this is what they know. A flag is above its environment variable, and that above its
default; the agent also reads a TOML file, which is above defaults only. `--help` of each program says the same.
";

fn page() -> String {
    let mut page = BEGINNING.to_owned();
    describe(&mut page, &forge_hub::cli::Cli::command(), "forge-hub", &[]);
    describe(&mut page, &forge_agent::config::Config::command(), "forge-agent", &[]);
    describe(&mut page, &crate::args::Arguments::command(), "queuectl", &[]);
    page += "\nEvery command has `--help`. What new jobs of `queuectl` begin with is in `config.json` of their folder: [queuectl.md](queuectl.md).\n";
    page
}

/// The flags of a command, then those of its own commands. `known` was described above it.
fn describe(page: &mut String, command: &Command, path: &str, known: &[&str]) {
    let is_ours = |argument: &&Arg| {
        let id = argument.get_id().as_str();
        let is_flag = argument.get_long().is_some() && !["help", "version"].contains(&id);
        is_flag && !argument.is_hide_set() && !known.contains(&id)
    };
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_ours).collect();
    if !arguments.is_empty() {
        let heading = if path.contains(' ') { "###" } else { "##" };
        let about =
            command.get_long_about().or(command.get_about()).map(|about| one_line(&about.to_string()));
        let about = about.unwrap_or_default();
        let _ = write!(page, "\n{heading} {path}\n\n{}.\n", about.trim_end_matches('.'));
        let has_environment = arguments.iter().any(|argument| argument.get_env().is_some());
        *page += if has_environment {
            "\n| flag | environment | default | meaning |\n|---|---|---|---|\n"
        } else {
            "\n| flag | default | meaning |\n|---|---|---|\n"
        };
        for argument in &arguments {
            *page += &row(argument, has_environment);
        }
    }
    let known: Vec<&str> =
        known.iter().copied().chain(arguments.iter().map(|argument| argument.get_id().as_str())).collect();
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        describe(page, below, &format!("{path} {}", below.get_name()), &known);
    }
}

fn row(argument: &Arg, has_environment: bool) -> String {
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let flag = format!("{short}`--{}`", argument.get_long().unwrap_or_default());
    let default = match argument.get_default_values() {
        [only] if !only.is_empty() && !argument.is_hide_default_value_set() => {
            format!("`{}`", only.to_string_lossy())
        }
        _ => String::new(),
    };
    let mut meaning = argument
        .get_long_help()
        .or(argument.get_help())
        .map(|help| one_line(&help.to_string()))
        .unwrap_or_default();
    let choices: Vec<String> = match argument.get_action().takes_values() {
        true => {
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect()
        }
        false => Vec::new(),
    };
    // Whether true or false needs no list.
    if !choices.is_empty() && choices != ["`true`", "`false`"] {
        meaning = format!("{}: {}", meaning.trim_end_matches('.'), choices.join(", "));
    }
    let environment = match (has_environment, argument.get_env()) {
        (false, _) => String::new(),
        (true, Some(name)) => format!(" `{}` |", name.to_string_lossy()),
        (true, None) => " |".to_owned(),
    };
    format!("| {flag} |{environment} {default} | {} |\n", meaning.trim_end_matches('.').replace('|', "\\|"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_settings_in_docs_are_up_to_date() {
    let generated = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed != generated {
        std::fs::write(&path, generated).unwrap();
        panic!("docs/settings.md was out of date and is written anew: commit it");
    }
}

#[test]
fn every_setting_of_every_program_is_there() {
    let page = page();
    for command in [forge_hub::cli::Cli::command(), forge_agent::config::Config::command()] {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            if let (Some(flag), Some(name)) = (argument.get_long(), argument.get_env()) {
                let row = format!("| `--{flag}` | `{}` |", name.to_string_lossy());
                assert!(page.contains(&row), "{row}");
            }
        }
    }
    assert!(!page.contains("HUB_MODE"), "what is hidden stays hidden");
}
