//! The thread that alone changes the files. It takes what waits, appends all of it, syncs once
//! and only then answers: many outcomes that end at about the same time share one sync.

use super::{EntryId, OutboxError, Outcome, Pending, Place, Shared, record};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;
use tracing::{error, warn};

/// A longer segment is left for a new one, so that what was sent gives its space back.
const SEGMENT_BYTES_MAX: u64 = 16 << 20;
/// The segment in use is emptied in place when nothing in it is pending any more and it is at
/// least this long; for less, taking up fresh blocks would cost more than the space is worth.
const RESET_BYTES_MIN: u64 = 1 << 20;
const COMMIT_ENTRIES_MAX: usize = 1_000;
/// How long an outcome waits for others that are expected soon.
const COMPANY_WAIT: Duration = Duration::from_millis(20);

pub(super) enum Command {
    Put { outcome: Arc<Outcome>, more: bool, reply: oneshot::Sender<Result<EntryId, OutboxError>> },
    Remove { places: Vec<Place>, done: oneshot::Sender<()> },
}

pub(super) struct Writer {
    pub(super) dir: PathBuf,
    pub(super) shared: Arc<Shared>,
    pub(super) next_id: u64,
    pub(super) next_segment: u64,
    /// How many entries of each segment are pending.
    pub(super) live: BTreeMap<u64, usize>,
    pub(super) active: Option<Segment>,
}

pub(super) struct Segment {
    number: u64,
    file: File,
    end: u64,
    /// Half a record stands at the end and could not be taken back.
    torn: bool,
}

struct Appended {
    id: EntryId,
    place: Place,
    outcome: Arc<Outcome>,
    reply: oneshot::Sender<Result<EntryId, OutboxError>>,
}

impl Writer {
    pub(super) fn run(mut self, inbox: &mpsc::Receiver<Command>) {
        while let Ok(first) = inbox.recv() {
            let mut appended = Vec::new();
            let mut next = Some(first);
            // Since the first outcome that waits for others, until one comes after which no more are expected.
            let mut wait_until = None;
            while let Some(command) = next {
                match command {
                    Command::Put { outcome, more, reply } => {
                        match self.append(&outcome) {
                            Ok((id, place)) => appended.push(Appended { id, place, outcome, reply }),
                            Err(source) => drop(reply.send(Err(OutboxError::new(&self.dir, source)))),
                        }
                        let until = wait_until.unwrap_or_else(|| Instant::now() + COMPANY_WAIT);
                        wait_until = Some(if more { until } else { Instant::now() });
                    }
                    Command::Remove { places, done } => {
                        places.into_iter().for_each(|place| self.remove(place));
                        // Nobody has to wait for it.
                        let _ = done.send(());
                    }
                }
                let enough = appended.len() >= COMMIT_ENTRIES_MAX || self.segment_is_over();
                let wait =
                    wait_until.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
                next = if enough { None } else { inbox.recv_timeout(wait).ok() };
            }
            self.commit(appended);
            if self.segment_is_over() {
                self.leave_segment();
            }
        }
    }

    fn segment_is_over(&self) -> bool {
        self.active.as_ref().is_some_and(|segment| segment.torn || segment.end >= SEGMENT_BYTES_MAX)
    }

    fn append(&mut self, outcome: &Outcome) -> io::Result<(EntryId, Place)> {
        let record = record::encode(outcome)?;
        let segment = match &mut self.active {
            Some(segment) => segment,
            none => none.insert(new_segment(&self.dir, &mut self.next_segment)?),
        };
        let place = Place { segment: segment.number, at: segment.end };
        if let Err(error) = segment.file.write_all_at(&record, segment.end) {
            // Half a record is taken back: what follows must not stand behind it.
            segment.torn = segment.file.set_len(segment.end).is_err();
            return Err(error);
        }
        segment.end += record.len() as u64;
        *self.live.entry(place.segment).or_default() += 1;
        let id = EntryId(self.next_id);
        self.next_id += 1;
        Ok((id, place))
    }

