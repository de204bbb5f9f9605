//! What is known, what is looked at, and what keys do. Pure: no terminal, no hub, no clock.

use super::{
    log::Log,
    rows::{self, AGE, Row},
};
use forge_shared::{Job, fleet::Node, overview::Overview, response::Worker};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::{collections::BTreeMap, time::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Machines,
    Queues,
    Jobs,
}

impl Pane {
    pub(super) const ALL: [Self; 3] = [Self::Machines, Self::Queues, Self::Jobs];
}

/// Which jobs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum View {
    #[default]
    Running,
    Waiting,
    Failed,
    Newest,
}

impl View {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Failed => "failed and dead",
            Self::Newest => "newest",
        }
    }

    /// Of what goes on, the longest is looked for; of what is over, the newest.
    fn is_oldest_first(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }

    fn next(self) -> Self {
        match self {
            Self::Running => Self::Waiting,
            Self::Waiting => Self::Failed,
            Self::Failed => Self::Newest,
            Self::Newest => Self::Running,
        }
    }
}

/// What jobs are asked of the hub.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    pub(super) view: View,
    pub(super) queue: Option<String>,
    pub(super) machine: Option<String>,
    /// The start of an id, or part of a type, tag or reason.
    pub(super) text: String,
}

/// What the hub said last. `None` is what it has not said yet.
#[derive(Debug, Default)]
pub(super) struct Data {
    pub(super) overview: Option<Overview>,
    /// When the overview came: with it, the hub's time is known.
    overview_at: Duration,
    pub(super) workers: Option<Vec<Worker>>,
    pub(super) nodes: Option<BTreeMap<String, Node>>,
    pub(super) jobs: Option<Jobs>,
}

#[derive(Debug)]
pub(super) struct Jobs {
    pub(super) jobs: Vec<Job>,
    /// There are more than these.
    pub(super) is_cut: bool,
}

/// Something was heard, or was not.
#[derive(Debug)]
pub(super) enum Update {
    Overview(Box<Overview>),
    Workers(Vec<Worker>),
    Nodes(Vec<Node>),
    Jobs {
        wanted: Wanted,
        jobs: Vec<Job>,
        is_cut: bool,
    },
    Log {
        id: String,
        bytes: Vec<u8>,
    },
    LogOver {
        id: String,
        why: Option<String>,
    },
    /// What became of a cancel or retry.
    Notice(String),
    /// The hub did not answer, or not as hoped for.
    Trouble(String),
    /// It did.
    Heard,
}

/// What a key asks of the world.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Quit,
    Refresh,
    List(Wanted),
    OpenLog(String),
    CloseLog,
    Cancel(String),
    Retry(String),
}

#[derive(Debug)]
pub(super) enum Mode {
    Browse,
    /// A filter is being typed.
    Filter(String),
    /// Whether to cancel this job.
    Confirm {
        id: String,
        question: String,
    },
    Log {
        id: String,
        log: Box<Log>,
    },
    Help,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sorting {
    pub(super) column: usize,
    pub(super) is_reversed: bool,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) hub: String,
    pub(super) data: Data,
    pub(super) mode: Mode,
    pub(super) pane: Pane,
    pub(super) wanted: Wanted,
    pub(super) notice: Option<String>,
    pub(super) trouble: Option<String>,
    pub(super) heard_at: Option<Duration>,
    /// Of each pane, by id: what is looked at stays so while lists change.
    selected: [Option<String>; 3],
    sorting: [Sorting; 3],
    /// Rows that a list or a log has on the screen.
    pub(super) page: usize,
}

impl Model {
    pub(super) fn new(hub: &str) -> Self {
        let first = Sorting { column: 0, is_reversed: false };
        Self {
            hub: hub.to_owned(),
            data: Data::default(),
            mode: Mode::Browse,
            pane: Pane::Jobs,
            wanted: Wanted::default(),
            notice: None,
            trouble: None,
            heard_at: None,
            selected: [None, None, None],
            // The busiest queue and the job that runs the longest are what somebody looks for.
            sorting: [
                first,
                Sorting { column: 1, is_reversed: true },
                Sorting { column: AGE, is_reversed: true },
            ],
            page: 10,
        }
    }

    /// The hub's time now.
    pub(super) fn hub_now_ms(&self, now: Duration) -> Option<i64> {
        let overview = self.data.overview.as_ref()?;
        let since = now.saturating_sub(self.data.overview_at).as_millis();
        Some(overview.ts + i64::try_from(since).unwrap_or(i64::MAX))
    }

