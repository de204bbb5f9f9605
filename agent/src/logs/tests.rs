use super::*;

const HUB_KEEPS: usize = 16 << 20;

fn progress(percent: f64, message: &str) -> Progress {
    Progress { percent: Some(percent), message: Some(message.to_owned()) }
}

/// A hub as the log's offsets see it.
#[derive(Default)]
struct Hub {
    stored: Vec<u8>,
}

impl Hub {
    /// The offset that the hub answers with, stored or refused.
    fn append(&mut self, offset: u64, bytes: &[u8]) -> u64 {
        let end = self.stored.len();
        if let Ok(offset) = usize::try_from(offset)
            && offset <= end
        {
            let known = end - offset;
            if let Some(shared) = bytes.get(..known.min(bytes.len())) {
                assert_eq!(&self.stored[offset..offset + shared.len()], shared, "a resend says the same");
            }
            self.stored.extend_from_slice(bytes.get(known..).unwrap_or_default());
        }
        self.stored.len() as u64
    }

    fn take_all(&mut self, log: &mut Log) {
        while let Some((offset, bytes)) = log.unsent() {
            assert!(bytes.len() <= CHUNK_BYTES_MAX);
            log.sent_up_to(self.append(offset, &bytes));
        }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.stored).unwrap()
    }
}

fn check(pieces: &[&str], text: &str, expected: &[Progress]) {
    let mut log = Log::new(HUB_KEEPS);
    let mut found = Vec::new();
    for piece in pieces {
        found.extend(log.push(piece.as_bytes()));
    }
    found.extend(log.finish());
    let mut hub = Hub::default();
    hub.take_all(&mut log);
    assert_eq!((hub.text(), found.as_slice()), (text, expected), "{pieces:?}");
}

#[test]
fn progress_is_found_and_kept_out_of_the_log() {
    let line = "FORGE_PROGRESS {\"percent\": 40, \"message\": \"half\"}";
    let found = [progress(40.0, "half")];
    check(&["a\n", line, "\nb\n"], "a\nb\n", &found);
    check(&[&format!("a\n{line}\r\nb")], "a\nb", &found);
    check(&[line], "", &found);
    check(
        &["FORGE_PROGRESS {\"percent\": 1}\nFORGE_PROGRESS {\"message\": \"m\", \"x\": 2}\n"],
        "",
        &[
            Progress { percent: Some(1.0), message: None },
            Progress { percent: None, message: Some("m".to_owned()) },
        ],
    );
}

#[test]
fn progress_is_found_wherever_the_stream_is_cut() {
    let text = "one\nFORGE_PROGRESS {\"percent\":7,\"message\":\"ä\"}\nFORGE_PROGRES\ntwo";
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        check(&[&text[..cut], &text[cut..]], "one\nFORGE_PROGRES\ntwo", &[progress(7.0, "ä")]);
    }
    let bytes: Vec<_> = text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()]).collect();
    check(&bytes, "one\nFORGE_PROGRES\ntwo", &[progress(7.0, "ä")]);
}

#[test]
fn what_is_not_progress_stays_in_the_log() {
    for line in [
        "FORGE_PROGRESS {\"percent\": 101}\n",
        "FORGE_PROGRESS {\"percent\": -1}\n",
        "FORGE_PROGRESS {\"percent\": \"5\"}\n",
        "FORGE_PROGRESS {}\n",
        "FORGE_PROGRESS [5, \"x\"]\n",
        "FORGE_PROGRESS {\"percent\": 5\n",
        "FORGE_PROGRESS\n",
        " FORGE_PROGRESS {\"percent\": 5}\n",
        "at FORGE_PROGRESS {\"percent\": 5}\n",
        "FORGE_PROGRESS_ {\"percent\": 5}\n",
        "\n",
        "\n\n\nFORGE",
    ] {
        check(&[line], line, &[]);
    }
    let long = format!("FORGE_PROGRESS {{\"message\":\"{}\"}}\nnext\n", "m".repeat(64 << 10));
    check(&[&long[..40_000], &long[40_000..]], &long, &[]);
}

#[test]
fn too_long_message_is_cut_to_what_the_hub_takes() {
    let line = format!("FORGE_PROGRESS {{\"message\":\"{}\"}}\n", "ä".repeat(10_000));
    let found = Log::new(HUB_KEEPS).push(line.as_bytes());
    assert_eq!(found[0].message.as_ref().map(String::len), Some(16 << 10));
}

#[test]
fn ordinary_bytes_go_on_before_their_line_ends() {
    let mut log = Log::new(HUB_KEEPS);
    log.push(b"10 %\r20 %\r");
    assert_eq!(log.unsent(), Some((0, Bytes::from_static(b"10 %\r20 %\r"))));
}

#[test]
fn chunks_follow_each_other_without_a_hole() {
    let mut log = Log::new(HUB_KEEPS);
    let text = "0123456789abcde\n".repeat(40 << 10);
    log.push(text.as_bytes());
    let (offset, first) = log.unsent().unwrap();
    assert_eq!((offset, first.len()), (0, CHUNK_BYTES_MAX));
    let mut hub = Hub::default();
    hub.take_all(&mut log);
    assert!(hub.text() == text);
    assert_eq!(log.unsent(), None);
    log.push(b"more");
    assert_eq!(log.unsent(), Some((text.len() as u64, Bytes::from_static(b"more"))));
}

