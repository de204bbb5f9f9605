//! Draws the model. Nothing is drawn that is not known, and colours only repeat what words say.

use super::{
    log::Log,
    model::{Mode, Model, Pane, Sorting},
    rows::{self, Cell, Column, Row, UNKNOWN, short},
};
use crate::{
    output::{
        text::{cut, cut_middle, pad, visible, width},
        tone::Tone,
    },
    span::age,
};
use forge_shared::overview::Overview;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span, Text},
    widgets::{Block, Clear, Paragraph},
};
use std::time::Duration;

/// Below this, only what is in focus is shown.
const WIDE: u16 = 72;
const TALL: u16 = 16;
/// Below this, nothing makes sense.
const SMALLEST: (u16, u16) = (36, 8);
/// An answer older than this is called old.
const OLD: Duration = Duration::from_secs(15);
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const KEYS: &str = "q quit  ? help  Tab list  / filter  v view  s sort  Enter log  c cancel  r retry";
const HELP: &[(&str, &str)] = &[
    ("Tab, ← →", "next list: machines, queues, jobs"),
    ("↑ ↓ PgUp PgDn g G", "move"),
    ("Enter", "on a job: its log; on a machine or queue: its jobs"),
    ("v", "jobs: running, waiting, failed and dead, newest"),
    ("/", "filter: start of an id, part of a type, tag or reason; of machines and queues, any text"),
    ("Esc", "no filter"),
    ("s, S", "sort by the next column, or the other way round"),
    ("c", "cancel a job; asks first"),
    ("r", "retry a job that failed or is dead"),
    ("R, F5", "read everything again"),
    ("q, Ctrl-C", "quit; nothing that runs is touched"),
];

#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) colours: bool,
}

impl Palette {
    fn tone(self, tone: Option<Tone>) -> Style {
        let colour = match tone {
            Some(Tone::Good) => Color::Green,
            Some(Tone::Active) => Color::Cyan,
            Some(Tone::Warning) => Color::Yellow,
            Some(Tone::Bad) => Color::Red,
            None => return Style::default(),
        };
        if self.colours { Style::default().fg(colour) } else { Style::default() }
    }
}

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

pub(super) fn draw(frame: &mut Frame<'_>, model: &mut Model, now: Duration, palette: Palette) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let (columns, rows) = SMALLEST;
        let text = format!("too small: at least {columns} x {rows} characters");
        return frame.render_widget(Paragraph::new(cut(&text, area.width.into())), area);
    }
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(4), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    draw_header(frame, header, model, now, palette);
    match &model.mode {
        Mode::Log { id, log } => {
            let page = draw_log(frame, body, id, log);
            model.page = page;
        }
        _ => model.page = draw_lists(frame, body, model, now, palette),
    }
    draw_footer(frame, footer, model, palette);
    if matches!(model.mode, Mode::Help) {
        draw_help(frame, area);
    }
}

