//! Generates `docs/lifecycle.md` by running every state and input.

use crate::states::{ASKS, Ask, STATES, State, Who, caller};
use forge_engine::command::Refusal;
use forge_shared::Status;
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lifecycle.md");

const HEAD: &str =
    "<!-- Generated from the engine by `cargo test -p forge-engine`; edit the test, not this file. -->

# The life of a job

Every job goes through the same few states, whichever door it came in by. The rules live in one
file, `hub/engine/src/lifecycle.rs`; this page is what those rules answer when each input is tried
on each state, so it cannot disagree with them.

A job has one of six statuses. It waits as `pending`, is `assigned` to the worker that claimed it,
is `running` from that worker's first heartbeat, and ends as `completed`, `failed` (cancelled or
expired) or `quarantined` (set aside for a person to look at). A job that is to run later, now or
again is simply `pending` with a due time, `run_at`; nothing has to promote it when its time comes.

**Leases.** Every claim makes a new lease, and only the job's last lease counts. Whoever speaks for
an older one, or for another worker, is refused and changes nothing. A lease ends with a result, a
failure, by being given back, or by running out after 60 s without a heartbeat. A lease that has
only run out is still the last one until somebody else claims the job: its worker may go on where
it was, and a late result is taken.

**Two counters.** `attempt` says how many times the job was ever claimed. It only grows, and names
the attempt in logs and history. `attempts` is how much of `max_attempts` is spent. It is counted
when the job is claimed, given back when a worker releases or snoozes the job (at most 100 times in
a job's life), and set to 0 when a person retries it. A job whose worker vanished three times in a
row without a word is set aside even when attempts are left, so no job can go round for ever.

**Views.** Some questions are asked so often that they have names; each is derived from the above.

| view | which jobs |
|---|---|
| *scheduled* | pending, never tried, `run_at` ahead |
| *retrying* | pending, tried before, `run_at` ahead |
| *blocked* | waiting for something other than time |
| *dead* | quarantined |
| *cancelled* | failed with `fail_reason: \"cancelled\"` |

## From status to status

";

const LEGEND: &str = "
## Every state and every input

Reports, heartbeats, releases and progress are shown as they go for the holder of the job's last
lease; from anybody else each of them is *lease lost*, in every state. Inputs with the same answers
share a row.

| a cell says | which means |
|---|---|
| a status | the job's status from then on |
| stays | the status stays, something else about the job changes |
| - | accepted (200 or 204), and nothing changes: it was done before, or its time has not come |
| removed | the job is gone |
| *lease lost* | refused with 409: the caller does not hold the job's last lease, or it has ended |
| *wrong state* | refused with 409: this cannot be done to such a job |
| *passed over* | a claim takes another job; one past its `expires_at` is ended as expired on the way |
| *different result* | refused with 409: the job is completed, and the first result stands |
";

const GROUPS: [(&str, &[Status]); 4] = [
    ("Pending jobs", &[Status::Pending]),
    ("Jobs that a worker has", &[Status::Assigned, Status::Running]),
    ("Completed and failed jobs", &[Status::Completed, Status::Failed]),
    ("Quarantined jobs", &[Status::Quarantined]),
];

/// The status before, the status after (`None`: removed), and what the table says about it.
fn tried(state: &State, ask: &Ask) -> (Status, Option<Status>, String) {
    let mut job = (state.job)();
    let before = job.status;
    let words = match (ask.run)(&mut job, &caller(&(state.job)(), Who::Holder)) {
        Err(Refusal::LeaseLost) => "*lease lost*".into(),
        Err(Refusal::WrongState { .. }) if ask.key == "claim" => "*passed over*".into(),
        Err(Refusal::WrongState { .. }) => "*wrong state*".into(),
        Err(Refusal::DifferentResult) => "*different result*".into(),
        Err(other) => panic!("{} on {}: {other:?}", ask.key, state.key),
        Ok(effect) if effect.deleted => return (before, None, "removed".into()),
        Ok(effect) if !effect.changed => "-".into(),
        Ok(_) if job.status == before => "stays".into(),
        Ok(_) => match (&job.fail_reason, job.status) {
            (Some(reason), Status::Failed) => format!("**failed** `{reason}`"),
            _ => format!("**{}**", job.status.as_str()),
        },
    };
    (before, Some(job.status), words)
}

fn diagram() -> String {
    let mut edges: BTreeMap<(Status, Option<Status>), Vec<&str>> = BTreeMap::new();
    for ask in ASKS.iter().filter(|ask| ask.key != "other_result") {
        // A few words carry the diagram; the tables below have the rest.
        let words = ask.words.split([',', ':', '(']).next().unwrap_or_default();
        let label = words.split(" with ").next().unwrap_or_default().trim();
        for state in &STATES {
            let (before, after, _) = tried(state, ask);
            let labels = edges.entry((before, after)).or_default();
            if after != Some(before) && !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> pending: enqueue\n");
    for ((before, after), labels) in edges.iter().filter(|(_, labels)| !labels.is_empty()) {
        let after = after.map_or("[*]", Status::as_str);
        let labels = labels.join(", ").replace('`', "");
        let _ = writeln!(text, "    {} --> {after}: {labels}", before.as_str());
    }
    text + "```\n"
}

fn table(title: &str, statuses: &[Status]) -> String {
    let states: Vec<&State> =
        STATES.iter().filter(|state| statuses.contains(&(state.job)().status)).collect();
    let mut text = format!("\n### {title}\n\n| input |");
    for state in &states {
        let _ = write!(text, " {} |", state.words);
    }
    let _ = write!(text, "\n|---|{}\n", "---|".repeat(states.len()));
    let mut rows: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for ask in &ASKS {
        let cells: Vec<String> = states.iter().map(|state| tried(state, ask).2).collect();
        match rows.iter_mut().find(|(_, other)| *other == cells) {
            Some((asks, _)) => asks.push(ask.words),
            None => rows.push((vec![ask.words], cells)),
        }
    }
    for (asks, cells) in rows {
        let _ = writeln!(text, "| {} | {} |", asks.join("<br>"), cells.join(" | "));
    }
    text
}

fn page() -> String {
    let tables: String = GROUPS.iter().map(|(title, statuses)| table(title, statuses)).collect();
    format!("{HEAD}{}{LEGEND}{tables}", diagram())
}

#[test]
fn the_page_about_the_lifecycle_is_up_to_date() {
    let (path, page) = (Path::new(PAGE), page());
    if fs::read_to_string(path).is_ok_and(|old| old == page) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, page).unwrap();
    panic!(
        "docs/lifecycle.md was out of date and has been rewritten: run the tests again and commit the file"
    );
}
