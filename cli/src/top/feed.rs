//! What the screen shows, fetched from the hub: again whenever something happened there, and at least
//! every few seconds; never more often than the hub can bear.

use super::model::{Effect, Update, View, Wanted};
use crate::{
    backend::{Backend as _, Deed},
    hub::{Events, Happened, Hub},
    problem::Problem,
};
use forge_shared::{
    Job, QueueName, Status, WorkerId, fleet::Node, overview::Overview, request::JobFilter, response::Worker,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// Something may have changed that no event tells: a job became due, a machine fell silent.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// However much happens.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// An answer that takes long is asked for less often: it may take one part in so many of the time.
const SHARE: u32 = 10;
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(30);
/// A screen that is this old says so, rather than to wait on.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const RECONNECT: Duration = Duration::from_secs(2);
/// Jobs in a list.
const JOBS_MAX: usize = 200;

pub(super) struct Feed {
    hub: Hub,
    updates: mpsc::Sender<Update>,
    changed: Arc<Notify>,
    fleet_changed: Arc<Notify>,
    log: Option<Task>,
    tasks: Vec<Task>,
}

/// Ends with whoever started it.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Feed {
    /// From now on updates come.
    pub(super) fn start(hub: &Hub, updates: mpsc::Sender<Update>) -> Self {
        let (changed, fleet_changed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let watching = watch(hub.clone(), updates.clone(), Arc::clone(&changed));
        let machines = follow_machines(hub.clone(), updates.clone(), Arc::clone(&fleet_changed));
        let tasks = vec![Task(tokio::spawn(watching)), Task(tokio::spawn(machines))];
        let mut feed = Self { hub: hub.clone(), updates, changed, fleet_changed, log: None, tasks };
        feed.list(Wanted::default());
        feed
    }

    pub(super) fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Quit => {}
            Effect::Refresh => {
                self.changed.notify_one();
                self.fleet_changed.notify_one();
            }
            Effect::List(wanted) => self.list(wanted),
            Effect::OpenLog(id) => {
                self.log = Some(Task(tokio::spawn(follow_log(self.hub.clone(), id, self.updates.clone()))));
            }
            Effect::CloseLog => self.log = None,
            Effect::Cancel(id) => self.change(id, Deed::Cancel),
            Effect::Retry(id) => self.change(id, Deed::Retry),
        }
    }

    /// What was wanted before is not asked for any more.
    fn list(&mut self, wanted: Wanted) {
        let looking = look(self.hub.clone(), wanted, self.updates.clone(), Arc::clone(&self.changed));
        self.tasks.truncate(2);
        self.tasks.push(Task(tokio::spawn(looking)));
    }

    fn change(&self, id: String, deed: Deed) {
        let (hub, updates, changed) = (self.hub.clone(), self.updates.clone(), Arc::clone(&self.changed));
        // Not ended with the screen: what was asked for is done.
        tokio::spawn(async move {
            let notice = match hub.act(&id, &deed).await {
                Ok(Some(Status::Running)) => format!("{id} runs, and its worker is told to stop it"),
                Ok(_) if matches!(deed, Deed::Cancel) => format!("{id} is cancelled"),
                Ok(_) => format!("{id} is tried again"),
                Err(problem) => one_line(&problem),
            };
            let _ = updates.send(Update::Notice(notice)).await;
            changed.notify_one();
        });
    }
}

/// Calls for a look whenever the hub tells of something.
async fn watch(hub: Hub, updates: mpsc::Sender<Update>, changed: Arc<Notify>) {
    let topics = || vec![("topics".to_owned(), "jobs,workers".to_owned())];
    let mut events = Events::new(&hub, topics(), None);
    loop {
        let update = match events.next().await {
            Ok(Happened::Lost { why }) => Update::Trouble(why),
            Ok(Happened::Place { .. }) => Update::Heard,
            Ok(_) => {
                changed.notify_one();
                continue;
            }
            Err(problem) => {
                sleep(RECONNECT).await;
                events = Events::new(&hub, topics(), None);
                Update::Trouble(one_line(&problem))
            }
        };
        if updates.send(update).await.is_err() {
            return;
        }
    }
}

