//! `queuectl top`: the hub on a whole screen, live.
//!
//! [`model`] knows what is shown and what keys do, [`view`] draws it; both are pure. [`feed`] talks to the
//! hub. Here they come together with a terminal, which is left as it was found.

mod feed;
mod log;
mod model;
mod rows;
mod view;

use crate::{hub::Hub, output::tone, problem::Problem};
use feed::Feed;
use forge_shared::overview::Overview;
use model::{Effect, Model, Update};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEventKind},
};
use std::{
    io::{self, IsTerminal as _},
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};
use view::Palette;

/// What has not been drawn yet.
const UPDATES_MAX: usize = 64;
/// Ages are counted in seconds.
const TICK: Duration = Duration::from_secs(1);

pub(crate) async fn run(hub: &Hub) -> Result<(), Problem> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Problem::usage(
            "top needs a terminal",
            "`queuectl overview` and `queuectl jobs list` tell the same once, in any format",
        ));
    }
    // What is wrong from the beginning is told where it stays readable.
    let overview: Overview = hub.get("/api/overview").read().await?;
    let mut ends = Ends::new()?;
    let mut screen = Screen::open()?;
    let done = show(hub, overview, &mut screen, &mut ends).await;
    drop(screen);
    done
}

async fn show(hub: &Hub, overview: Overview, screen: &mut Screen, ends: &mut Ends) -> Result<(), Problem> {
    let started = Instant::now();
    let palette = Palette { colours: tone::is_wanted() };
    let mut model = Model::new(hub.url());
    model.update(Update::Overview(Box::new(overview)), started.elapsed());
    let (sender, mut updates) = mpsc::channel(UPDATES_MAX);
    let mut feed = Feed::start(hub, sender);
    let mut keys = keys();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        screen.0.draw(|frame| view::draw(frame, &mut model, started.elapsed(), palette))?;
        tokio::select! {
            key = keys.recv() => match key.transpose()? {
                None => return Ok(()),
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    match model.key(key, started.elapsed()) {
                        Some(Effect::Quit) => return Ok(()),
                        Some(effect) => feed.act(effect),
                        None => {}
                    }
                }
                Some(_) => {}
            },
            Some(update) = updates.recv() => {
                model.update(update, started.elapsed());
                while let Ok(update) = updates.try_recv() {
                    model.update(update, started.elapsed());
                }
            }
            _ = tick.tick() => {}
            () = ends.come() => return Ok(()),
        }
    }
}

/// Keys as they are pressed. The thread waits for them until the program ends.
fn keys() -> mpsc::UnboundedReceiver<io::Result<Event>> {
    let (sender, keys) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        loop {
            let read = event::read();
            let is_over = read.is_err();
            if sender.send(read).is_err() || is_over {
                return;
            }
        }
    });
    keys
}

/// Signals that end the program, and leave it the time to clean up.
struct Ends([Signal; 3]);

impl Ends {
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
        ]))
    }

    async fn come(&mut self) {
        let [terminate, hangup, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// The whole terminal; given back when dropped, and by a panic before it is told.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Self> {
        ratatui::try_init().map(Self).inspect_err(|_| ratatui::restore())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
        // After a panic that is done, and to do it again would write over what the panic said.
        if !std::thread::panicking() {
            ratatui::restore();
        }
    }
}

#[cfg(test)]
mod tests;
