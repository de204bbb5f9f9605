//! `queuectl`: the queue from a terminal.

mod args;
mod backend;
mod command;
mod confirm;
mod hub;
mod local;
mod output;
mod problem;
#[cfg(test)]
mod settings_page;
mod span;
mod target;
mod top;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this process stays small and single-threaded.
    if std::env::args_os().nth(1).is_some_and(|word| word == "__supervise") {
        forge_agent::supervise::main();
    }
    match command::run(args::Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let text = problem.to_string();
            if !text.is_empty() {
                // Reasons are what jobs wrote: they do not speak to the terminal.
                text.lines().for_each(|line| eprintln!("{}", output::visible(line)));
            }
            problem.exit_code()
        }
    }
}
