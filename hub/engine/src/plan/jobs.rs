//! Commands about single jobs.

use super::{Planner, needs::Needs, set::lane_place};
use crate::{
    claim::new_job_id,
    command::{
        Action, Due, Enqueued, Holder, Idempotency, JobState, NewJob, Outcome, Refusal, Reply, Report,
    },
    job::{Entry, Job, LeaseState},
    lifecycle::{self, Circumstances, Effect, Input},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
};
use forge_shared::{
    JobId, Phase, Status, WorkerId,
    event::{Event, EventKind},
    job::Progress,
};

impl Planner {
    /// The one place where a decision becomes a change: the job, its lane, the counters, the
    /// history and the events move together or not at all.
    pub(super) fn apply(&mut self, seq: i64, input: Input<'_>) -> Result<Effect, Refusal> {
        let batch = &mut self.batch;
        let slot = batch.set.slot(seq).ok_or(Refusal::UnknownJob)?;
        let [random, _] = match &input {
            Input::Fail { .. } | Input::RuntimeOver | Input::PrepareOver => batch.entropy.draw(),
            _ => [0, 0],
        };
        let at = Circumstances {
            now: batch.ctx.now,
            started_ms: batch.ctx.started_ms,
            policy: &batch.ctx.policy,
            random,
        };
        let before = (slot.job.queue.clone(), slot.job.status);
        let view_before = slot.job.counted_view(self.settled_ms);
        let mut effect = lifecycle::decide(&mut slot.job, input, &at)?;
        if !effect.changed {
            return Ok(effect);
        }
        slot.dirty = true;
        let place = if effect.deleted { None } else { lane_place(&slot.job) };
        if slot.laned != place {
            let old = core::mem::replace(&mut slot.laned, place);
            if let Some((key, entry)) = old {
                self.lanes.remove(&key, entry);
            }
            if let Some((key, entry)) = &slot.laned {
                self.lanes.insert(key, *entry);
            }
        }
        let after = (slot.job.queue.clone(), slot.job.status);
        let kind = slot.job.kind.clone();
        let view_after = slot.job.counted_view(self.settled_ms).filter(|_| !effect.deleted);
        let got_it = after.1.is_live() && !before.1.is_live();
        let holder = slot.job.lease.as_ref().filter(|_| got_it).map(|lease| lease.worker.clone());
        for event in effect.events.iter().flatten() {
            let event = job_event(*event, &slot.job, batch.ctx.now.wall_ms, self.next_event);
            self.next_event += 1;
            batch.changes.events.push(event);
        }
        let failed_attempt = effect.entry.as_ref().is_some_and(Entry::is_failure);
        let ended = after.1.is_terminal() && before.1 != after.1;
        if failed_attempt || ended {
            let flow = batch.changes.flow.entry(after.0.clone()).or_default();
            flow.failed_attempts += u64::from(failed_attempt);
            flow.completed += u64::from(ended && after.1 == Status::Completed);
            flow.failed += u64::from(ended && after.1 != Status::Completed);
        }
        if let Some(entry) = effect.entry.take() {
            batch.changes.entries.push(entry);
        }
        if let Some(worker) = holder {
            batch.set.live.entry(worker).or_default().insert(seq);
        }
        let (view_before, view_after) = (
            view_before.map(|view| (view, before.0.clone())),
            view_after.map(|view| (view, after.0.clone())),
        );
        if effect.deleted {
            batch.set.forget(seq);
            self.count((before.0, kind, before.1), -1);
        } else if before != after {
            self.count((before.0, kind.clone(), before.1), -1);
            self.count((after.0, kind, after.1), 1);
        }
        if view_before != view_after {
            self.count_view(view_before, -1);
            self.count_view(view_after, 1);
        }
        Ok(effect)
    }

    fn count_view(&mut self, key: Option<super::ViewKey>, by: i64) {
        let Some(key) = key else { return };
        self.batch.changes.counted_views.insert(key.clone());
        *self.views.entry(key).or_insert(0) += by;
    }

