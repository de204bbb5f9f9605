//! Reads a Dockerfile: enough of its language for those of this project, and no more. What it
//! does not know is an error, so that nothing is overlooked.

use std::collections::BTreeMap;

/// A line with its continuations: the instruction, and the rest as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub name: String,
    pub rest: String,
}

impl Instruction {
    /// `["a", "b"]` as words.
    pub fn exec_form(&self) -> Option<Vec<String>> {
        let list = &self.rest[self.rest.find('[')?..];
        serde_json::from_str(list).ok()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The image that it begins with.
    pub base: String,
    pub name: Option<String>,
    pub instructions: Vec<Instruction>,
}

impl Stage {
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Instruction> {
        self.instructions.iter().filter(move |instruction| instruction.name == name)
    }

    /// The last one counts.
    pub fn last(&self, name: &str) -> Option<&Instruction> {
        self.instructions.iter().rfind(|instruction| instruction.name == name)
    }

    pub fn env(&self) -> BTreeMap<String, String> {
        let words = self.all("ENV").flat_map(|env| env.rest.split_whitespace());
        words
            .map(|word| {
                let (name, value) = word.split_once('=').expect("ENV is NAME=value");
                (name.to_owned(), value.to_owned())
            })
            .collect()
    }
}

/// A copy from one place to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    pub from_stage: Option<String>,
    pub sources: Vec<String>,
    pub to: String,
}

pub fn copy(instruction: &Instruction) -> Copy {
    let (options, mut paths): (Vec<&str>, Vec<&str>) =
        instruction.rest.split_whitespace().partition(|word| word.starts_with("--"));
    let from_stage = options.iter().find_map(|option| option.strip_prefix("--from=")).map(str::to_owned);
    let unknown = options.iter().find(|option| !option.starts_with("--from="));
    assert_eq!(unknown, None, "COPY has an option that is not known here");
    let to = paths.pop().expect("COPY has a destination").to_owned();
    Copy { from_stage, sources: paths.into_iter().map(str::to_owned).collect(), to }
}

const KNOWN: [&str; 11] = [
    "ARG",
    "COPY",
    "ENV",
    "EXPOSE",
    "ENTRYPOINT",
    "HEALTHCHECK",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
    "VOLUME",
];

pub fn parse(text: &str) -> Result<Vec<Stage>, String> {
    let mut stages: Vec<Stage> = Vec::new();
    for line in joined(text) {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let (name, rest) = (name.to_uppercase(), rest.trim().to_owned());
        if name == "FROM" {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let stage = match words[..] {
                [base] => Stage { base: base.to_owned(), name: None, instructions: Vec::new() },
                [base, _as, name] if _as.eq_ignore_ascii_case("as") => {
                    Stage { base: base.to_owned(), name: Some(name.to_owned()), instructions: Vec::new() }
                }
                _ => return Err(format!("FROM {rest}")),
            };
            stages.push(stage);
        } else if !KNOWN.contains(&name.as_str()) {
            return Err(format!("{name} is not known here"));
        } else {
            let stage = stages.last_mut().ok_or_else(|| format!("{name} before FROM"))?;
            stage.instructions.push(Instruction { name, rest });
        }
    }
    if stages.is_empty() { Err("there is no FROM".to_owned()) } else { Ok(stages) }
}

/// Lines without comments, with continued ones as one.
fn joined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_suffix('\\') {
            Some(part) => open += &format!("{} ", part.trim_end()),
            None => lines.push(std::mem::take(&mut open) + line),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_continuations_and_comments_are_told_apart() {
        let stages = parse(
            "# a\nFROM a:1 AS b\nRUN one \\\n  && two\n\nFROM c:2\nCOPY --from=b /x /y /z/\nENV A=1 B=2\n",
        )
        .unwrap();
        assert_eq!((stages[0].name.as_deref(), stages[1].base.as_str()), (Some("b"), "c:2"));
        assert_eq!(stages[0].instructions[0].rest, "one && two");
        let Copy { from_stage, sources, to } = copy(&stages[1].instructions[0]);
        assert_eq!((from_stage.as_deref(), sources.len(), to.as_str()), (Some("b"), 2, "/z/"));
        assert_eq!(stages[1].env()["B"], "2");
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for bad in ["RUN x", "", "FROM a\nADD http://x /", "FROM a b c d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
