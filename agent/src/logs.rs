//! A running job's log on its way to the hub.
