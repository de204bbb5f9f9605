//! A network of two: this machine and a namespace, joined by a cable that can be pulled.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

pub struct Cable {
    number: u32,
    namespace: String,
    /// This machine's address on the cable.
    pub here: String,
    device: String,
}

impl Cable {
    /// `None`, with the reason printed, where this is not allowed.
    pub fn lay() -> Option<Self> {
        static LAID: AtomicU32 = AtomicU32::new(0);
        // Tests run in processes of their own at the same time: the number is unique on this machine.
        let number =
            std::process::id().wrapping_mul(7).wrapping_add(LAID.fetch_add(1, Ordering::Relaxed)) % 15_000;
        let (a, b) = (number / 250, number % 250);
        let cable = Self {
            number,
            namespace: format!("forge-{number}"),
            here: format!("10.213.{a}.{}", b + 1),
            device: format!("fg{number}a"),
        };
        let (namespace, here, near) = (&cable.namespace, &cable.here, &cable.device);
        let far = format!("fg{number}b");
        let there = format!("10.214.{a}.{}", b + 1);
        let steps = [
            format!("netns add {namespace}"),
            format!("link add {near} type veth peer name {far} netns {namespace}"),
            format!("addr add {here}/32 peer {there} dev {near}"),
            format!("link set {near} up"),
            format!("-n {namespace} addr add {there}/32 peer {here} dev {far}"),
            format!("-n {namespace} link set {far} up"),
            format!("-n {namespace} link set lo up"),
        ];
        for step in steps {
            if let Err(why) = ip(&step) {
                eprintln!("SKIPPED: no network of our own can be made here: {why}");
                return None;
            }
        }
        Some(cable)
    }

    /// What runs a program at the other end.
    pub fn wrapper(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.namespace].map(str::to_owned).to_vec()
    }

    /// A second address of this machine on the cable, one that looks like the wide world's.
    pub fn add_public_address(&self) -> String {
        let Self { number, namespace, device, .. } = self;
        let public = format!("11.213.{}.{}", number / 250, number % 250 + 1);
        ip(&format!("addr add {public}/32 dev {device}")).expect("add an address");
        ip(&format!("-n {namespace} route add {public}/32 dev fg{number}b")).expect("add the way there");
        public
    }

    /// From now on nothing arrives, and nobody is told.
    pub fn pull(&self) {
        ip(&format!("link set {} down", self.device)).expect("pull the cable");
    }

    pub fn plug_in(&self) {
        ip(&format!("link set {} up", self.device)).expect("plug the cable in");
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = ip(&format!("link del {}", self.device));
        let _ = ip(&format!("netns del {}", self.namespace));
    }
}

fn ip(arguments: &str) -> Result<(), String> {
    let output =
        Command::new("ip").args(arguments.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
