//! Many connections doing the same thing for a while.

use crate::{
    hub::{Server, TOKEN},
    wire::{self, Connection},
};
use anyhow::{Context, bail};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// One unit of work on a connection: how many things it did, or `None` when nothing is left.
pub trait Work: Send + Sync + 'static {
    fn once(
        &self,
        connection: &mut Connection,
        buffer: &mut Vec<u8>,
    ) -> impl Future<Output = anyhow::Result<Option<u64>>> + Send;
}

/// Repeats `work` on each connection for `time` and answers how many things were done a second.
pub async fn rate<W: Work>(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    work: Arc<W>,
) -> anyhow::Result<f64> {
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let mut connection = Connection::open(address).await?;
        let (stop, done, work) = (stop.clone(), done.clone(), work.clone());
        tasks.spawn(async move {
            let mut buffer = Vec::with_capacity(512);
            while !stop.load(Ordering::Relaxed) {
                match work.once(&mut connection, &mut buffer).await? {
                    Some(n) => done.fetch_add(n, Ordering::Relaxed),
                    None => break,
                };
            }
            anyhow::Ok(())
        });
    }
    let began = Instant::now();
    let timer = tokio::time::sleep(time);
    tokio::pin!(timer);
    let mut counted = None;
    loop {
        tokio::select! {
            () = &mut timer, if counted.is_none() => {
                stop.store(true, Ordering::Relaxed);
                counted = Some((done.load(Ordering::Relaxed), began.elapsed()));
            }
            ended = tasks.join_next() => match ended {
                Some(ended) => ended.context("a client panicked")??,
                None => break,
            },
        }
    }
    // When the work ran out before the time, the time it took counts.
    let (done, elapsed) = counted.unwrap_or_else(|| (done.load(Ordering::Relaxed), began.elapsed()));
    Ok(done as f64 / elapsed.as_secs_f64())
}

/// Adds one small job.
pub struct Enqueue;

impl Work for Enqueue {
    async fn once(&self, connection: &mut Connection, buffer: &mut Vec<u8>) -> anyhow::Result<Option<u64>> {
        wire::post(
            buffer,
            TOKEN,
            "/api/jobs",
            br#"{"type":"bench","params":{"n":12345,"name":"a small job"}}"#,
        );
        let answer = connection.call(buffer).await?;
        if answer.status != 201 {
            bail!("enqueue answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(Some(1))
    }
}

/// Takes one job; the worker's name and what it takes are in `body`.
pub struct Claim {
    pub body: &'static str,
    pub left: AtomicU64,
}

impl Work for Claim {
    async fn once(&self, connection: &mut Connection, buffer: &mut Vec<u8>) -> anyhow::Result<Option<u64>> {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            return Ok(None);
        }
        wire::post(buffer, TOKEN, "/api/jobs/claim", self.body.as_bytes());
        let answer = connection.call(buffer).await?;
        if answer.status != 200 {
            bail!("claim answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(Some(1))
    }
}

/// Takes a job and completes it; both requests count.
pub struct ClaimAndResult;

impl Work for ClaimAndResult {
    async fn once(&self, connection: &mut Connection, buffer: &mut Vec<u8>) -> anyhow::Result<Option<u64>> {
        wire::post(buffer, TOKEN, "/api/jobs/claim", br#"{"worker_id":"bench"}"#);
        let answer = connection.call(buffer).await?;
        match answer.status {
            204 => return Ok(None),
            200 => {}
            status => bail!("claim answered {status}: {}", String::from_utf8_lossy(answer.body)),
        }
        let id = wire::text_after(answer.body, "id").context("an id")?;
        let lease = wire::text_after(answer.body, "lease_id").context("a lease")?;
        let path = format!("/api/jobs/{}/result", String::from_utf8_lossy(id));
        let lease = String::from_utf8_lossy(lease);
        let body = format!(r#"{{"worker_id":"bench","lease_id":"{lease}","result":{{"ok":true}}}}"#);
        wire::post(buffer, TOKEN, &path, body.as_bytes());
        let answer = connection.call(buffer).await?;
        if answer.status != 200 {
            bail!("result answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(Some(2))
    }
}

/// Adds, takes and completes jobs in batches; each job counts once.
pub struct Lifecycles {
    pub batch: usize,
}

impl Work for Lifecycles {
    async fn once(&self, connection: &mut Connection, buffer: &mut Vec<u8>) -> anyhow::Result<Option<u64>> {
        enqueue_batch(connection, buffer, self.batch, r#"{"type":"bench","params":{"n":12345}}"#).await?;
        let body = format!(r#"{{"worker_id":"bench","max":{}}}"#, self.batch);
        wire::post(buffer, TOKEN, "/api/jobs/claim", body.as_bytes());
        let answer = connection.call(buffer).await?;
        if answer.status == 204 {
            return Ok(Some(0));
        }
        if answer.status != 200 {
            bail!("claim answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        let mut reports = String::from("[");
        let mut rest = answer.body;
        let mut jobs = 0;
        // Each job's id comes before its lease, and nothing else in it looks like either.
        while let Some(at) = wire::find(rest, b"\"id\":\"") {
            let job = &rest[at..];
            let id = String::from_utf8_lossy(wire::text_after(job, "id").context("an id")?);
            let lease_at = wire::find(job, b"\"lease_id\":\"").context("a lease")?;
            let lease =
                String::from_utf8_lossy(wire::text_after(&job[lease_at..], "lease_id").context("a lease")?);
            if jobs > 0 {
                reports.push(',');
            }
            reports += &format!(
                r#"{{"job_id":"{id}","worker_id":"bench","lease_id":"{lease}","result":{{"ok":true}}}}"#
            );
            jobs += 1;
            rest = &job[lease_at..];
        }
        reports.push(']');
        wire::post(buffer, TOKEN, "/api/jobs/results", reports.as_bytes());
        let answer = connection.call(buffer).await?;
        if answer.status != 200 || wire::find(answer.body, b"\"error\"").is_some() {
            bail!("results answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        Ok(Some(jobs))
    }
}

pub async fn enqueue_batch(
    connection: &mut Connection,
    buffer: &mut Vec<u8>,
    jobs: usize,
    job: &str,
) -> anyhow::Result<()> {
    let mut body = String::with_capacity(jobs * (job.len() + 1) + 2);
    body.push('[');
    for n in 0..jobs {
        if n > 0 {
            body.push(',');
        }
        body.push_str(job);
    }
    body.push(']');
    wire::post(buffer, TOKEN, "/api/jobs/batch", body.as_bytes());
    let answer = connection.call(buffer).await?;
    if answer.status != 201 {
        bail!("batch answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
    }
    Ok(())
}

/// Adds many jobs as fast as it goes; `job(n)` is the JSON of the n-th batch's jobs.
pub async fn fill(
    hub: &Server,
    jobs: usize,
    batch: usize,
    job: impl Fn(usize) -> String,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(hub.address).await?;
    let mut buffer = Vec::new();
    for n in 0..jobs.div_ceil(batch) {
        enqueue_batch(&mut connection, &mut buffer, batch.min(jobs - n * batch), &job(n)).await?;
    }
    Ok(())
}
