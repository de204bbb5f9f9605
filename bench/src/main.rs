//! `forge-bench [scenario...]`: prints one figure a line.

use anyhow::Context;
use clap::Parser;
use forge_bench::{
    bare, figures,
    scenario::{self, Effort, NAMES},
};

/// Measures the hub beside this program and prints `name: value unit`, one figure a line.
#[derive(Parser)]
struct Arguments {
    /// What to measure: store, enqueue, lifecycle, latency, memory, scale, dashboard, agent, queuectl. All when left out.
    scenarios: Vec<String>,
    /// Smaller numbers and shorter turns: under a minute, for a first impression.
    #[arg(long)]
    quick: bool,
    /// Serve the handler that enqueueing is compared with.
    #[arg(long, hide = true)]
    bare_server: bool,
}

/// The load average, when others use the machine too.
fn busy() -> Option<f64> {
    let load: f64 = std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()?;
    (load > 1.0).then_some(load)
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.bare_server {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(bare::serve());
    }
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let names: Vec<String> = match arguments.scenarios.as_slice() {
        [] => NAMES.iter().map(|name| (*name).to_owned()).collect(),
        given => given.to_vec(),
    };
    if let Some(load) = busy() {
        figures::remark(&format!("the machine is busy (load {load}): these figures say little"));
    }
    for name in names {
        // One thread: the client must leave the machine to what it measures. The store runs in
        // this process and gets the threads it would have in a hub.
        let mut builder = match name.as_str() {
            "store" => tokio::runtime::Builder::new_multi_thread(),
            _ => tokio::runtime::Builder::new_current_thread(),
        };
        let runtime = builder.enable_all().build()?;
        runtime.block_on(scenario::run(&name, effort)).with_context(|| format!("scenario {name}"))?;
    }
    Ok(())
}
