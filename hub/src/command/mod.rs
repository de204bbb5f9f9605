//! What an operator does to a hub's data from the command line. Each command prints what it did
//! and what comes next; an error says what to do.

mod backup;
mod doctor;
mod upkeep;

use crate::{cli::Command, config::Config, probe};

/// True when all is well; a finding that needs somebody is printed and is false.
pub fn run(command: &Command, config: &Config) -> anyhow::Result<bool> {
    match command {
        Command::Backup(options) => backup::backup(config, options).map(|()| true),
        Command::Restore(options) => backup::restore(config, options).map(|()| true),
        Command::Doctor => Ok(doctor::doctor(config)),
        Command::Check(options) => upkeep::check(config, options),
        Command::Vacuum => upkeep::vacuum(config).map(|()| true),
        Command::Health => probe::ask(config).map(|answer| {
            println!("{answer}");
            true
        }),
    }
}

/// A size for people.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1_024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().expect("there are units");
    for next in units {
        if amount < 1_024.0 {
            break;
        }
        (amount, unit) = (amount / 1_024.0, next);
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_easy_to_read() {
        for (bytes, text) in [(0, "0 bytes"), (1_023, "1023 bytes"), (1_536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
