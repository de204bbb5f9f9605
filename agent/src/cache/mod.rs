//! Solvers, kept by their checksum under `SOLVER_CACHE_DIR`.
//!
//! Owns everything between a job's `solver_url` and a verified file that can be executed. Nothing unverified
//! ever has a solver's name, and nothing but the checksum ever becomes a path. The token goes to the hub's
//! own origin and nowhere else.
//!
//! However many slots want one checksum, one *flight* looks it up or downloads it, in a task of its own, so
//! that a slot that stops waiting takes nothing from the others. When nobody waits any more the flight ends,
//! and leaves behind what a later one can go on from.

mod checksum;
mod download;
mod error;
mod folder;
mod part;
mod remote;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::watch;
use tokio::time::Instant;

use checksum::Checksum;
use download::Download;
use folder::{Folder, Pin, Turn};
use remote::Remote;

use crate::tls::Trust;

pub use error::CacheError;
pub use remote::IsPublic;

/// How often to look whether another agent is done with the same solver.
const TURN_POLL: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of one solver.
    pub file_max: u64,
    /// Bytes of all solvers together.
    pub total_max: u64,
    /// How long a server may send nothing.
    pub stall: Duration,
    /// How long one download may take, with all its tries.
    pub total: Duration,
    pub tries: u32,
    /// Before the second try; doubles from there.
    pub retry_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_max: 2 << 30,
            total_max: 10 << 30,
            stall: Duration::from_secs(30),
            total: Duration::from_secs(30 * 60),
            tries: 4,
            retry_wait: Duration::from_millis(500),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Url(String),
    /// The hub's own store.
    Hub,
}

#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    folder: Arc<Folder>,
    limits: Limits,
    remote: Remote,
    flights: Mutex<HashMap<Checksum, Arc<Flight>>>,
}

struct Flight {
    source: Source,
    outcome: watch::Sender<Landed>,
}

/// `None` while the flight is under way.
type Landed = Option<Result<Arc<Pin>, CacheError>>;

/// A verified solver. It is not evicted while this lives.
#[derive(Clone, Debug)]
pub struct Held {
    pin: Arc<Pin>,
}

impl Held {
    pub fn path(&self) -> &Path {
        &self.pin.path
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("dir", &self.shared.folder.path())
            .field("limits", &self.shared.limits)
            .field("remote", &self.shared.remote)
            .finish_non_exhaustive()
    }
}

