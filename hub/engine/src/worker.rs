//! Workers as far as decisions need them.

use alloc::{collections::VecDeque, sync::Arc};
use forge_shared::{BootId, WorkerId};

/// How many earlier processes of one name are remembered.
const BOOTS_MAX: usize = 16;
/// A worker that was heard of this recently is not written again just for being heard.
const HEARD_AGAIN_MS: i64 = 5_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    pub id: WorkerId,
    /// Its description, opaque here.
    pub about: Arc<str>,
    pub boot: Option<BootId>,
    /// Processes that a newer one replaced.
    pub superseded: VecDeque<BootId>,
    pub draining: bool,
    pub lost: bool,
    pub registered_at: i64,
    pub last_heartbeat: Option<i64>,
    /// Monotonic; not stored.
    pub heard_ms: i64,
    pub busy: Option<u32>,
    pub rss_kb: Option<u64>,
    pub outbox: Option<u32>,
}

impl Worker {
    /// Whether a caller speaks for a process that was replaced.
    pub fn is_superseded(&self, boot: Option<&BootId>) -> bool {
        match (boot, &self.boot) {
            (Some(caller), Some(current)) => caller != current,
            _ => false,
        }
    }

    pub fn was_superseded(&self, boot: &BootId) -> bool {
        self.superseded.contains(boot)
    }

    pub fn take_over(&mut self, boot: Option<BootId>) {
        if self.boot == boot {
            return;
        }
        if let Some(old) = core::mem::replace(&mut self.boot, boot) {
            self.superseded.push_back(old);
            if self.superseded.len() > BOOTS_MAX {
                self.superseded.pop_front();
            }
        }
    }

    /// Notes that it was heard of. True when that should be saved.
    pub fn hear(&mut self, wall_ms: i64, mono_ms: i64) -> bool {
        let again = !self.lost
            && self.last_heartbeat.is_some()
            && mono_ms.saturating_sub(self.heard_ms) < HEARD_AGAIN_MS;
        if again {
            return false;
        }
        self.heard_ms = mono_ms;
        self.last_heartbeat = Some(wall_ms);
        self.lost = false;
        true
    }
}