    pub(super) fn count(&mut self, key: super::CountKey, by: i64) {
        self.batch.changes.counted.insert(key.clone());
        *self.counts.entry(key).or_insert(0) += by;
    }

    pub(super) fn enqueue(&mut self, jobs: &[NewJob]) -> Result<Reply, Refusal> {
        // All or none: look before anything is added, also at what this call itself adds.
        let mut own_ids: BTreeSet<&JobId> = BTreeSet::new();
        let mut own_keys: BTreeMap<&str, &[u8; 32]> = BTreeMap::new();
        for (index, new) in jobs.iter().enumerate() {
            let refuse = |refusal| Err(Refusal::InBatch { index, refusal: Box::new(refusal) });
            if let Some(Idempotency { key, body }) = &new.idempotency {
                let known = self.known_job(key);
                let earlier = known.map(|(known, _)| known).or(own_keys.get(&**key).copied());
                match earlier {
                    Some(earlier) if earlier == body => continue,
                    Some(_) => {
                        return refuse(Refusal::KeyReused { id: known.map(|(_, job)| job.id.clone()) });
                    }
                    None => own_keys.insert(key, body),
                };
            }
            if let Some(id) = &new.id
                && (self.batch.set.by_id(id).is_some() || !own_ids.insert(id))
            {
                return refuse(Refusal::IdTaken { id: id.clone() });
            }
        }
        Ok(Reply::Enqueued(jobs.iter().map(|new| self.enqueue_one(new)).collect()))
    }

    /// The body and the job that an idempotency key stands for.
    fn known_job(&self, key: &str) -> Option<(&[u8; 32], &Job)> {
        let known = self.batch.set.keys.get(key)?.as_ref()?;
        Some((&known.body, self.batch.set.job(known.job)?))
    }

    pub(super) fn replace(&mut self, new: &NewJob, spent: u32) -> Result<Reply, Refusal> {
        if let Some(seq) = new.id.as_ref().and_then(|id| self.batch.set.by_id(id)) {
            self.apply(seq, Input::Replace)?;
        }
        let seq = self.next_job;
        let enqueued = self.enqueue_one(new);
        if let Some(slot) = self.batch.set.slot(seq) {
            slot.job.attempts = spent;
        }
        Ok(Reply::Enqueued(alloc::vec![enqueued]))
    }

    fn enqueue_one(&mut self, new: &NewJob) -> Enqueued {
        if let Some(idempotency) = &new.idempotency
            && let Some((_, job)) = self.known_job(&idempotency.key)
        {
            return Enqueued { id: job.id.clone(), status: job.status, created: false };
        }
        let now = self.batch.ctx.now.wall_ms;
        let seq = self.next_job;
        self.next_job += 1;
        let id = new.id.clone().unwrap_or_else(|| new_job_id(now, seq, self.batch.entropy.draw()[0]));
        let job = Job {
            seq,
            id: id.clone(),
            kind: new.kind.clone(),
            queue: new.queue.clone(),
            priority: new.priority,
            status: Status::Pending,
            created_at: now,
            run_at: match new.due {
                Due::Now => now,
                Due::At(at) => at.max(now),
                Due::After(delay) => now.saturating_add(delay.max(0)),
            },
            expires_at: new.expires_at,
            claimed_at: None,
            started_at: None,
            heartbeat_at: None,
            finished_at: None,
            attempt: 0,
            attempts: 0,
            max_attempts: new.max_attempts,
            max_runtime_ms: new.max_runtime_ms,
            backoff: new.backoff,
            given_back: 0,
            silent_expiries: 0,
            cancel_requested: false,
            fail_reason: None,
            history_len: 0,
            progress_at: None,
            lease: None,
        };
        let event = job_event(EventKind::JobCreated, &job, now, self.next_event);
        self.next_event += 1;
        self.batch.changes.events.push(event);
        let place = lane_place(&job);
        if let Some((key, entry)) = &place {
            self.lanes.insert(key, *entry);
        }
        self.count((job.queue.clone(), job.kind.clone(), job.status), 1);
        self.count_view(job.counted_view(self.settled_ms).map(|view| (view, job.queue.clone())), 1);
        self.batch.set.insert(job, new.spec.clone(), new.idempotency.clone(), new.id.is_some());
        if let Some(slot) = self.batch.set.slot(seq) {
            slot.laned = place;
        }
        Enqueued { id, status: Status::Pending, created: true }
    }