    pub(super) fn update(&mut self, update: Update, now: Duration) {
        match update {
            Update::Trouble(why) => self.trouble = Some(why),
            Update::Notice(text) => self.notice = Some(text),
            Update::Log { id, bytes } => {
                if let Some(log) = self.log_of(&id) {
                    log.append(&bytes);
                }
            }
            Update::LogOver { id, why } => {
                if let Some(log) = self.log_of(&id) {
                    log.is_over = why.is_none();
                }
                self.notice = why.or(self.notice.take());
            }
            answer => {
                self.heard_at = Some(now);
                self.trouble = None;
                self.answer(answer, now);
            }
        }
    }

    fn answer(&mut self, update: Update, now: Duration) {
        match update {
            Update::Overview(overview) => {
                self.data.overview = Some(*overview);
                self.data.overview_at = now;
            }
            Update::Workers(workers) => self.data.workers = Some(workers),
            Update::Nodes(nodes) => {
                let nodes = nodes.into_iter().map(|node| (node.id.to_string(), node));
                self.data.nodes = Some(nodes.collect());
            }
            // An answer to an older question is no answer.
            Update::Jobs { wanted, jobs, is_cut } if wanted == self.wanted => {
                self.data.jobs = Some(Jobs { jobs, is_cut });
            }
            _ => {}
        }
    }

    fn log_of(&mut self, wanted: &str) -> Option<&mut Log> {
        match &mut self.mode {
            Mode::Log { id, log } if id == wanted => Some(log),
            _ => None,
        }
    }

    /// What a pane lists, in its order; `None` while that is not known.
    pub(super) fn rows(&self, pane: Pane, now: Duration) -> Option<Vec<Row>> {
        let mut rows = match pane {
            Pane::Machines => rows::machines(&self.data)?,
            Pane::Queues => rows::queues(&self.data.overview.as_ref()?.queues),
            Pane::Jobs => rows::jobs(&self.data.jobs.as_ref()?.jobs, self.hub_now_ms(now)),
        };
        // Jobs were filtered by the hub, which sees all of them.
        if pane != Pane::Jobs {
            rows.retain(|row| rows::matches(row, &self.wanted.text));
        }
        let Sorting { column, is_reversed } = self.sorting(pane);
        rows::sort(&mut rows, column, is_reversed);
        Some(rows)
    }

    pub(super) fn sorting(&self, pane: Pane) -> Sorting {
        self.sorting[pane as usize]
    }

    /// Where the chosen row is; the first one when it is gone.
    pub(super) fn position(&self, pane: Pane, rows: &[Row]) -> usize {
        let selected = self.selected[pane as usize].as_deref();
        selected.and_then(|id| rows.iter().position(|row| row.id == id)).unwrap_or(0)
    }

    fn chosen(&self, now: Duration) -> Option<Row> {
        let rows = self.rows(self.pane, now)?;
        let at = self.position(self.pane, &rows);
        rows.into_iter().nth(at)
    }

