//! How outcomes lie in a segment file: header, JSON, header, JSON. The header carries its own
//! checksum besides that of the JSON, so that the next record can be found behind a damaged one,
//! and begins with bytes that never occur in UTF-8, so that no JSON can be taken for a header.

use super::Outcome;
use sha2::{Digest, Sha256};
use std::ops::Range;

const MAGIC: [u8; 8] = *b"\xF0FORGE1\n";
const LENGTH: Range<usize> = 8..16;
const JSON_SUM: Range<usize> = 16..32;
const HEADER_SUM: Range<usize> = 32..40;
/// Lies outside of both checksums: removing an entry is the change of this one byte.
pub(super) const STATE: usize = 40;
const HEADER_BYTES: usize = 41;

const PENDING: u8 = b'P';
pub(super) const REMOVED: u8 = b'R';
/// Stands where damaged bytes were, once they are set aside.
pub(super) const BLANK: u8 = b'-';

#[derive(Default)]
pub(super) struct Scan {
    /// Where each one starts.
    pub(super) pending: Vec<(u64, Outcome)>,
    pub(super) damaged: Vec<(Range<usize>, String)>,
}

pub(super) fn encode(outcome: &Outcome) -> serde_json::Result<Vec<u8>> {
    let mut record = vec![0; HEADER_BYTES];
    serde_json::to_writer(&mut record, outcome)?;
    let (header, json) = record.split_at_mut(HEADER_BYTES);
    header[..MAGIC.len()].copy_from_slice(&MAGIC);
    header[LENGTH].copy_from_slice(&(json.len() as u64).to_le_bytes());
    header[JSON_SUM].copy_from_slice(&checksum(json)[..JSON_SUM.len()]);
    let sum = checksum(&header[..HEADER_SUM.start]);
    header[HEADER_SUM].copy_from_slice(&sum[..HEADER_SUM.len()]);
    header[STATE] = PENDING;
    Ok(record)
}

pub(super) fn scan(segment: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let mut at = 0;
    while at < segment.len() {
        if segment[at] == BLANK {
            at += 1;
            continue;
        }
        match read(segment, at) {
            Ok((outcome, end)) => {
                scan.pending.extend(outcome.map(|outcome| (at as u64, outcome)));
                at = end;
            }
            Err(why) => {
                let end = next_header(segment, at + 1);
                scan.damaged.push((at..end, why));
                at = end;
            }
        }
    }
    scan
}

/// What the record says, or nothing when it was removed; and where it ends.
fn read(segment: &[u8], at: usize) -> Result<(Option<Outcome>, usize), String> {
    let header = header_at(segment, at).ok_or("no valid header")?;
    let length = u64::from_le_bytes(header[LENGTH].try_into().expect("the length is eight bytes long"));
    let start = at + HEADER_BYTES;
    let json = usize::try_from(length)
        .ok()
        .and_then(|length| start.checked_add(length))
        .and_then(|end| segment.get(start..end))
        .ok_or("cut off")?;
    let end = start + json.len();
    if header[STATE] == REMOVED {
        return Ok((None, end));
    }
    if header[JSON_SUM] != checksum(json)[..JSON_SUM.len()] {
        return Err("the checksum does not match".to_owned());
    }
    let outcome = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    Ok((Some(outcome), end))
}

fn header_at(segment: &[u8], at: usize) -> Option<&[u8]> {
    let header = segment.get(at..at + HEADER_BYTES)?;
    let sum = checksum(&header[..HEADER_SUM.start]);
    (header.starts_with(&MAGIC) && header[HEADER_SUM] == sum[..HEADER_SUM.len()]).then_some(header)
}

fn next_header(segment: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) =
        segment.get(at..).and_then(|rest| rest.windows(MAGIC.len()).position(|bytes| bytes == MAGIC))
    {
        at += found;
        if header_at(segment, at).is_some() {
            return at;
        }
        at += 1;
    }
    segment.len()
}

fn checksum(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