    pub(super) fn heartbeat(&mut self, id: &JobId, holder: &Holder, phase: Phase) -> Result<Reply, Refusal> {
        let seq = self.find(id)?;
        self.apply(seq, Input::Heartbeat { holder, phase })?;
        self.hear(&holder.worker);
        let job = self.batch.set.job(seq).ok_or(Refusal::UnknownJob)?;
        Ok(Reply::Alive { cancel: job.cancel_requested, attempt: job.attempt })
    }

    pub(super) fn check_lease(&mut self, id: &JobId, holder: &Holder) -> Result<Reply, Refusal> {
        let seq = self.find(id)?;
        let job = self.batch.set.job(seq).ok_or(Refusal::UnknownJob)?;
        let lease = job.lease.as_ref().ok_or(Refusal::LeaseLost)?;
        let same = lease.worker == holder.worker && holder.lease.as_ref().is_none_or(|id| *id == lease.id);
        if !same || lease.state == LeaseState::Released {
            return Err(Refusal::LeaseLost);
        }
        Ok(Reply::Alive { cancel: job.cancel_requested, attempt: job.attempt })
    }

    /// Every report is decided on its own; a completed job's stored result may have to be
    /// fetched first.
    pub(super) fn report(&mut self, reports: &[Report]) -> Result<Reply, Needs> {
        for Report { job, outcome, .. } in reports {
            if let Outcome::Completed(_) = outcome
                && let Some(seq) = self.batch.set.by_id(job)
                && self.batch.set.job(seq).is_some_and(|job| job.status == Status::Completed)
                && !self.batch.set.completions.contains_key(&seq)
            {
                return Err(Needs::completion(seq));
            }
        }
        Ok(Reply::Reported(reports.iter().map(|report| self.report_one(report)).collect()))
    }

    fn report_one(&mut self, report: &Report) -> Result<JobState, Refusal> {
        let seq = self.find(&report.job)?;
        let holder = &report.holder;
        match &report.outcome {
            Outcome::Failed(failure) => {
                self.apply(seq, Input::Fail { holder, failure })?;
            }
            Outcome::Completed(completion) => {
                let stored = self.batch.set.completions.get(&seq).cloned().flatten();
                let input = Input::Complete { holder, completion, stored: stored.as_ref() };
                if self.apply(seq, input)?.completed {
                    self.batch.set.completions.insert(seq, Some(completion.clone()));
                    self.batch.changes.completions.push((seq, completion.clone()));
                }
            }
        }
        self.hear(&holder.worker);
        self.state_of(seq)
    }

    pub(super) fn release(
        &mut self,
        id: &JobId,
        holder: &Holder,
        delay_ms: Option<i64>,
    ) -> Result<Reply, Refusal> {
        let seq = self.find(id)?;
        match delay_ms {
            Some(delay_ms) => self.apply(seq, Input::Snooze { holder, delay_ms })?,
            None => self.apply(seq, Input::Release { holder: Some(holder) })?,
        };
        self.state_of(seq).map(Reply::Released)
    }

    pub(super) fn progress(
        &mut self,
        id: &JobId,
        holder: &Holder,
        progress: &Progress,
    ) -> Result<Reply, Refusal> {
        let seq = self.find(id)?;
        let effect = self.apply(seq, Input::Progress { holder })?;
        let progress = Progress { at: self.batch.ctx.now.wall_ms, ..progress.clone() };
        if effect.changed
            && let Some(event) = self.batch.changes.events.last_mut()
        {
            event.progress = Some(progress.clone());
        }
        self.batch.changes.progress.push((seq, progress));
        self.state_of(seq).map(Reply::Released)
    }

