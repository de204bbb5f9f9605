//! What goes wrong next, and for how long: chance with a seed, so that a run can be had again.

use crate::between::line::Weather;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The hub is killed and comes back after this long.
    HubDies(Duration),
    AgentDies(usize, Duration),
    /// An agent's line, for this long.
    Weather(usize, Weather, Duration),
    LineBreaks(usize),
}

/// A cut of this length costs the leases of what runs behind it.
const LONG_CUT: Duration = Duration::from_secs(75);

pub struct Chance {
    state: u64,
    agents: usize,
    long_cuts: bool,
}

impl Chance {
    pub fn new(seed: u64, agents: usize, long_cuts: bool) -> Self {
        // Any number but 0 leads through all numbers.
        Self { state: seed.max(1), agents, long_cuts }
    }

    pub fn pause(&mut self) -> Duration {
        self.ms(500, 3_500)
    }

    /// Something that happens, with or without a death.
    pub fn next(&mut self, deaths: bool) -> Trouble {
        let agent = usize::try_from(self.below(self.agents as u64)).unwrap_or(0);
        match self.below(100) {
            0..25 if deaths => Trouble::HubDies(self.ms(0, 3_000)),
            25..55 if deaths => Trouble::AgentDies(agent, self.ms(0, 3_000)),
            55..58 if self.long_cuts => Trouble::Weather(agent, Weather::Cut, LONG_CUT),
            55..75 => Trouble::Weather(agent, Weather::Cut, self.ms(200, 8_000)),
            75..90 => Trouble::Weather(agent, Weather::Slow(self.ms(20, 400)), self.ms(1_000, 10_000)),
            _ => Trouble::LineBreaks(agent),
        }
    }

    fn ms(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }

    /// xorshift: small, and the same everywhere.
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_brings_the_same_trouble_of_every_kind() {
        let all = |deaths| {
            let mut chance = Chance::new(7, 2, true);
            (0..500).map(|_| chance.next(deaths)).collect::<Vec<_>>()
        };
        assert_eq!(all(true), all(true));
        let has = |of: fn(&Trouble) -> bool, deaths| all(deaths).iter().any(of);
        let dies = |trouble: &Trouble| matches!(trouble, Trouble::HubDies(_) | Trouble::AgentDies(..));
        assert!(has(|trouble| matches!(trouble, Trouble::HubDies(_)), true));
        assert!(has(|trouble| matches!(trouble, Trouble::AgentDies(1, _)), true));
        assert!(has(|trouble| matches!(trouble, Trouble::Weather(0, Weather::Cut, LONG_CUT)), true));
        assert!(!has(dies, false) && has(|trouble| matches!(trouble, Trouble::LineBreaks(_)), false));
    }
}