    pub(super) fn key(&mut self, key: KeyEvent, now: Duration) -> Option<Effect> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return Some(Effect::Quit);
        }
        self.notice = None;
        match &mut self.mode {
            Mode::Help => {
                self.mode = Mode::Browse;
                None
            }
            Mode::Confirm { id, .. } => {
                let agreed = matches!(key.code, KeyCode::Char('y' | 'Y'));
                let id = std::mem::take(id);
                self.mode = Mode::Browse;
                agreed.then_some(Effect::Cancel(id))
            }
            Mode::Filter(_) => self.key_in_filter(key.code),
            Mode::Log { .. } => self.key_in_log(key.code),
            Mode::Browse => self.key_in_lists(key.code, now),
        }
    }

    fn key_in_filter(&mut self, key: KeyCode) -> Option<Effect> {
        let Mode::Filter(text) = &mut self.mode else { return None };
        match key {
            KeyCode::Char(c) => text.push(c),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Esc => self.mode = Mode::Browse,
            KeyCode::Enter => {
                let text = std::mem::take(text).trim().to_owned();
                self.mode = Mode::Browse;
                return self.want(Wanted { text, ..self.wanted.clone() });
            }
            _ => {}
        }
        None
    }

    fn key_in_log(&mut self, key: KeyCode) -> Option<Effect> {
        let page = self.page;
        let Mode::Log { log, .. } = &mut self.mode else { return None };
        let screen = isize::try_from(page).unwrap_or(isize::MAX);
        match key {
            KeyCode::Up | KeyCode::Char('k') => log.scroll(-1, page),
            KeyCode::Down | KeyCode::Char('j') => log.scroll(1, page),
            KeyCode::PageUp | KeyCode::Char('b') => log.scroll(-screen, page),
            KeyCode::PageDown | KeyCode::Char(' ') => log.scroll(screen, page),
            KeyCode::Home | KeyCode::Char('g') => log.scroll(isize::MIN + 1, page),
            KeyCode::End | KeyCode::Char('G') => log.scroll(isize::MAX, page),
            KeyCode::Left | KeyCode::Char('h') => log.left = log.left.saturating_sub(8),
            KeyCode::Right | KeyCode::Char('l') => log.left += 8,
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Enter => {
                self.mode = Mode::Browse;
                return Some(Effect::CloseLog);
            }
            _ => {}
        }
        None
    }

    fn key_in_lists(&mut self, key: KeyCode, now: Duration) -> Option<Effect> {
        let page = isize::try_from(self.page).unwrap_or(isize::MAX);
        match key {
            KeyCode::Char('q') => return Some(Effect::Quit),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(Pane::ALL.len() - 1),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1, now),
            KeyCode::Down | KeyCode::Char('j') => self.step(1, now),
            KeyCode::PageUp => self.step(-page, now),
            KeyCode::PageDown => self.step(page, now),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN + 1, now),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX, now),
            KeyCode::Char('/') => self.mode = Mode::Filter(self.wanted.text.clone()),
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('S') => {
                let sorting = &mut self.sorting[self.pane as usize];
                sorting.is_reversed = !sorting.is_reversed;
            }
            KeyCode::Char('v') => {
                let view = self.wanted.view.next();
                self.sorting[Pane::Jobs as usize] =
                    Sorting { column: AGE, is_reversed: view.is_oldest_first() };
                return self.want(Wanted { view, ..self.wanted.clone() });
            }
            KeyCode::Esc => return self.want(Wanted { view: self.wanted.view, ..Wanted::default() }),
            KeyCode::F(5) | KeyCode::Char('R') => return Some(Effect::Refresh),
            KeyCode::Enter => return self.open(now),
            KeyCode::Char('l' | 'c' | 'r') if self.pane != Pane::Jobs => {
                self.notice = Some("That is done to a job: Tab leads to them".to_owned());
            }
            KeyCode::Char('l') => return self.open(now),
            KeyCode::Char('c') => {
                let row = self.chosen(now)?;
                let cells = |at: usize| row.cells[at].text.as_str();
                let question = format!("Cancel {} ({}, {})? y/n", row.id, cells(1), cells(2));
                self.mode = Mode::Confirm { id: row.id, question };
            }
            KeyCode::Char('r') => return Some(Effect::Retry(self.chosen(now)?.id)),
            _ => {}
        }
        None
    }

    fn turn(&mut self, by: usize) {
        self.pane = Pane::ALL[(self.pane as usize + by) % Pane::ALL.len()];
    }

    fn step(&mut self, by: isize, now: Duration) {
        let Some(rows) = self.rows(self.pane, now) else { return };
        let at = self.position(self.pane, &rows).saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.selected[self.pane as usize] = rows.get(at).map(|row| row.id.clone());
    }

    fn sort_by_next(&mut self) {
        let sorting = &mut self.sorting[self.pane as usize];
        let columns = rows::columns(self.pane);
        sorting.column = (sorting.column + 1) % columns.len();
        // The largest numbers first, and names from A on.
        sorting.is_reversed = columns[sorting.column].is_number;
    }

    /// What is listed for the old question is not shown as an answer to the new one.
    fn want(&mut self, wanted: Wanted) -> Option<Effect> {
        if wanted == self.wanted {
            return None;
        }
        self.wanted = wanted;
        self.data.jobs = None;
        Some(Effect::List(self.wanted.clone()))
    }

    /// The log of a job; the jobs of a machine or queue.
    fn open(&mut self, now: Duration) -> Option<Effect> {
        let id = self.chosen(now)?.id;
        match self.pane {
            Pane::Jobs => {
                self.mode = Mode::Log { id: id.clone(), log: Box::default() };
                Some(Effect::OpenLog(id))
            }
            Pane::Machines => {
                self.pane = Pane::Jobs;
                self.want(Wanted { machine: Some(id), queue: None, ..self.wanted.clone() })
            }
            Pane::Queues => {
                self.pane = Pane::Jobs;
                self.want(Wanted { queue: Some(id), machine: None, ..self.wanted.clone() })
            }
        }
    }
}
