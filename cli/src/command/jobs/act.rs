//! What is done to jobs: to those that are named one by one, or to all that a filter finds.

use super::{super::interruptible, filter::Which};
use crate::{
    backend::{Backend, Deed},
    confirm::Caution,
    output::{self, Format, Record, Shape, jobs},
    problem::Problem,
    span::Moment,
};
use clap::Args;
use forge_hub::clock::wall_ms;
use forge_shared::{
    QueueName,
    request::{Bulk, BulkAction, JobFilter, PatchJob},
    response::BulkAnswer,
};

const ACTED: Shape = Shape { fields: &["id", "status"], columns: &["id", "status"] };
/// A dry run of named jobs looks at each.
const WOULD: &str = "would";

#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// These jobs; without any, those that the filter below finds
    #[arg(value_name = "JOB_ID")]
    ids: Vec<String>,
    /// All jobs for which it makes sense
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
pub(crate) struct These {
    // First: what comes after a group of options is shown under its heading.
    #[command(flatten)]
    caution: Caution,
    #[command(flatten)]
    chosen: Chosen,
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The highest comes first; from -32768 to 32767
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    priority: Option<i16>,
    /// Not before this time, or this span from now
    #[arg(long, value_name = "TIME")]
    run_at: Option<Moment>,
    /// Into another queue
    #[arg(long, value_name = "QUEUE")]
    to_queue: Option<QueueName>,
    #[command(flatten)]
    caution: Caution,
    #[command(flatten)]
    chosen: Chosen,
}

impl These {
    pub(super) async fn act(
        self,
        backend: &dyn Backend,
        word: &str,
        deed: Deed,
        action: BulkAction,
        format: Option<Format>,
    ) -> Result<(), Problem> {
        let all = Bulk { action, filter: JobFilter::default(), priority: None, dry_run: false };
        // Whoever names a job to be tried again means it; what is lost is asked about.
        let ask_for_named = matches!(deed, Deed::Cancel | Deed::Kill | Deed::Delete);
        Act { word, deed, all, caution: self.caution, ask_for_named }.on(backend, self.chosen, format).await
    }
}

impl Change {
    pub(super) async fn act(self, backend: &dyn Backend, format: Option<Format>) -> Result<(), Problem> {
        let run_at = self.run_at.map(|at| at.in_the_future(wall_ms()));
        if self.chosen.ids.is_empty() && (run_at.is_some() || self.to_queue.is_some()) {
            return Err(Problem::usage(
                "Only the priority can be changed for all that a filter finds",
                "name the jobs to change their time or queue",
            ));
        }
        if self.priority.is_none() && run_at.is_none() && self.to_queue.is_none() {
            return Err(Problem::usage("Nothing to change", "add --priority, --run-at or --to-queue"));
        }
        let all = Bulk {
            action: BulkAction::SetPriority,
            filter: JobFilter::default(),
            priority: self.priority,
            dry_run: false,
        };
        let deed = Deed::Change(PatchJob { priority: self.priority, run_at, queue: self.to_queue });
        let act = Act { word: "Change", deed, all, caution: self.caution, ask_for_named: false };
        act.on(backend, self.chosen, format).await
    }
}

struct Act<'a> {
    word: &'a str,
    deed: Deed,
    all: Bulk,
    caution: Caution,
    ask_for_named: bool,
}