#[test]
fn lost_answer_leads_to_the_same_bytes_again() {
    let mut log = Log::new(HUB_KEEPS);
    let mut hub = Hub::default();
    log.push(b"first\n");
    let (offset, bytes) = log.unsent().unwrap();
    hub.append(offset, &bytes);
    log.push("x".repeat(3 << 20).as_bytes());
    log.push(b"\nlast\n");
    hub.take_all(&mut log);
    assert!(hub.text().starts_with("first\nxxx"));
    assert!(hub.text().ends_with("x\nlast\n"));
}

#[test]
fn slow_hub_costs_the_oldest_lines_and_says_so() {
    let mut log = Log::new(HUB_KEEPS);
    let mut hub = Hub::default();
    let line = |number: usize| format!("line {number:08}\n");
    let lines = 400_000;
    let mut in_flight = None;
    for number in 0..lines {
        log.push(line(number).as_bytes());
        if number == 20_000 {
            in_flight = log.unsent();
        }
        // The answer to what was on its way comes only after much was lost.
        if number == 300_000 {
            let (offset, bytes) = in_flight.take().unwrap();
            log.sent_up_to(hub.append(offset, &bytes));
        }
        assert!(log.ready.len() + log.behind.len() <= WINDOW_BYTES_MAX + NOTE_BYTES_MAX);
    }
    hub.take_all(&mut log);

    let notes: Vec<_> = hub.text().lines().filter(|line| line.starts_with("[forge-agent: ")).collect();
    assert!(notes.len() <= 2, "{notes:?}");
    assert!(hub.text().starts_with("line 00000000\n"));
    assert!(hub.text().ends_with(&line(lines - 1)));
    // Only a line that was cut by the end of a chunk is not whole.
    let odd = hub.text().lines().filter(|line| line.len() != 13 && !line.starts_with('[')).count();
    assert!(odd <= 2 * notes.len(), "{odd} broken lines");
}

#[test]
fn every_byte_arrives_once_or_is_counted_as_lost() {
    // A small generator, so that a failure can be run again.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let mut lost_in_all = 0;
    for round in 0..40 {
        let mut log = Log::new(4 << 10);
        let mut hub = Hub::default();
        let mut pushed = 0;
        for _ in 0..200 {
            match below(4) {
                0 | 1 => {
                    let length = below(1_000) as usize;
                    log.push("~".repeat(length).as_bytes());
                    pushed += length;
                }
                2 => {
                    if let Some((offset, bytes)) = log.unsent() {
                        let end = hub.append(offset, &bytes[..=below(bytes.len() as u64) as usize]);
                        // The solver writes on before the answer comes, and some answers are lost.
                        let length = below(6_000) as usize;
                        log.push("~".repeat(length).as_bytes());
                        pushed += length;
                        if below(2) == 0 {
                            log.sent_up_to(end);
                        }
                    }
                }
                _ => log.sent_up_to(hub.stored.len() as u64),
            }
        }
        hub.take_all(&mut log);
        let notes = hub.text().lines().filter_map(|line| line.strip_prefix("[forge-agent: "));
        let lost: usize = notes.map(|note| note.split(' ').next().unwrap().parse::<usize>().unwrap()).sum();
        let arrived = hub.stored.iter().filter(|byte| **byte == b'~').count();
        assert_eq!(arrived + lost, pushed, "round {round}");
        lost_in_all += lost;
    }
    assert!(lost_in_all > 0);
}

#[test]
fn hub_that_lost_its_last_bytes_gets_a_note_in_their_place() {
    let mut log = Log::new(HUB_KEEPS);
    let mut hub = Hub::default();
    log.push(b"one\ntwo\n");
    hub.take_all(&mut log);
    hub.stored.truncate(4);
    log.push(b"three\n");
    hub.take_all(&mut log);
    assert_eq!(hub.text(), "one\n\n[forge-agent: 4 bytes of log could not be sent]\nthree\n");
}

#[test]
fn hub_that_is_ahead_is_followed() {
    let mut log = Log::new(HUB_KEEPS);
    let mut hub = Hub { stored: b"of an earlier process\n".to_vec() };
    log.push(b"mine\n");
    log.sent_up_to(hub.stored.len() as u64);
    hub.take_all(&mut log);
    assert_eq!(hub.text(), "of an earlier process\nmine\n");
}

#[test]
fn small_limits_are_kept() {
    for max in [0, 1, 100, 1_000] {
        let mut log = Log::new(max);
        for _ in 0..100 {
            log.push(b"some text of the solver\n");
            assert!(log.ready.len() + log.behind.len() <= max.max(WINDOW_BYTES_MIN));
        }
    }
}

#[test]
fn tail_is_the_last_text_sent_or_not() {
    let mut log = Log::new(HUB_KEEPS);
    log.push("äöü\n".as_bytes());
    Hub::default().take_all(&mut log);
    log.push(b"FORGE_PROGRESS {\"percent\":1}\nerror: \xFF!");
    assert_eq!(log.tail(1_000), "äöü\nerror: \u{FFFD}!");
    assert_eq!(log.tail(6), ": \u{FFFD}!", "never longer than asked for");
    assert_eq!(log.tail(14), "ü\nerror: \u{FFFD}!");
    assert_eq!(log.tail(13), "\nerror: \u{FFFD}!");
    assert_eq!(log.tail(0), "");
    log.push("x".repeat(1 << 20).as_bytes());
    assert_eq!(log.tail(usize::MAX).len(), TAIL_BYTES_MAX);
}
