//! `make soak`: a hub and two agents under load for as long as `DURATION` says. In the first half all are killed at random; in
//! the second they live, so that their memory can be watched. All the time lines are slow, cut, or break.

use crate::agent::upload;
use forge_tests::{
    agent::{Agent, AgentOptions},
    between::line::{Line, Weather},
    history,
    hub::{Hub, Options},
    load::{Load, Place},
    proc,
    soak::{
        customers::{self, Ledger},
        memory::{self, GROWTH_MAX_KIB, GROWTH_MAX_PERCENT, Series, mib},
        trouble::{Chance, Trouble},
    },
    turn,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::sync::watch;

const AGENTS: usize = 2;
const SLOTS: &str = "2";
const CUSTOMERS: usize = 16;
/// Clients of the API that also misuse what they once held.
const PRODUCERS: usize = 1;
const WORKERS: usize = 2;
const PACE: Duration = Duration::from_millis(50);
const TELL_EVERY: Duration = Duration::from_secs(10);
/// Until the last job has its end: leases may have to run out twice.
const END_MAX: Duration = Duration::from_secs(240);

struct Fleet {
    hub: Hub,
    agents: Vec<Agent>,
    lines: Vec<Arc<Line>>,
    load: Load,
    place: watch::Sender<Place>,
    counts: Counts,
    hub_memory: Series,
    agent_memory: Vec<Series>,
}

#[derive(Debug, Default)]
struct Counts {
    hub_deaths: u32,
    agent_deaths: u32,
    cuts: u32,
    slow: u32,
    breaks: u32,
}

impl Fleet {
    async fn start() -> (Self, String) {
        let hub = Hub::start(Options::default()).await;
        let checksum = upload(&hub, customers::PROGRAM).await;
        let load = Load::start_paced(&hub, PRODUCERS, WORKERS, PACE).await;
        let (mut agents, mut lines) = (Vec::new(), Vec::new());
        for n in 0..AGENTS {
            let line = Line::lay(hub.address()).await;
            let options = AgentOptions::default()
                .id(&format!("machine-{n}"))
                .env("WORKER_TYPES", &format!("[{:?}]", customers::TYPE))
                .env("WORKER_SLOTS", SLOTS);
            agents.push(Agent::start_at(&line.url(), options));
            lines.push(Arc::new(line));
        }
        let place = watch::Sender::new(Place::At(hub.address()));
        let agent_memory = vec![Series::default(); AGENTS];
        let fleet = Self {
            hub,
            agents,
            lines,
            load,
            place,
            counts: Counts::default(),
            hub_memory: Series::default(),
            agent_memory,
        };
        (fleet, checksum)
    }

    async fn suffer(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::HubDies(away) => {
                self.counts.hub_deaths += 1;
                self.hub.kill9().await;
                self.tell(Place::Down);
                tokio::time::sleep(away).await;
                self.hub.restart().await;
                for line in &self.lines {
                    line.lead_to(self.hub.address());
                }
                self.tell(Place::At(self.hub.address()));
            }
            Trouble::AgentDies(n, away) => {
                self.counts.agent_deaths += 1;
                self.agents[n].kill9().await;
                tokio::time::sleep(away).await;
                self.agents[n].start_again();
            }
            Trouble::Weather(n, weather, lasts) => {
                match weather {
                    Weather::Slow(_) => self.counts.slow += 1,
                    _ => self.counts.cuts += 1,
                }
                let line = self.lines[n].clone();
                line.set(weather);
                tokio::spawn(async move {
                    tokio::time::sleep(lasts).await;
                    line.set(Weather::Fine);
                });
            }
            Trouble::LineBreaks(n) => {
                self.counts.breaks += 1;
                self.lines[n].break_off();
            }
        }
    }

    fn tell(&self, place: Place) {
        self.load.place(place);
        self.place.send_replace(place);
    }

    fn look_at_memory(&mut self) {
        self.hub_memory.push(proc::rss_kib(self.hub.pid()));
        for (series, agent) in self.agent_memory.iter_mut().zip(&self.agents) {
            series.push(proc::rss_kib(agent.pid()));
        }
    }

    fn say(&self, began: Instant, ledger: &Ledger) {
        let Counts { hub_deaths, agent_deaths, cuts, slow, breaks } = self.counts;
        let agents: Vec<String> = self.agents.iter().map(|agent| mib(proc::rss_kib(agent.pid()))).collect();
        println!(
            "{:>5} s  jobs {} done of {}, {} API calls; killed: hub {hub_deaths}, agents {agent_deaths}; lines: {cuts} cut, \
             {slow} slow, {breaks} broken; MiB: hub {}, agents {}",
            began.elapsed().as_secs(),
            ledger.completed.load(Relaxed),
            ledger.acknowledged.load(Relaxed),
            self.load.calls_made(),
            mib(proc::rss_kib(self.hub.pid())),
            agents.join(" "),
        );
    }

    /// Lives for so long, and says every ten seconds how it does.
    async fn live(
        &mut self,
        began: Instant,
        until: Instant,
        deaths: bool,
        chance: &mut Chance,
        ledger: &Ledger,
    ) {
        let mut told = Instant::now();
        let mut next_trouble = Instant::now() + chance.pause();
        while Instant::now() < until {
            tokio::time::sleep(memory::EVERY.min(until.saturating_duration_since(Instant::now()))).await;
            if !deaths {
                self.look_at_memory();
            }
            if Instant::now() >= next_trouble {
                self.suffer(chance.next(deaths)).await;
                next_trouble = Instant::now() + chance.pause();
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                self.say(began, ledger);
            }
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long run, started by `make soak`"]
async fn fleet_keeps_its_promises_for_as_long_as_it_is_told() {
    let _turn = turn::alone().await;
    let duration = Duration::from_secs(number("DURATION", 600));
    let seed = number("SEED", u64::from(std::process::id()));
    println!("{} s, the first half with deaths; SEED={seed} brings the same trouble", duration.as_secs());
    let mut chance = Chance::new(seed, AGENTS, duration >= Duration::from_secs(600));
    let (mut fleet, checksum) = Fleet::start().await;
    let ledger = Arc::new(Ledger::default());
    let leaving = watch::Sender::new(false);
    let mut shopping =
        customers::send_in(CUSTOMERS, &checksum, &fleet.place.subscribe(), &leaving.subscribe(), &ledger);
    let began = Instant::now();
    fleet.live(began, began + duration / 2, true, &mut chance, &ledger).await;
    fleet.live(began, began + duration, false, &mut chance, &ledger).await;

    for line in &fleet.lines {
        line.set(Weather::Fine);
    }
    leaving.send_replace(true);
    let ends = async { while shopping.join_next().await.is_some_and(|ended| ended.is_ok()) {} };
    let all_ended = tokio::time::timeout(END_MAX, ends).await.is_ok();
    fleet.say(began, &ledger);
    assert!(all_ended, "acknowledged and not completed {END_MAX:?} later: {:#?}", ledger.open());
    let Fleet { hub, load, counts, hub_memory, agent_memory, agents: _agents, lines: _lines, .. } = fleet;
    let mut history = load.finish(&hub).await.expect("the clients and the watcher end well");

    // The jobs of agents may lose several workers in the same words, which is no failure told twice.
    let (theirs, others): (Vec<_>, Vec<_>) =
        history.kept.into_iter().partition(|job| job.marker.starts_with("customer-"));
    history.kept = others;
    let broken = history::check(&history);
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for job in theirs.iter().filter(|job| job.status == "completed") {
        *kept.entry(&job.marker).or_default() += 1;
    }
    let (acknowledged, completed) = (ledger.acknowledged.load(Relaxed), ledger.completed.load(Relaxed));
    println!(
        "{acknowledged} jobs of agents acknowledged, {} kept as completed, each once: {}; {} sent again by hand; {counts:?}",
        kept.len(),
        kept.values().all(|&times| times == 1),
        ledger.sent_again.load(Relaxed),
    );
    println!(
        "{} calls of other clients, {} of their jobs, {} promises broken",
        history.calls.len(),
        history.kept.len(),
        broken.len()
    );
    let mut grew = Vec::new();
    for (name, series) in [("hub".to_owned(), &hub_memory)]
        .into_iter()
        .chain(agent_memory.iter().enumerate().map(|(n, series)| (format!("agent {n}"), series)))
    {
        println!("{name}: MiB over the second half: {}", series.some(24));
        if let Some((first, last)) = series.quarters() {
            println!("{name}: MiB min / median / max: first quarter {first}, last quarter {last}");
        }
        if series.grew() {
            grew.push(name);
        }
    }
    assert_eq!(broken, []);
    assert_eq!(ledger.wrong(), [""; 0]);
    assert_eq!(completed, acknowledged, "none is lost");
    assert_eq!(kept.len() as u64, acknowledged, "each is there");
    assert_eq!(theirs.len() as u64, acknowledged, "none is there twice");
    assert!(acknowledged > duration.as_secs(), "the fleet was idle: {acknowledged} jobs");
    assert!(
        grew.is_empty(),
        "memory of {grew:?} grew by more than {GROWTH_MAX_PERCENT} % and {} MiB",
        mib(GROWTH_MAX_KIB)
    );
}