impl Act<'_> {
    async fn on(self, backend: &dyn Backend, chosen: Chosen, format: Option<Format>) -> Result<(), Problem> {
        let filter = chosen.which.filter();
        let is_filtered = filter != JobFilter::default();
        match (chosen.ids.is_empty(), is_filtered || chosen.all) {
            (false, true) => {
                Err(Problem::usage("Either name jobs or filter them", "both at once is not possible"))
            }
            (true, false) => Err(Problem::usage(
                "No job is named",
                "name jobs, or choose them by --status, --type, --queue and the like; --all is all of them",
            )),
            (false, false) => self.on_named(backend, &chosen.ids, format).await,
            (true, true) => self.on_all(backend, filter, format).await,
        }
    }

    async fn on_named(
        &self,
        backend: &dyn Backend,
        ids: &[String],
        format: Option<Format>,
    ) -> Result<(), Problem> {
        if self.caution.dry_run {
            return self.look_at_named(backend, ids, format).await;
        }
        if self.ask_for_named {
            self.caution.ask(&format!("{} {}", self.word, counted(ids)))?;
        }
        let mut output = output::to_stdout(format, ACTED);
        let mut first_problem = None;
        for id in ids {
            match backend.act(id, &self.deed).await {
                Ok(status) => {
                    let status = status.map_or("deleted", forge_shared::Status::as_str);
                    let record = Record(vec![("id", id.as_str().into()), ("status", status.into())]);
                    match ids {
                        [_] => output.one(&record)?,
                        _ => output.item(&record)?,
                    }
                }
                // The others are not to blame, and each is told about.
                Err(problem @ Problem::Refused(_)) if ids.len() > 1 => {
                    eprintln!("{problem}");
                    first_problem.get_or_insert(Problem::Refused(String::new()));
                }
                Err(problem) => return Err(problem),
            }
        }
        if ids.len() > 1 {
            output.end()?;
        }
        first_problem.map_or(Ok(()), Err)
    }

    async fn look_at_named(
        &self,
        backend: &dyn Backend,
        ids: &[String],
        format: Option<Format>,
    ) -> Result<(), Problem> {
        let mut records = Vec::new();
        for id in ids {
            let job = backend.job(id).await?.ok_or_else(|| crate::backend::no_such_job(id))?;
            records.push(Record(vec![
                ("id", id.as_str().into()),
                ("status", job.status.as_str().into()),
                (WOULD, self.word.to_lowercase().into()),
            ]));
        }
        let shape = Shape { fields: &["id", "status", WOULD], columns: &["id", "status", WOULD] };
        Ok(output::print_all(format, shape, records)?)
    }

    async fn on_all(
        &self,
        backend: &dyn Backend,
        filter: JobFilter,
        format: Option<Format>,
    ) -> Result<(), Problem> {
        let mut bulk = Bulk { filter, dry_run: true, ..self.all.clone() };
        let found = backend.act_on_all(&bulk).await?;
        if self.caution.dry_run || found.matched == 0 {
            return report(&found, true, format);
        }
        self.caution.ask(&format!("{} {}{}", self.word, jobs(found.matched), such_as(&found)))?;
        bulk.dry_run = false;
        let done = interruptible(backend.act_on_all(&bulk)).await.map_err(|problem| match problem {
            Problem::Interrupted(_) => Problem::Interrupted(
                "Interrupted\n  what is changed stays changed, and a hub goes on with the rest".to_owned(),
            ),
            other => other,
        })?;
        report(&done, false, format)
    }
}

fn counted(ids: &[String]) -> String {
    match ids {
        [id] => id.clone(),
        ids => jobs(ids.len() as u64),
    }
}

fn such_as(found: &BulkAnswer) -> String {
    let sample: Vec<&str> = found.sample.iter().flatten().take(3).map(|id| id.as_str()).collect();
    let more = if found.matched > sample.len() as u64 { ", …" } else { "" };
    if sample.is_empty() { String::new() } else { format!(" ({}{more})", sample.join(", ")) }
}

fn report(answer: &BulkAnswer, dry_run: bool, format: Option<Format>) -> Result<(), Problem> {
    if output::is_for_people(format) {
        let line = match (dry_run, answer.matched) {
            (_, 0) => "No job matches".to_owned(),
            (true, 1) => format!("1 job matches{}", such_as(answer)),
            (true, n) => {
                format!("{n} jobs match{}; those in a fitting state would be changed", such_as(answer))
            }
            (false, n) => {
                let skipped = match answer.skipped {
                    0 => String::new(),
                    n => format!("; {n} in a state that it does not fit"),
                };
                format!("{} of {} changed{skipped}", answer.changed, jobs(n))
            }
        };
        return Ok(output::say(&line)?);
    }
    let sample = answer.sample.as_ref().map(|ids| ids.iter().map(|id| id.as_str()).collect::<Vec<_>>());
    let record = Record(vec![
        ("dry_run", dry_run.into()),
        ("matched", answer.matched.into()),
        ("changed", answer.changed.into()),
        ("skipped", answer.skipped.into()),
        ("sample", sample.into()),
    ]);
    Ok(output::print_one(format, &record)?)
}
