//! What the agent and its supervisor say to each other: frames of one byte of kind, four bytes of length
//! (little-endian), and the payload. Both ends are always the same binary, so there is no version.

use std::ffi::OsString;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::runner::{Ended, Usage};

const HEADER: usize = 5;
/// Far above the largest parameters; a longer frame means that the two sides lost each other.
const PAYLOAD_MAX: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To the agent: ready for a job.
    Ready,
    /// To the supervisor: the parameters of the job that follows.
    Params,
    /// To the supervisor: a [`Job`] as JSON.
    Run,
    /// To the supervisor: end the job, if there still is one.
    Stop,
    /// To the agent: what the solver wrote.
    Stdout,
    Stderr,
    /// To the agent: a [`Report`] as JSON.
    Finished,
}

const KINDS: [Kind; 7] =
    [Kind::Ready, Kind::Params, Kind::Run, Kind::Stop, Kind::Stdout, Kind::Stderr, Kind::Finished];

/// Paths are `OsString` because only that survives JSON when it is not UTF-8.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Made before the start, removed after the end.
    pub(crate) folder: Option<OsString>,
    pub(crate) keep_folder: bool,
    pub(crate) work_dir: OsString,
    pub(crate) params_file: Option<OsString>,
    pub(crate) memory_max: Option<u64>,
    pub(crate) open_files: u64,
    pub(crate) stdout_max: u64,
    pub(crate) max_runtime: Option<Duration>,
    pub(crate) grace: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) ended: Ended,
    pub(crate) usage: Usage,
}

#[derive(Debug, thiserror::Error)]
#[error("a frame that is not one: kind {kind}, {length} bytes")]
pub(crate) struct BadFrame {
    kind: u8,
    length: usize,
}

pub(crate) fn put(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    let length = u32::try_from(payload.len()).expect("no payload comes near 4 GiB");
    out.reserve(HEADER + payload.len());
    out.push(kind as u8);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(payload);
}

pub(crate) fn take(buffer: &mut BytesMut) -> Result<Option<(Kind, Bytes)>, BadFrame> {
    let Some((&[kind, a, b, c, d], rest)) = buffer.split_first_chunk::<HEADER>() else { return Ok(None) };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let known = KINDS.get(usize::from(kind)).filter(|_| length <= PAYLOAD_MAX);
    let known = *known.ok_or(BadFrame { kind, length })?;
    if rest.len() < length {
        return Ok(None);
    }
    buffer.advance(HEADER);
    Ok(Some((known, buffer.split_to(length).freeze())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_however_they_were_cut() {
        let mut sent = Vec::new();
        for (number, kind) in KINDS.into_iter().enumerate() {
            put(&mut sent, kind, &vec![7; number * 3]);
        }
        let mut buffer = BytesMut::new();
        let mut received = Vec::new();
        for byte in sent {
            buffer.extend_from_slice(&[byte]);
            received.extend(take(&mut buffer).expect("good frames"));
        }
        let expected: Vec<_> =
            KINDS.into_iter().enumerate().map(|(n, kind)| (kind, Bytes::from(vec![7; n * 3]))).collect();
        assert_eq!(received, expected);
    }

    #[test]
    fn an_unknown_kind_or_an_absurd_length_is_an_error() {
        assert!(take(&mut BytesMut::from(&[99, 0, 0, 0, 0][..])).is_err());
        assert!(take(&mut BytesMut::from(&[0, 255, 255, 255, 255][..])).is_err());
    }
}
