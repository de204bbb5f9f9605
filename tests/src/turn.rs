//! Who may run beside whom. Tests that measure time or load the machine run alone; the others
//! share it. (Under nextest each test is a process and its configuration does the same.)

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static MACHINE: RwLock<()> = RwLock::const_new(());

/// Held by every started hub of an ordinary test.
pub async fn shared() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().await
}

/// Held for the length of a test that must not be disturbed.
pub async fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().await
}
