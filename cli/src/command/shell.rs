//! `completions` and `man`: what shells and readers of manuals want to know, made from the same
//! definition that reads the arguments.

use crate::{args::Arguments, output, problem::Problem};
use clap::{Args, CommandFactory as _};
use clap_mangen::roff::{Roff, roman};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Of which command; that of queuectl itself when left out
    command: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(wanted: &Completions) -> Result<(), Problem> {
    let mut script = Vec::new();
    clap_complete::generate(wanted.shell, &mut Arguments::command(), "queuectl", &mut script);
    Ok(io::stdout().lock().write_all(&script)?)
}

pub(super) fn man(wanted: &Man) -> Result<(), Problem> {
    let mut all = Arguments::command().disable_help_subcommand(true);
    all.build();
    match &wanted.dir {
        Some(dir) => {
            let written = write_pages(&all, dir).map_err(|error| {
                Problem::Storage(format!("manual pages cannot be written to {}: {error}", dir.display()))
            })?;
            Ok(output::say(&format!("Wrote {written} pages to {}", dir.display()))?)
        }
        None => {
            let mut command = &all;
            for word in &wanted.command {
                command = command.find_subcommand(word).ok_or_else(|| {
                    let words = wanted.command.join(" ");
                    Problem::usage(
                        "Unknown command",
                        format!("'{words}' is none; `queuectl --help` lists them"),
                    )
                })?;
            }
            Ok(io::stdout().lock().write_all(&page(command)?)?)
        }
    }
}

/// A page for this command and one for each below it. Answers how many.
fn write_pages(command: &clap::Command, dir: &Path) -> io::Result<usize> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(format!("{}.1", display_name(command))), page(command)?)?;
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.map(|command| write_pages(command, dir)).try_fold(1, |all, written| Ok(all + written?))
}

/// `queuectl-worker-start`.
fn display_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = clap_mangen::Man::new(command.clone())
        .title(display_name(command).to_uppercase())
        .source(format!("queuectl {}", env!("CARGO_PKG_VERSION")))
        .manual("queuectl");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.extend(after_help(&after).to_roff().into_bytes());
    Ok(page)
}

/// Examples and exit codes as sections of their own, each line as it was written.
fn after_help(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut verbatim = false;
    for line in text.lines() {
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        if verbatim != line.starts_with(' ') {
            verbatim = !verbatim;
            roff.control(if verbatim { "nf" } else { "fi" }, []);
        }
        match line.trim_end_matches(':') {
            heading if is_heading => roff.control("SH", [heading.to_uppercase().as_str()]),
            "" => roff.control("PP", []),
            _ => roff.text([roman(line.trim_start())]),
        };
    }
    if verbatim {
        roff.control("fi", []);
    }
    roff
}