    pub(super) fn act(&mut self, jobs: &[JobId], action: &Action) -> Reply {
        let states = jobs
            .iter()
            .map(|id| {
                let seq = self.find(id)?;
                let input = match action {
                    Action::Cancel { even_running } => Input::Cancel { even_running: *even_running },
                    Action::Retry => Input::Retry,
                    Action::RunNow => Input::RunNow,
                    Action::Kill => Input::Kill,
                    Action::Patch { priority, run_at, queue } => {
                        Input::Patch { priority: *priority, run_at: *run_at, queue: queue.as_ref() }
                    }
                    Action::Delete => Input::Delete,
                };
                let before = self.state_of(seq)?;
                self.apply(seq, input)?;
                Ok(self.state_of(seq).unwrap_or(before))
            })
            .collect();
        Reply::Acted(states)
    }

    pub(super) fn reap(&mut self, jobs: &[i64], workers: &[WorkerId]) -> Reply {
        let mut changed = 0;
        for seq in jobs {
            let inputs =
                [Input::RuntimeOver, Input::PrepareOver, Input::LeaseOver { at_once: false }, Input::Expire];
            changed += u64::from(inputs.into_iter().any(|input| self.did(*seq, input)));
        }
        for worker in workers {
            changed += u64::from(self.lose(worker));
        }
        Reply::Count(changed)
    }

    pub(super) fn resume(&mut self, jobs: &[i64]) -> Reply {
        Reply::Count(jobs.iter().filter(|seq| self.did(**seq, Input::Resume)).count() as u64)
    }

    pub(super) fn prune(&mut self, jobs: &[i64]) -> Reply {
        Reply::Count(jobs.iter().filter(|seq| self.did(**seq, Input::Delete)).count() as u64)
    }

    pub(super) fn vanish(&mut self, workers: &[WorkerId]) -> Reply {
        let held: BTreeSet<i64> = workers.iter().flat_map(|worker| self.batch.set.held_by(worker)).collect();
        let over = held.into_iter().filter(|seq| self.did(*seq, Input::LeaseOver { at_once: true }));
        Reply::Count(over.count() as u64)
    }

    fn did(&mut self, seq: i64, input: Input<'_>) -> bool {
        self.apply(seq, input).is_ok_and(|effect| effect.changed)
    }

    pub(super) fn find(&self, id: &JobId) -> Result<i64, Refusal> {
        self.batch.set.by_id(id).ok_or(Refusal::UnknownJob)
    }

    fn state_of(&self, seq: i64) -> Result<JobState, Refusal> {
        let job = self.batch.set.job(seq).ok_or(Refusal::UnknownJob)?;
        Ok(JobState {
            id: job.id.clone(),
            status: job.status,
            next_retry_at: job.next_retry_at(),
            cancelling: job.cancel_requested,
        })
    }
}

fn job_event(kind: EventKind, job: &Job, now: i64, seq: u64) -> Event {
    let ended = matches!(
        kind,
        EventKind::JobCompleted | EventKind::JobFailed | EventKind::JobQuarantined | EventKind::JobReleased
    );
    let failed = matches!(kind, EventKind::JobFailed | EventKind::JobQuarantined);
    Event {
        seq,
        kind,
        ts: now,
        job_id: Some(job.id.clone()),
        job_type: Some(job.kind.clone()),
        queue: Some(job.queue.clone()),
        worker_id: job.lease.as_ref().map(|lease| lease.worker.clone()),
        status: Some(job.status),
        attempt: Some(job.attempt),
        attempts: Some(job.attempts),
        wait_ms: (kind == EventKind::JobAssigned).then(|| (now - job.run_at).max(0)),
        run_ms: job.started_at.filter(|_| ended).map(|started| (now - started).max(0)),
        run_at: (job.status == Status::Pending).then_some(job.run_at),
        reason: job.fail_reason.clone().filter(|_| failed),
        progress: None,
    }
}