impl Cache {
    /// Makes the folder if need be, and clears away what downloads left there that cannot be resumed.
    pub fn open(
        dir: PathBuf,
        limits: Limits,
        hub_url: &str,
        token: &str,
        trust: Trust,
    ) -> anyhow::Result<Self> {
        let remote = Remote::new(hub_url, token, trust, limits.stall)?;
        let folder = Folder::open(dir.clone(), limits.total_max)
            .with_context(|| format!("cannot keep solvers in {} (SOLVER_CACHE_DIR)", dir.display()))?;
        let shared = Shared { folder: Arc::new(folder), limits, remote, flights: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Replaces the rule that tells public addresses from private ones. Call it before the first clone.
    pub fn with_public_check(mut self, is_public: IsPublic) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("the cache has not been cloned yet");
        shared.remote.is_public = is_public;
        self
    }

    pub async fn get(&self, checksum: &str, source: &Source) -> Result<Held, CacheError> {
        let checksum = Checksum::parse(checksum)?;
        loop {
            let (mut outcome, same_source) = self.join(&checksum, source);
            let landed = match outcome.wait_for(Option::is_some).await {
                Ok(landed) => landed.clone().expect("waited until it is there"),
                Err(_) => Err(CacheError::disk(
                    self.shared.folder.path(),
                    io::Error::other("the lookup ended without an answer"),
                )),
            };
            match landed {
                // Another job named a server that does not have it; ours may.
                Err(_) if !same_source => {}
                landed => return landed.map(|pin| Held { pin }),
            }
        }
    }

    /// Boards the flight for this checksum, or starts it.
    fn join(&self, checksum: &Checksum, source: &Source) -> (watch::Receiver<Landed>, bool) {
        let mut flights = self.shared.flights();
        if let Some(flight) = flights.get(checksum) {
            return (flight.outcome.subscribe(), flight.source == *source);
        }
        let (sender, outcome) = watch::channel(None);
        let flight = Arc::new(Flight { source: source.clone(), outcome: sender });
        flights.insert(checksum.clone(), flight.clone());
        // A runtime that is shutting down drops the task at once, which takes the flight off the map.
        drop(flights);
        let pilot = Pilot { shared: self.shared.clone(), checksum: checksum.clone(), flight };
        tokio::spawn(pilot.fly());
        (outcome, true)
    }
}

/// A flight's task. Takes the flight off the map even if the task dies.
struct Pilot {
    shared: Arc<Shared>,
    checksum: Checksum,
    flight: Arc<Flight>,
}

impl Pilot {
    async fn fly(self) {
        let mut work = Box::pin(self.shared.find_or_fetch(&self.checksum, &self.flight.source));
        loop {
            tokio::select! {
                outcome = &mut work => {
                    self.flight.outcome.send_replace(Some(outcome.map(Arc::new)));
                    return;
                }
                () = self.flight.outcome.closed() => {
                    let mut flights = self.shared.flights();
                    // Nobody can board while the map is locked.
                    if self.flight.outcome.receiver_count() == 0 {
                        flights.remove(&self.checksum);
                        return;
                    }
                }
            }
        }
    }
}

impl Drop for Pilot {
    fn drop(&mut self) {
        let mut flights = self.shared.flights();
        if flights.get(&self.checksum).is_some_and(|current| Arc::ptr_eq(current, &self.flight)) {
            flights.remove(&self.checksum);
        }
    }
}

impl Shared {
    async fn find_or_fetch(&self, checksum: &Checksum, source: &Source) -> Result<Pin, CacheError> {
        let (folder, wanted) = (self.folder.clone(), checksum.clone());
        if let Some(pin) = on_disk(&self.folder, move || folder.pin(&wanted)).await? {
            return Ok(pin);
        }
        let url = self.remote.url(source, checksum)?;
        let deadline = Instant::now() + self.limits.total;
        let turn = self.turn(checksum, deadline).await?;
        let (folder, wanted) = (self.folder.clone(), checksum.clone());
        let (found, turn) = on_disk(&self.folder, move || {
            // Another agent may have fetched it while we waited for our turn.
            let found = folder.pin(&wanted)?;
            if found.is_none() {
                folder.remove_solver(&wanted)?;
            }
            Ok((found, turn))
        })
        .await?;
        if let Some(pin) = found {
            return Ok(pin);
        }
        let (folder, limits, remote) = (&self.folder, &self.limits, &self.remote);
        let started = Instant::now();
        let turn = Download { folder, remote, limits, checksum, url, deadline }.run(turn).await?;
        let duration_ms = started.elapsed().as_millis() as u64;
        tracing::info!(solver = %checksum, duration_ms, "fetched a solver");
        let (folder, wanted) = (self.folder.clone(), checksum.clone());
        on_disk(&self.folder, move || {
            let pin = install(&folder, &wanted);
            drop(turn);
            pin
        })
        .await
    }

    async fn turn(&self, checksum: &Checksum, deadline: Instant) -> Result<Turn, CacheError> {
        loop {
            let (folder, wanted) = (self.folder.clone(), checksum.clone());
            if let Some(turn) = on_disk(&self.folder, move || folder.try_turn(&wanted)).await? {
                return Ok(turn);
            }
            if Instant::now() + TURN_POLL >= deadline {
                return Err(CacheError::TooSlow { allowed: self.limits.total });
            }
            tokio::time::sleep(TURN_POLL).await;
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Checksum, Arc<Flight>>> {
        self.flights.lock().expect("nothing panics while it holds this lock")
    }
}

/// Gives a downloaded part its name, and reads it back once more before anything runs it.
fn install(folder: &Folder, checksum: &Checksum) -> io::Result<Pin> {
    folder.publish(checksum).inspect_err(|_| {
        let _ = folder.remove_part(checksum);
    })?;
    let Some(pin) = folder.pin(checksum)? else {
        folder.remove_solver(checksum)?;
        return Err(io::Error::other("a solver reads back differently from what was written"));
    };
    folder.make_room(0, Some(checksum))?;
    Ok(pin)
}

/// Runs what hashes, syncs or searches folders away from the threads that serve the network.
async fn on_disk<T: Send + 'static>(
    folder: &Folder,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CacheError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other).flatten().map_err(|error| CacheError::disk(folder.path(), error))
}