fn draw_header(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Duration, palette: Palette) {
    let room = usize::from(area.width);
    let (freshness, tone) = freshness(model, now);
    let freshness = cut(&freshness, room.saturating_sub(14));
    let title =
        cut(&format!("queuectl top  {}", visible(&model.hub)), room.saturating_sub(width(&freshness) + 2));
    let between = room.saturating_sub(width(&title) + width(&freshness));
    let first = Line::from(vec![
        Span::styled(title, BOLD),
        Span::raw(" ".repeat(between)),
        Span::styled(freshness, palette.tone(tone)),
    ]);
    let mut lines = vec![first];
    match &model.data.overview {
        None => lines.push(Line::styled("nothing is known yet", DIM)),
        Some(overview) => {
            lines.push(Line::raw(cut(&totals(overview), room)));
            let minutes = &overview.minutes;
            let done: Vec<u64> = minutes.iter().map(|minute| minute.completed).collect();
            let failed: Vec<u64> = minutes.iter().map(|minute| minute.failed_attempts).collect();
            lines.push(throughput("done/min  ", &done, room, palette.tone(Some(Tone::Good))));
            lines.push(throughput("failed/min", &failed, room, palette.tone(Some(Tone::Bad))));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// How old what is shown is, and why.
fn freshness(model: &Model, now: Duration) -> (String, Option<Tone>) {
    let old = model.heard_at.map(|at| now.saturating_sub(at));
    let ago = old.map(|old| age(i64::try_from(old.as_millis()).unwrap_or(i64::MAX)));
    match (&model.trouble, ago) {
        (Some(why), Some(ago)) => (format!("{ago} old: {}", visible(why)), Some(Tone::Bad)),
        (Some(why), None) => (visible(why), Some(Tone::Bad)),
        (None, Some(ago)) if old > Some(OLD) => (format!("{ago} old"), Some(Tone::Warning)),
        (None, Some(_)) => ("live".to_owned(), Some(Tone::Good)),
        (None, None) => ("connecting".to_owned(), None),
    }
}

fn totals(overview: &Overview) -> String {
    let Overview { machines, workers, slots, busy, views, jobs, today, .. } = overview;
    let mut text = format!("machines {} up", machines.online);
    for (number, word) in [
        (machines.degraded, "slow"),
        (machines.offline, "down"),
        (workers.lost, "lost"),
        (workers.draining, "draining"),
    ] {
        if number > 0 {
            text += &format!(", {} {word}", short(number));
        }
    }
    text += &format!("  slots {busy}/{slots}  due {}", short(views.due));
    if let Some(ms) = overview.oldest_waiting_ms {
        text += &format!(" ({})", age(ms));
    }
    text += &format!(
        "  later {}  run {}",
        short(views.scheduled + views.retrying),
        short(jobs.running + jobs.assigned)
    );
    text + &format!(
        "  dead {}  today {} done {} failed",
        short(views.dead),
        short(today.completed),
        short(today.failed)
    )
}

/// A bar for each minute, as many as fit, and the current one as a number.
fn throughput(title: &str, minutes: &[u64], room: usize, style: Style) -> Line<'static> {
    let newest = minutes.last().map_or_else(|| UNKNOWN.to_owned(), |n| short(*n));
    let fit = room.saturating_sub(width(title) + 8);
    let shown = &minutes[minutes.len().saturating_sub(fit)..];
    let most = shown.iter().copied().max().unwrap_or(0);
    let bar = |n: &u64| match n {
        0 => ' ',
        n => BARS[((n * 8).div_ceil(most.max(1)) as usize).clamp(1, 8) - 1],
    };
    let bars: String = shown.iter().map(bar).collect();
    Line::from(vec![
        Span::styled(format!("{title} "), DIM),
        Span::styled(bars, style),
        Span::raw(format!(" {newest}")),
    ])
}

/// Answers how many rows the list in focus has room for.
fn draw_lists(frame: &mut Frame<'_>, area: Rect, model: &Model, now: Duration, palette: Palette) -> usize {
    let mut list = |pane, area| draw_list(frame, area, model, pane, now, palette);
    if area.height < TALL {
        return list(model.pane, area);
    }
    let upper = (area.height * 2 / 5).clamp(5, 14);
    let [upper, lower] = Layout::vertical([Constraint::Length(upper), Constraint::Min(0)]).areas(area);
    let mut pages = [0; 3];
    pages[Pane::Jobs as usize] = list(Pane::Jobs, lower);
    if area.width < WIDE {
        let pane = if model.pane == Pane::Queues { Pane::Queues } else { Pane::Machines };
        pages[pane as usize] = list(pane, upper);
    } else {
        let [left, _, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(2), Constraint::Fill(1)])
                .areas(upper);
        pages[Pane::Machines as usize] = list(Pane::Machines, left);
        pages[Pane::Queues as usize] = list(Pane::Queues, right);
    }
    pages[model.pane as usize]
}

fn draw_list(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &Model,
    pane: Pane,
    now: Duration,
    palette: Palette,
) -> usize {
    let rows = model.rows(pane, now);
    let height = usize::from(area.height.saturating_sub(2));
    let is_focused = model.pane == pane;
    let (columns, room) = (rows::columns(pane), usize::from(area.width));
    let widths = widths(columns, room);
    let mut lines = vec![
        title(model, pane, rows.as_deref(), is_focused, room),
        Line::styled(heading(columns, &widths, model.sorting(pane)), DIM),
    ];
    match rows.as_deref() {
        None => lines.push(Line::styled("not known yet", DIM)),
        Some([]) => lines.push(Line::styled("none", DIM)),
        Some(rows) => {
            let chosen = model.position(pane, rows);
            let first = (chosen + 1).saturating_sub(height);
            for (at, row) in rows.iter().enumerate().skip(first).take(height) {
                let line = row_line(row, columns, &widths, palette);
                lines.push(if is_focused && at == chosen { line.style(CHOSEN) } else { line });
            }
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
    height
}

fn title(model: &Model, pane: Pane, rows: Option<&[Row]>, is_focused: bool, room: usize) -> Line<'static> {
    let count = rows.map_or_else(|| UNKNOWN.to_owned(), |rows| rows.len().to_string());
    let wanted = &model.wanted;
    let mut text = match pane {
        Pane::Machines => format!("Machines {count}"),
        Pane::Queues => format!("Queues {count}"),
        Pane::Jobs => {
            let more =
                if model.data.jobs.as_ref().is_some_and(|jobs| jobs.is_cut) { " newest of more" } else { "" };
            let of = |word: &str, name: &Option<String>| {
                name.as_ref().map(|name| format!(", {word} {}", visible(name))).unwrap_or_default()
            };
            let (queue, machine) = (of("queue", &wanted.queue), of("machine", &wanted.machine));
            format!("Jobs: {}{queue}{machine} {count}{more}", wanted.view.title())
        }
    };
    if !wanted.text.is_empty() {
        text += &format!(" /{}", visible(&wanted.text));
    }
    let text = cut(&text, room.saturating_sub(4));
    let rest = room.saturating_sub(width(&text) + 3);
    let (style, mark) = if is_focused { (BOLD, '━') } else { (DIM, '─') };
    Line::styled(format!("{mark} {text} {}", mark.to_string().repeat(rest)), style)
}

/// What is left after all others is shared by those that want it.
fn widths(columns: &[Column], room: usize) -> Vec<usize> {
    let between = columns.len() - 1;
    let fixed: usize = columns.iter().map(|column| usize::from(column.width)).sum();
    let greedy = columns.iter().filter(|column| column.width == 0).count().max(1);
    let share = room.saturating_sub(fixed + between) / greedy;
    columns.iter().map(|column| if column.width == 0 { share } else { column.width.into() }).collect()
}

fn aligned(text: &str, column: &Column, room: usize) -> String {
    let text = if column.width == 0 { cut_middle(text, room) } else { cut(text, room) };
    if column.is_number {
        let spaces = room.saturating_sub(width(&text));
        return format!("{:spaces$}{text}", "");
    }
    pad(&text, room)
}

fn heading(columns: &[Column], widths: &[usize], sorting: Sorting) -> String {
    let cell = |(at, (column, room)): (usize, (&Column, &usize))| {
        let mark = match (sorting.column == at, sorting.is_reversed) {
            (false, _) => "",
            (true, false) => "▲",
            (true, true) => "▼",
        };
        aligned(&format!("{}{mark}", column.title), column, *room)
    };
    columns.iter().zip(widths).enumerate().map(cell).collect::<Vec<_>>().join(" ")
}

fn row_line(row: &Row, columns: &[Column], widths: &[usize], palette: Palette) -> Line<'static> {
    let mut spans = Vec::new();
    for ((Cell { text, tone, .. }, column), room) in row.cells.iter().zip(columns).zip(widths) {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(aligned(text, column, *room), palette.tone(*tone)));
    }
    Line::from(spans)
}

