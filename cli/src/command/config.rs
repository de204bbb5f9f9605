//! `config get`, `config set`.

use crate::{
    args::Config,
    local::{folder::Folder, settings::Settings},
    output::{self, Format, Shape},
    problem::Problem,
};

pub(super) fn run(folder: &Folder, command: Config, format: Option<Format>) -> Result<(), Problem> {
    let mut settings = Settings::load(folder)?;
    let record = match command {
        Config::Get(get) => match get.key {
            Some(key) => settings.record_of(&key)?,
            None => settings.record(),
        },
        Config::Set(set) => {
            settings.set(&set.key, &set.value)?;
            settings.save(folder)?;
            settings.record()
        }
    };
    Ok(output::to_stdout(format, Shape::ONE).one(&record)?)
}
