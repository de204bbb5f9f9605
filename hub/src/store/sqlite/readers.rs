//! Read-only connections. A read never waits for the writer, nor the writer for a read.

use super::{open, writer::to_error};
use crate::store::Error;
use rusqlite::Connection;
use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use tokio::sync::Semaphore;

#[derive(Clone)]
pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    count: u32,
}

impl Readers {
    /// `count`: how many reads go on at once.
    pub(super) fn open(path: &Path, count: u32) -> rusqlite::Result<Self> {
        let idle = (0..count).map(|_| open::reader(path)).collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            idle: Arc::new(Mutex::new(idle)),
            permits: Arc::new(Semaphore::new(count as usize)),
            count,
        })
    }

    pub(super) async fn read<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
        let idle = self.idle.clone();
        let work = move || {
            let connection = idle.lock().expect("no reader panics with the lock").pop();
            let connection = connection.ok_or(Error::Closed)?;
            // One snapshot for all statements of this read.
            let result = connection
                .execute_batch("BEGIN")
                .and_then(|()| read(&connection))
                .map_err(|error| to_error(&error));
            let _ = connection.execute_batch("COMMIT");
            idle.lock().expect("no reader panics with the lock").push(connection);
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| Error::Database(error.to_string()))?
    }

    /// A read of a few small rows, done by the calling thread: handing it to another would cost
    /// more than the read itself. `None` when every reader is busy.
    pub(super) fn at_once<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Option<Result<T, Error>> {
        let _permit = self.permits.try_acquire().ok()?;
        let connection = self.idle.lock().expect("no reader panics with the lock").pop()?;
        let result = read(&connection).map_err(|error| to_error(&error));
        self.idle.lock().expect("no reader panics with the lock").push(connection);
        Some(result)
    }

    pub(super) async fn close(&self) {
        let _ = self.permits.acquire_many(self.count).await;
        self.permits.close();
        self.idle.lock().expect("no reader panics with the lock").clear();
    }
}
