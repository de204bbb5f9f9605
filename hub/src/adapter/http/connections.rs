//! How many connections there are, in all and by address.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Counts connections; locked only when one opens or closes.
#[derive(Debug, Clone)]
pub(super) struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max: usize,
    per_address_max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

impl Connections {
    pub(super) fn new(max: usize, per_address_max: usize) -> Self {
        Self(Arc::new(Inner { max, per_address_max, open: Mutex::default() }))
    }

    /// A place for one more connection, if there is one; free again when it is dropped. A proxy
    /// stands for many clients: it has only the common cap.
    pub(super) fn enter(&self, address: IpAddr, is_proxy: bool) -> Option<Slot> {
        let address = address.to_canonical();
        let mut open = self.open();
        if open.all >= self.0.max {
            return None;
        }
        let counted = !is_proxy && !address.is_loopback();
        if counted {
            let from_here = open.by_address.entry(address).or_default();
            if *from_here >= self.0.per_address_max {
                return None;
            }
            *from_here += 1;
        }
        open.all += 1;
        Some(Slot { connections: self.clone(), address: counted.then_some(address) })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Slot {
    connections: Connections,
    /// Set when it counts against the address.
    address: Option<IpAddr>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.all -= 1;
        if let Some(address) = self.address
            && let Entry::Occupied(mut from_here) = open.by_address.entry(address)
        {
            *from_here.get_mut() -= 1;
            if *from_here.get() == 0 {
                from_here.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_every_place() {
        let connections = Connections::new(4, 2);
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let first = connections.enter(a, false).unwrap();
        let _second = connections.enter(a, false).unwrap();
        assert!(connections.enter(a, false).is_none());
        let _other = connections.enter(b, false).unwrap();
        let proxied = connections.enter(a, true).unwrap();
        drop(proxied);
        assert!(connections.enter(a, false).is_none());
        drop(first);
        assert!(connections.enter(a, false).is_some());
    }

    #[test]
    fn loopback_has_only_the_common_cap_and_closing_leaves_nothing_behind() {
        let connections = Connections::new(3, 1);
        let here = IpAddr::from([127, 0, 0, 1]);
        let slots: Vec<_> = (0..3).map(|_| connections.enter(here, false).unwrap()).collect();
        assert!(connections.enter(here, false).is_none());
        assert!(connections.enter(IpAddr::from([10, 0, 0, 1]), false).is_none());
        drop(slots);
        drop(connections.enter(IpAddr::from([10, 0, 0, 1]), false).unwrap());
        let open = connections.open();
        assert_eq!((open.all, open.by_address.len()), (0, 0));
    }
}