    fn commit(&mut self, appended: Vec<Appended>) {
        let (Some(segment), Some(first)) = (&self.active, appended.first()) else { return };
        if let Err(error) = segment.file.sync_data() {
            // After a failed sync nobody knows which of the bytes reached the disk, and a second
            // sync may claim success for them: they are taken back and the file is left alone.
            if let Err(error) = segment.file.set_len(first.place.at) {
                warn!(%error, dir = %self.dir.display(), "unsynced outcomes stay in the outbox");
            }
            if let Some(live) = self.live.get_mut(&segment.number) {
                *live -= appended.len();
            }
            self.leave_segment();
            let (kind, why) = (error.kind(), error.to_string());
            for Appended { reply, .. } in appended {
                let error = io::Error::new(kind, why.clone());
                drop(reply.send(Err(OutboxError::new(&self.dir, error))));
            }
            return;
        }
        let mut pending = self.shared.pending();
        let mut replies = Vec::with_capacity(appended.len());
        for Appended { id, place, outcome, reply } in appended {
            pending.insert(id, Pending { place, outcome });
            replies.push((id, reply));
        }
        drop(pending);
        for (id, reply) in replies {
            // Whoever put it may be gone; the outcome is kept and sent all the same.
            drop(reply.send(Ok(id)));
        }
        self.shared.put.notify_one();
    }

    /// Without a sync: an entry that comes back after a power loss is sent once more, and the
    /// hub knows it.
    fn remove(&mut self, place: Place) {
        let marked = match &self.active {
            Some(segment) if segment.number == place.segment => mark_removed(&segment.file, place.at),
            _ => File::options()
                .write(true)
                .open(segment_path(&self.dir, place.segment))
                .and_then(|file| mark_removed(&file, place.at)),
        };
        if let Err(error) = marked {
            warn!(%error, dir = %self.dir.display(), "an outcome that the hub has may be sent again");
        }
        let live = self.live.entry(place.segment).or_default();
        *live = live.saturating_sub(1);
        if *live > 0 {
            return;
        }
        match &mut self.active {
            Some(segment) if segment.number == place.segment => {
                if segment.end >= RESET_BYTES_MIN && segment.file.set_len(0).is_ok() {
                    segment.end = 0;
                }
            }
            _ => self.delete(place.segment),
        }
    }

    fn leave_segment(&mut self) {
        if let Some(segment) = self.active.take()
            && self.live.get(&segment.number).is_none_or(|live| *live == 0)
        {
            self.delete(segment.number);
        }
    }

    fn delete(&mut self, segment: u64) {
        self.live.remove(&segment);
        let path = segment_path(&self.dir, segment);
        if let Err(error) = std::fs::remove_file(&path) {
            error!(%error, path = %path.display(), "an outbox file with nothing in it cannot be removed");
        }
    }
}

fn mark_removed(file: &File, at: u64) -> io::Result<()> {
    file.write_all_at(&[record::REMOVED], at + record::STATE as u64)
}

pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.outcomes"))
}

fn new_segment(dir: &Path, number: &mut u64) -> io::Result<Segment> {
    let path = segment_path(dir, *number);
    let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    *number += 1;
    // The name must last as well as what is written under it.
    if let Err(error) = sync_dir(dir) {
        drop(std::fs::remove_file(&path));
        return Err(error);
    }
    Ok(Segment { number: *number - 1, file, end: 0, torn: false })
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_shared::{JobId, LeaseId};
    use std::sync::Mutex;
    use tokio::sync::Notify;

    fn put() -> (Command, oneshot::Receiver<Result<EntryId, OutboxError>>) {
        let (reply, answer) = oneshot::channel();
        let (job_id, lease_id) = (JobId::new("j").unwrap(), LeaseId::new("l").unwrap());
        (
            Command::Put { outcome: Arc::new(Outcome::Release { job_id, lease_id }), more: false, reply },
            answer,
        )
    }

    #[test]
    fn outcome_that_could_not_be_synced_is_refused_and_the_next_one_kept() {
        let dir = tempfile::TempDir::new().unwrap();
        let shared = Arc::new(Shared { pending: Mutex::default(), put: Notify::new() });
        // Takes every byte and can be neither synced nor cut.
        let file = File::options().write(true).open("/dev/null").unwrap();
        let writer = Writer {
            dir: dir.path().to_owned(),
            shared: Arc::clone(&shared),
            next_id: 0,
            next_segment: 2,
            live: BTreeMap::new(),
            active: Some(Segment { number: 1, file, end: 0, torn: false }),
        };
        let (inbox, commands) = mpsc::channel();
        let thread = std::thread::spawn(move || writer.run(&commands));
        let (command, refused) = put();
        inbox.send(command).unwrap();
        assert!(matches!(refused.blocking_recv().unwrap(), Err(OutboxError::Write { .. })));
        assert!(shared.pending().is_empty());

        let (command, kept) = put();
        inbox.send(command).unwrap();
        kept.blocking_recv().unwrap().unwrap();
        assert_eq!(shared.pending().len(), 1);
        drop(inbox);
        thread.join().unwrap();
        assert_eq!(record::scan(&std::fs::read(segment_path(dir.path(), 2)).unwrap()).pending.len(), 1);
    }
}
