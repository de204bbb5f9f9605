//! Which jobs: the options that choose them.

use crate::span::Moment;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use forge_hub::clock::wall_ms;
use forge_shared::{JobType, QueueName, Status, View, WorkerId, request::JobFilter};
use serde::de::DeserializeOwned;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Which jobs")]
pub(crate) struct Which {
    /// Only jobs in this state
    #[arg(long, value_parser = words::<Status>(&["pending", "assigned", "running", "completed", "failed", "quarantined"]))]
    status: Option<Status>,
    /// Only jobs that wait for their time, wait to be tried again, are blocked, dead or were cancelled
    #[arg(long, value_parser = words::<View>(&["scheduled", "retrying", "blocked", "dead", "cancelled"]))]
    view: Option<View>,
    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<JobType>,
    /// Only jobs of this queue
    #[arg(long)]
    queue: Option<QueueName>,
    /// Only jobs that this worker has or had
    #[arg(long, value_name = "WORKER_ID")]
    worker: Option<WorkerId>,
    /// Only jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only jobs whose id begins with this, or whose type, tag or reason of failure contains it
    #[arg(short = 'q', long)]
    text: Option<String>,
    /// Created since this time, or in this span until now, such as 2h; with --worker, at work since
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Created before this time, or longer ago than this span; with --worker, begun before
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
}

impl Which {
    pub(crate) fn filter(&self) -> JobFilter {
        let now_ms = wall_ms();
        JobFilter {
            status: self.status,
            view: self.view,
            kind: self.kind.clone(),
            queue: self.queue.clone(),
            worker_id: self.worker.clone(),
            tag: self.tag.clone(),
            since: self.since.map(|since| since.in_the_past(now_ms)),
            until: self.until.map(|until| until.in_the_past(now_ms)),
            q: self.text.clone(),
        }
    }
}

/// A value of the wire that is one of a few words.
fn words<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    known: &[&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known.to_vec())
        .try_map(|word| serde_json::from_value::<T>(serde_json::Value::String(word)))
}
