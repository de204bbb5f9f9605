//! One solver over an unreliable network: attempts that go on where the last one broke off.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED};
use reqwest::{Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use super::checksum::Checksum;
use super::folder::{Folder, Turn};
use super::part::{Part, Writer};
use super::remote::{Remote, origin, why};
use super::{CacheError, Limits, on_disk};

const RETRY_WAIT_MAX: Duration = Duration::from_secs(10);

pub(super) struct Download<'a> {
    pub(super) folder: &'a Arc<Folder>,
    pub(super) remote: &'a Remote,
    pub(super) limits: &'a Limits,
    pub(super) checksum: &'a Checksum,
    pub(super) url: Url,
    pub(super) deadline: Instant,
}

/// What an attempt leaves: the part, unless the disk thread that had it died, and how it went.
type Attempt = (Option<Part>, Result<(), CacheError>);

impl Download<'_> {
    /// The part is complete, verified, on the disk and closed when this returns its turn.
    pub(super) async fn run(&self, turn: Turn) -> Result<Turn, CacheError> {
        let (folder, checksum) = (self.folder.clone(), self.checksum.clone());
        let mut part = on_disk(self.folder, move || Part::open(&folder, &checksum, turn)).await?;
        let mut tries = 1;
        loop {
            let (left, outcome) = self.attempt(part).await;
            let Some(left) = left else {
                return Err(outcome.err().unwrap_or_else(|| self.disk(io::Error::other("a thread died"))));
            };
            match outcome {
                Ok(()) => {
                    let (folder, checksum) = (self.folder.clone(), self.checksum.clone());
                    return on_disk(self.folder, move || {
                        left.close().inspect_err(|_| {
                            let _ = folder.remove_part(&checksum);
                        })
                    })
                    .await;
                }
                Err(error) if error.is_passing() && tries < self.limits.tries => {
                    tracing::warn!(solver = %self.checksum, attempt = tries, bytes = left.length(), %error,
                        "the download of a solver broke off and is tried again");
                    let wait = self.retry_wait(tries);
                    if Instant::now() + wait >= self.deadline {
                        self.clean_up(left, &error).await;
                        return Err(CacheError::TooSlow { allowed: self.limits.total });
                    }
                    tokio::time::sleep(wait).await;
                    tries += 1;
                    part = left;
                }
                Err(error) => {
                    self.clean_up(left, &error).await;
                    return Err(error);
                }
            }
        }
    }

    /// Keeps only what the next download can go on from.
    async fn clean_up(&self, part: Part, error: &CacheError) {
        let interrupted = error.is_passing() || matches!(error, CacheError::TooSlow { .. });
        if interrupted && part.resumable().is_some() {
            return;
        }
        let (folder, checksum) = (self.folder.clone(), self.checksum.clone());
        let removed = on_disk(self.folder, move || {
            let removed = folder.remove_part(&checksum);
            drop(part);
            removed
        });
        if let Err(error) = removed.await {
            tracing::warn!(%error, "a broken download could not be removed");
        }
    }

    async fn attempt(&self, part: Part) -> Attempt {
        if part.length() > 0 && part.checksum() == *self.checksum {
            return (Some(part), Ok(()));
        }
        let (response, total) = match self.answer(&part).await {
            Ok(answer) => answer,
            Err(error) => return (Some(part), Err(error)),
        };
        let resumed = response.status() == StatusCode::PARTIAL_CONTENT;
        let already = if resumed { part.length() } else { 0 };
        if total.is_some_and(|total| total > self.size_max()) {
            return (Some(part), Err(CacheError::TooLarge { limit: self.size_max() }));
        }
        let (folder, keep) = (self.folder.clone(), self.checksum.clone());
        let coming = total.map_or(0, |total| total.saturating_sub(already));
        let version = version(response.headers());
        let prepared = tokio::task::spawn_blocking(move || {
            let mut part = part;
            let outcome = if resumed { Ok(()) } else { part.start_over(version) };
            let outcome = outcome.and_then(|()| folder.make_room(coming, Some(&keep)));
            (part, outcome)
        });
        match prepared.await {
            Ok((part, Ok(()))) => self.receive(response, part, total).await,
            Ok((part, Err(error))) => (Some(part), Err(self.disk(error))),
            Err(error) => (None, Err(self.disk(io::Error::other(error)))),
        }
    }

    /// An answer whose body can be written to the part, and how long the whole is if the server says.
    async fn answer(&self, part: &Part) -> Result<(Response, Option<u64>), CacheError> {
        if let Some(known) = part.resumable() {
            let resume = Some((part.length(), known));
            let response = self.patiently(self.remote.get(self.url.clone(), resume)).await??;
            match response.status() {
                StatusCode::PARTIAL_CONTENT => {
                    let same = version(response.headers()).is_none_or(|version| version == known);
                    if let Some((start, total)) = content_range(response.headers())
                        && start == part.length()
                        && same
                    {
                        let announced = response.content_length().map(|length| start.saturating_add(length));
                        return Ok((response, total.or(announced)));
                    }
                }
                StatusCode::RANGE_NOT_SATISFIABLE => {}
                _ => return self.whole(response),
            }
        }
        let response = self.patiently(self.remote.get(self.url.clone(), None)).await??;
        self.whole(response)
    }

    fn whole(&self, response: Response) -> Result<(Response, Option<u64>), CacheError> {
        match response.status() {
            StatusCode::OK => {
                let total = response.content_length();
                Ok((response, total))
            }
            status => Err(CacheError::Refused { status: status.as_u16(), origin: origin(response.url()) }),
        }
    }

    async fn receive(&self, mut response: Response, part: Part, total: Option<u64>) -> Attempt {
        let mut length = part.length();
        let writer = Writer::start(part);
        let received = loop {
            match self.patiently(response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    length += chunk.len() as u64;
                    if length > self.size_max() {
                        break Err(CacheError::TooLarge { limit: self.size_max() });
                    }
                    if !writer.write(chunk).await {
                        break Ok(());
                    }
                }
                Ok(Ok(None)) => break Ok(()),
                Ok(Err(error)) => {
                    let why = format!("the connection broke after {length} bytes ({})", why(error));
                    break Err(CacheError::Unreachable { origin: origin(&self.url), why });
                }
                Err(error) => break Err(error),
            }
        };
        let (part, written) = match writer.finish().await {
            Ok(finished) => finished,
            Err(error) => return (None, Err(self.disk(error))),
        };
        let outcome = match (written, received) {
            (Err(error), _) => Err(self.disk(error)),
            (Ok(()), Err(error)) => Err(error),
            (Ok(()), Ok(())) => self.check(&part, total),
        };
        (Some(part), outcome)
    }

    fn check(&self, part: &Part, total: Option<u64>) -> Result<(), CacheError> {
        if let Some(total) = total.filter(|total| part.length() < *total) {
            let why = format!("it announced {total} bytes and sent {}", part.length());
            return Err(CacheError::Unreachable { origin: origin(&self.url), why });
        }
        let found = part.checksum();
        if found != *self.checksum {
            return Err(CacheError::Mismatch {
                expected: self.checksum.to_string(),
                found: found.to_string(),
                origin: origin(&self.url),
            });
        }
        Ok(())
    }

    /// Waits for the server, but neither through a stall nor past the deadline.
    async fn patiently<F: Future>(&self, step: F) -> Result<F::Output, CacheError> {
        let stalled_at = Instant::now() + self.limits.stall;
        timeout_at(stalled_at.min(self.deadline), step).await.map_err(|_| {
            if self.deadline <= stalled_at {
                CacheError::TooSlow { allowed: self.limits.total }
            } else {
                CacheError::Stalled { origin: origin(&self.url), waited: self.limits.stall }
            }
        })
    }

    /// Doubles with each try; the random half keeps a fleet from coming back all at once.
    fn retry_wait(&self, tries: u32) -> Duration {
        let longest = self.limits.retry_wait.saturating_mul(1 << (tries - 1).min(10)).min(RETRY_WAIT_MAX);
        let share = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        longest.mul_f64(0.5 + share / 2.0)
    }

    fn size_max(&self) -> u64 {
        self.limits.file_max.min(self.limits.total_max)
    }

    fn disk(&self, error: io::Error) -> CacheError {
        CacheError::disk(self.folder.path(), error)
    }
}

/// A name for this version of the file that `If-Range` accepts; a weak tag promises no equal bytes.
fn version(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    text(ETAG).filter(|tag| tag.starts_with('"')).or_else(|| text(LAST_MODIFIED))
}

/// The first byte of a part, and the length of the whole if it is known.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (span, total) = range.split_once('/')?;
    let (start, _) = span.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}