/// Overview and jobs.
async fn look(hub: Hub, wanted: Wanted, updates: mpsc::Sender<Update>, changed: Arc<Notify>) {
    loop {
        let began = Instant::now();
        let overview = in_time(hub.get("/api/overview").read::<Overview>());
        let (overview, jobs) = tokio::join!(overview, in_time(jobs(&hub, &wanted)));
        let is_well = overview.is_ok() && jobs.is_ok();
        let overview = overview.map(|overview| Update::Overview(Box::new(overview)));
        let jobs = jobs.map(|mut jobs| {
            let is_cut = jobs.len() > JOBS_MAX;
            jobs.truncate(JOBS_MAX);
            Update::Jobs { wanted: wanted.clone(), jobs, is_cut }
        });
        for update in [overview, jobs] {
            let update = update.unwrap_or_else(Update::Trouble);
            if updates.send(update).await.is_err() {
                return;
            }
        }
        pause(began, is_well, &changed).await;
    }
}

async fn in_time<T>(answer: impl Future<Output = Result<T, Problem>>) -> Result<T, String> {
    match timeout(ANSWER_MAX, answer).await {
        Ok(answer) => answer.map_err(|problem| one_line(&problem)),
        Err(_) => Err("the hub does not answer".to_owned()),
    }
}

/// Longer after an answer that took long, and then until something happens.
async fn pause(began: Instant, is_well: bool, changed: &Notify) {
    if !is_well {
        return sleep(RECONNECT).await;
    }
    let took = began.elapsed();
    sleep((took * SHARE).clamp(LOOK_PAUSE, LOOK_PAUSE_MAX)).await;
    let _ = timeout(LOOK_EVERY, changed.notified()).await;
}

async fn jobs(hub: &Hub, wanted: &Wanted) -> Result<Vec<Job>, Problem> {
    let statuses: &[Option<Status>] = match wanted.view {
        View::Running => &[Some(Status::Running), Some(Status::Assigned)],
        View::Waiting => &[Some(Status::Pending)],
        View::Failed => &[Some(Status::Failed), Some(Status::Quarantined)],
        View::Newest => &[None],
    };
    let mut found = Vec::new();
    for status in statuses {
        let filter = JobFilter {
            status: *status,
            queue: wanted.queue.as_deref().and_then(|name| QueueName::new(name).ok()),
            worker_id: wanted.machine.as_deref().and_then(|id| WorkerId::new(id).ok()),
            q: Some(wanted.text.clone()).filter(|text| !text.is_empty()),
            ..JobFilter::default()
        };
        let mut take = |page: Vec<Job>| {
            found.extend(page);
            Ok(())
        };
        hub.jobs(&filter, JOBS_MAX as u64 + 1, &mut take).await?;
    }
    Ok(found)
}

/// Machines change all the time and say much: they have a pace of their own.
async fn follow_machines(hub: Hub, updates: mpsc::Sender<Update>, changed: Arc<Notify>) {
    loop {
        let began = Instant::now();
        let workers = in_time(hub.get("/api/workers").read::<Vec<Worker>>());
        let nodes = in_time(hub.get("/api/fleet").query("history", 0).read::<Vec<Node>>());
        let (workers, nodes) = tokio::join!(workers, nodes);
        let is_well = workers.is_ok() && nodes.is_ok();
        for update in [workers.map(Update::Workers), nodes.map(Update::Nodes)] {
            let update = update.unwrap_or_else(Update::Trouble);
            if updates.send(update).await.is_err() {
                return;
            }
        }
        pause(began, is_well, &changed).await;
    }
}

async fn follow_log(hub: Hub, id: String, updates: mpsc::Sender<Update>) {
    let (pieces, mut arrived) = mpsc::unbounded_channel();
    let follow = async {
        let mut newest = 1;
        let mut take = |attempt: u32, bytes: &[u8]| {
            let heading = if attempt > newest { format!("==> run {attempt} <==\n") } else { String::new() };
            newest = attempt;
            pieces.send([heading.as_bytes(), bytes].concat()).map_err(std::io::Error::other)
        };
        let followed = hub.follow_logs(&id, &mut take).await;
        drop(pieces);
        followed
    };
    let forward = async {
        while let Some(bytes) = arrived.recv().await {
            let _ = updates.send(Update::Log { id: id.clone(), bytes }).await;
        }
    };
    let (followed, ()) = tokio::join!(follow, forward);
    let why = followed.err().map(|problem| one_line(&problem));
    let _ = updates.send(Update::LogOver { id: id.clone(), why }).await;
}

/// For a place that has only one.
fn one_line(problem: &Problem) -> String {
    problem.to_string().lines().map(str::trim).collect::<Vec<_>>().join(": ")
}
