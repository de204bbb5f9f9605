//! What stands between this machine and the hub.