fn draw_log(frame: &mut Frame<'_>, area: Rect, id: &str, log: &Log) -> usize {
    let room = usize::from(area.width);
    let height = usize::from(area.height.saturating_sub(1));
    let state = match (log.is_over, log.above) {
        (true, 0) => "complete".to_owned(),
        (false, 0) => "following".to_owned(),
        (_, above) => format!("{above} lines further down"),
    };
    let title = cut(&format!("━ Log of {}, {state} ", visible(id)), room);
    let rest = room.saturating_sub(width(&title));
    let mut lines = vec![Line::styled(format!("{title}{}", "━".repeat(rest)), BOLD)];
    let shown = log.screen(height);
    if shown.is_empty() {
        lines.push(Line::styled(if log.is_over { "it wrote nothing" } else { "nothing yet" }, DIM));
    }
    lines.extend(shown.iter().map(|line| Line::raw(cut(line, room))));
    frame.render_widget(Paragraph::new(lines), area);
    height
}

fn draw_footer(frame: &mut Frame<'_>, area: Rect, model: &Model, palette: Palette) {
    let room = usize::from(area.width);
    let line = match (&model.mode, &model.notice) {
        (Mode::Confirm { question, .. }, _) => Line::styled(
            cut(&visible(question), room),
            palette.tone(Some(Tone::Warning)).add_modifier(Modifier::BOLD),
        ),
        (Mode::Filter(text), _) => {
            let text = visible(text);
            // The end is where somebody types.
            let shown: String = text.chars().rev().take(room.saturating_sub(24)).collect();
            let shown: String = shown.chars().rev().collect();
            Line::raw(cut(&format!("filter: {shown}█  Enter, Esc"), room))
        }
        (_, Some(notice)) => Line::styled(cut(&visible(notice), room), BOLD),
        (Mode::Log { .. }, None) => {
            Line::styled(cut("Esc back  ↑ ↓ PgUp PgDn g G move  ← → sideways", room), DIM)
        }
        _ => Line::styled(cut(KEYS, room), DIM),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let keys = HELP.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(4).min(88);
    let mut lines = Vec::new();
    for (key, meaning) in HELP {
        let mut left = Some(*key);
        for part in wrapped(meaning, room.saturating_sub(keys + 2)) {
            let key = pad(left.take().unwrap_or_default(), keys);
            lines.push(Line::from(vec![Span::styled(key, BOLD), Span::raw(format!("  {part}"))]));
        }
    }
    lines.push(Line::styled("any key goes back", DIM));
    let (columns, height) =
        (u16::try_from(room).unwrap_or(u16::MAX) + 2, u16::try_from(lines.len()).unwrap_or(0) + 2);
    let popup = area
        .centered(Constraint::Length(columns.min(area.width)), Constraint::Length(height.min(area.height)));
    frame.render_widget(Clear, popup);
    frame.render_widget(Paragraph::new(Text::from(lines)).block(Block::bordered().title(" Keys ")), popup);
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && width(last) + 1 + width(word) > room {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
