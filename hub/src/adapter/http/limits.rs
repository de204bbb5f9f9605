//! What a caller may send, in one place.

/// Params of one job.
pub(super) const PARAMS_BYTES_MAX: usize = 1 << 20;
/// One result.
pub(super) const RESULT_BYTES_MAX: usize = 8 << 20;
/// Room around the params or the result for the other fields.
const ENVELOPE_BYTES: usize = 256 << 10;
pub(super) const JOB_BODY_BYTES_MAX: usize = PARAMS_BYTES_MAX + ENVELOPE_BYTES;
pub(super) const RESULT_BODY_BYTES_MAX: usize = RESULT_BYTES_MAX + ENVELOPE_BYTES;
pub(super) const BATCH_BODY_BYTES_MAX: usize = 32 << 20;
pub(super) const BATCH_JOBS_MAX: usize = 10_000;
pub(super) const REPORTS_MAX: usize = 1_000;
pub(super) const LIST_DEFAULT: u32 = 50;
pub(super) const LIST_MAX: u32 = 1_000;
/// The longest a call waits for something.
pub(super) const WAIT_MS_MAX: u64 = 60_000;
/// Calls that wait, all together.
pub(super) const LONG_POLLS_MAX: i64 = 3_000;
pub(super) const ATTEMPTS_MAX: u32 = 1_000;
/// A hundred years: longer is a mistake.
pub(super) const SPAN_MS_MAX: i64 = 100 * 365 * 24 * 3_600_000;
/// The end of the year 9999.
pub(super) const TIME_MS_MAX: i64 = 253_402_300_799_999;
pub(super) const TAGS_MAX: usize = 32;
pub(super) const TAG_BYTES_MAX: usize = 128;
pub(super) const KEY_BYTES_MAX: usize = 255;
pub(super) const COMMAND_BYTES_MAX: usize = 64 << 10;
pub(super) const URL_BYTES_MAX: usize = 2_048;
pub(super) const REASON_BYTES_MAX: usize = 16 << 10;
pub(super) const BACKTRACE_BYTES_MAX: usize = 128 << 10;
pub(super) const CLAIM_NAMES_MAX: usize = 1_000;
pub(super) const HOLDING_MAX: usize = 10_000;
