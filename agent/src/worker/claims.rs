//! A slot: claims jobs, runs them one after the other.
//!
//! A job that takes a millisecond would mostly wait for the hub's next answer. So while a short job runs, the
//! slot already asks for what it will run next: as many as it will probably have finished within
//! [`AHEAD_WORK`]. What was claimed and cannot be started soon goes back, so that no job waits behind a long one.

use super::{Mode, REFUSED_PAUSE, Worker};
use crate::{
    backoff::{Backoff, fraction},
    holdings::{Hold, Room},
    hub::{Failed, random_hex},
    job::Done,
    outbox::Outcome,
    runner::Slot,
};
use forge_shared::{
    ClaimId,
    request::{Claim, Free},
    response::ClaimedJob,
};
use std::{collections::VecDeque, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

const CLAIM_WAIT_MS: f64 = 25_000.0;
/// A hub that answers "nothing" sooner than this does not wait for us.
const ANSWERED_AT_ONCE: Duration = Duration::from_secs(1);
/// Only after a job that took less is anything claimed ahead.
const SHORT: Duration = Duration::from_secs(1);
/// How much work is claimed ahead, as far as the last job tells.
const AHEAD_WORK: Duration = Duration::from_millis(50);
const AHEAD_MAX: u128 = 16;
/// How long a job that was claimed ahead waits for those before it.
const UNSTARTED_MAX: Duration = Duration::from_secs(1);
/// How long a free slot waits for the answer to what it asked ahead. Then it asks again: by then a
/// new connection helps more than patience.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// A job that is this slot's.
struct Taken {
    claimed: ClaimedJob,
    hold: Hold,
    since: Instant,
}

/// Asked again with the same id, it brings the answer that got lost.
#[derive(Clone)]
struct Question {
    id: ClaimId,
    max: u32,
}

impl Question {
    fn new(max: u32) -> Self {
        // Without randomness no agent starts.
        let id = ClaimId::trusted(random_hex().expect("the system gives randomness"));
        Self { id, max }
    }
}

/// What a slot knows of its next jobs while one runs.
#[derive(Default)]
struct Ahead {
    asking: Option<Asking>,
    /// In the order in which they will run.
    taken: VecDeque<Taken>,
    unanswered: Option<Question>,
}

type Answer = Result<Vec<ClaimedJob>, Failed>;
type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl Ahead {
    async fn answer(&mut self) -> Answer {
        match &mut self.asking {
            Some(asking) => asking.as_mut().await,
            None => std::future::pending().await,
        }
    }

    /// When the job that waits longest will have waited too long.
    fn overdue_at(&self) -> Option<Instant> {
        self.taken.front().map(|first| first.since + UNSTARTED_MAX)
    }
}

/// How many jobs to have ready after one that took this long.
fn worth_claiming(took: Duration) -> usize {
    if took >= SHORT {
        return 0;
    }
    let fit = AHEAD_WORK.as_micros() / took.as_micros().max(1);
    usize::try_from(fit.clamp(1, AHEAD_MAX)).unwrap_or(1)
}

impl Worker {
    /// One slot, until this worker leaves.
    pub(super) async fn serve(self: Arc<Self>) {
        let mut mode = self.mode.subscribe();
        let mut slot = None;
        let mut backoff = Backoff::default();
        let mut ahead = Ahead::default();
        let mut wanted_ahead = 0;
        loop {
            let now = *mode.borrow_and_update();
            if now != Mode::Run {
                // Nobody takes the answer to what was asked, so the hub gives those jobs to others.
                ahead.asking = None;
                self.give_back(ahead.taken.drain(..));
            }
            match now {
                Mode::Run => {}
                Mode::Leave => break,
                Mode::Drain => {
                    let _ = mode.changed().await;
                    continue;
                }
            }
            // Ready before a job is claimed, so that a job never waits for it or dies of it.
            if slot.is_none() {
                match Slot::start(self.runner.clone()).await {
                    Ok(started) => slot = Some(started),
                    Err(error) => {
                        tracing::error!("no job can be run here: {error:#}");
                        tokio::select! {
                            () = tokio::time::sleep(backoff.next(None)) => {}
                            _ = mode.changed() => {}
                        }
                        continue;
                    }
                }
            }
            if ahead.taken.is_empty() {
                let question = ahead.unanswered.take().unwrap_or_else(|| Question::new(1));
                let claimed = tokio::select! {
                    claimed = self.claim(question) => claimed,
                    // A request that is dropped gives back what it was about to get.
                    _ = mode.wait_for(|mode| *mode != Mode::Run) => continue,
                };
                self.take(&mut ahead, claimed);
            }
            let Some(Taken { claimed, hold, .. }) = ahead.taken.pop_front() else { continue };
            backoff.reset();
            tracing::info!(job.id = %claimed.job.id, job.r#type = %claimed.job.kind, job.attempt = claimed.job.attempt, "job claimed");
            if !hold.begin() {
                tracing::info!(job.id = %claimed.job.id, requires = ?claimed.requires, "given back: there is too little left beside what runs");
                let since = Instant::now();
                ahead.taken.push_front(Taken { claimed, hold, since });
                self.give_back(ahead.taken.drain(..));
                // The hub did not look at what is left here, and would hand it out again.
                self.pause().await;
                continue;
            }
            let began = Instant::now();
            let done = {
                let work = self.workshop.work(&mut slot, &claimed, &hold);
                tokio::pin!(work);
                self.work_and_claim(work.as_mut(), &mut ahead, wanted_ahead).await
            };
            wanted_ahead = worth_claiming(began.elapsed());
            // What is claimed ahead is short, so its outcomes come soon.
            self.finishing.start(claimed.lease_id, done, hold, !ahead.taken.is_empty());
            if ahead.taken.is_empty() {
                self.settle(&mut ahead, &mut mode).await;
            }
        }
        if let Some(slot) = slot {
            slot.close().await;
        }
    }

    /// While a job runs, asks for the next ones, if less than half of those wanted are at hand.
    async fn work_and_claim<W: Future<Output = Done>>(
        self: &Arc<Self>,
        mut work: Pin<&mut W>,
        ahead: &mut Ahead,
        wanted: usize,
    ) -> Done {
        if ahead.asking.is_none() && ahead.taken.len() * 2 < wanted {
            let missing = u32::try_from(wanted - ahead.taken.len()).unwrap_or(1);
            let question = ahead.unanswered.get_or_insert_with(|| Question::new(missing)).clone();
            let (hub, claim) = (self.hub.clone(), self.claim_for(question, None));
            ahead.asking = Some(Box::pin(async move { hub.claim(&claim).await }));
        }
        loop {
            let overdue_at = ahead.overdue_at();
            let overdue = tokio::time::sleep_until(overdue_at.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                answer = ahead.answer() => self.answered(ahead, answer),
                () = overdue, if overdue_at.is_some() => self.give_back(ahead.taken.drain(..)),
            }
        }
    }

    /// The answer to a question that was asked ahead, which is on its way.
    async fn settle(&self, ahead: &mut Ahead, mode: &mut watch::Receiver<Mode>) {
        if ahead.asking.is_none() {
            return;
        }
        tokio::select! {
            answer = ahead.answer() => self.answered(ahead, answer),
            // Asked again under the same id, so an answer that is on its way is not lost.
            () = tokio::time::sleep(SETTLE_MAX) => ahead.asking = None,
            _ = mode.wait_for(|mode| *mode != Mode::Run) => {}
        }
    }

    fn answered(&self, ahead: &mut Ahead, answer: Answer) {
        ahead.asking = None;
        // After a failure the same question is asked again, so that its answer is not lost.
        if let Ok(claimed) = answer {
            ahead.unanswered = None;
            self.take(ahead, claimed);
        }
    }

    fn take(&self, ahead: &mut Ahead, claimed: Vec<ClaimedJob>) {
        let since = Instant::now();
        ahead.taken.extend(claimed.into_iter().map(|claimed| {
            let hold = self.holdings.add(claimed.lease_id.clone(), claimed.requires.unwrap_or_default());
            Taken { claimed, hold, since }
        }));
    }

    fn give_back(&self, unstarted: impl Iterator<Item = Taken>) {
        for Taken { claimed: ClaimedJob { job, lease_id, .. }, hold, .. } in unstarted {
            let outcome = Outcome::Release { job_id: job.id, lease_id: lease_id.clone() };
            self.finishing.start(lease_id, Done { outcome: Some(outcome), shipping: None }, hold, false);
        }
    }

    /// Asks for jobs until there are some, or there are none for now. The same question has the same
    /// id however often it is asked, so an answer that got lost is given again.
    async fn claim(&self, question: Question) -> Vec<ClaimedJob> {
        let mut backoff = Backoff::default();
        let claim = self.claim_for(question, Some((CLAIM_WAIT_MS * (0.9 + 0.2 * fraction())) as u64));
        loop {
            let asked = Instant::now();
            match self.hub.claim(&claim).await {
                Ok(none) if none.is_empty() => {
                    if asked.elapsed() < ANSWERED_AT_ONCE {
                        self.pause().await;
                    }
                    return none;
                }
                Ok(jobs) => return jobs,
                Err(error) if error.is("superseded_boot") => {
                    self.give_way();
                    return Vec::new();
                }
                Err(error) => {
                    let wait = match error {
                        Failed::Refused { .. } => REFUSED_PAUSE,
                        Failed::Later { .. } => backoff.next(error.wait()),
                    };
                    tracing::warn!(retry_in_ms = wait.as_millis() as u64, "no job claimed: {error}");
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    async fn pause(&self) {
        tokio::time::sleep(self.poll_every.mul_f64(0.75 + 0.5 * fraction())).await;
    }

    fn claim_for(&self, Question { id, max }: Question, wait_ms: Option<u64>) -> Claim {
        let Room { cores, ram_gb } = self.holdings.left();
        Claim {
            worker_id: self.hub.worker_id().clone(),
            types: self.types.clone(),
            queues: Vec::new(),
            wait_ms,
            max: Some(max),
            free: Some(Free { slots: Some(max), cores: Some(cores), ram_gb: Some(ram_gb) }),
            claim_id: Some(id),
            boot_id: Some(self.boot.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_the_jobs_the_more_are_claimed_ahead_and_none_after_a_long_one() {
        let worth = |ms| worth_claiming(Duration::from_millis(ms));
        assert_eq!([0, 1, 5, 25, 60, 999, 1_000].map(worth), [16, 16, 10, 2, 1, 1, 0]);
    }
}
