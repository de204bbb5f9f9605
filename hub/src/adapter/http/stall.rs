//! A connection that watches its own peer: one that does not finish a request's head, keeps an
//! idle connection too long, or takes no bytes is dropped.
//!
//! hyper's own `header_read_timeout` also runs while a kept-alive connection is idle, so it
//! cannot tell the two apart, and it sets and drops a timer for every request. Here the server
//! marks the turns of a connection ([`Turns`]), which tells a pause inside a head from a pause
//! between requests, and a timer is only moved when a deadline comes nearer: a busy connection
//! touches its timer about once per idle timeout.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// How long a peer may keep the hub waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) header: Duration,
    pub(super) idle: Duration,
    pub(super) write_stall: Duration,
}

/// Whose turn it is on a connection: the lowest bit is set while a request is being answered,
/// the rest counts requests. All parties run in the connection's own task.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<AtomicU32>);

const ANSWERING: u32 = 1;

impl Turns {
    /// A request's head is complete; its answer takes until the returned guard is dropped.
    pub(super) fn begin(&self) -> Turn {
        let number = self.now().wrapping_add(2) | ANSWERING;
        self.0.store(number, Ordering::Relaxed);
        Turn { turns: self.clone(), number }
    }

    fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Held by whatever is left to do for one request.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    number: u32,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Only the turn that is still the current one may end it.
        let ended = self.number & !ANSWERING;
        let _ = self.turns.0.compare_exchange(self.number, ended, Ordering::Relaxed, Ordering::Relaxed);
    }
}

pub(super) struct Watched<T> {
    io: T,
    patience: Patience,
    turns: Turns,
    /// The turn that the two fields below speak of.
    turn: u32,
    head_begun: bool,
    waiting_since: Option<Instant>,
    write_blocked_since: Option<Instant>,
    read_timer: Timer,
    write_timer: Timer,
}

impl<T> Watched<T> {
    pub(super) fn new(io: T, patience: Patience, turns: Turns) -> Self {
        Self {
            io,
            patience,
            turn: turns.now(),
            turns,
            head_begun: false,
            waiting_since: None,
            write_blocked_since: None,
            read_timer: Timer::default(),
            write_timer: Timer::default(),
        }
    }

    /// The current turn when the next move is the peer's.
    fn peers_turn(&mut self) -> Option<u32> {
        let turn = self.turns.now();
        if turn & ANSWERING != 0 {
            return None;
        }
        if self.turn != turn {
            self.turn = turn;
            self.head_begun = false;
            self.waiting_since = None;
        }
        Some(turn)
    }

    fn received(&mut self) {
        let Some(turn) = self.peers_turn() else { return };
        if !self.head_begun {
            self.head_begun = true;
            // The first head's time counts from the connection's start, whether or not its first
            // byte was late.
            if turn != 0 {
                self.waiting_since = None;
            }
        }
    }

    fn read_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(turn) = self.peers_turn() else { return false };
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let allowed = if self.head_begun || turn == 0 { self.patience.header } else { self.patience.idle };
        self.read_timer.poll_over(cx, since + allowed)
    }

    fn watch_write<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.write_blocked_since = None;
            return written;
        }
        let since = *self.write_blocked_since.get_or_insert_with(Instant::now);
        if self.write_timer.poll_over(cx, since + self.patience.write_stall) {
            return Poll::Ready(Err(overdue("the peer takes no bytes")));
        }
        Poll::Pending
    }
}

fn overdue(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

/// One timer for deadlines that mostly move away: it is left alone until it fires.
#[derive(Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn poll_over(&mut self, cx: &mut Context<'_>, deadline: Instant) -> bool {
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if sleep.deadline() >= deadline {
                return true;
            }
            sleep.as_mut().reset(deadline);
        }
        false
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut me.io).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                if buf.filled().len() > before {
                    me.received();
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if me.read_overdue(cx) => Poll::Ready(Err(overdue("no request came in time"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let me = self.get_mut();
        let written = Pin::new(&mut me.io).poll_write(cx, buf);
        me.watch_write(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let me = self.get_mut();
        let written = Pin::new(&mut me.io).poll_write_vectored(cx, bufs);
        me.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// hyper flushes after each answer but then does not read until bytes come, so this is where
    /// the pause between two requests begins.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let me = self.get_mut();
        let flushed = Pin::new(&mut me.io).poll_flush(cx);
        if flushed.is_ready() && me.read_overdue(cx) {
            return Poll::Ready(Err(overdue("no request came in time")));
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const PATIENCE: Patience = Patience {
        header: Duration::from_secs(5),
        idle: Duration::from_secs(75),
        write_stall: Duration::from_secs(30),
    };

    fn pair() -> (Watched<tokio::io::DuplexStream>, tokio::io::DuplexStream, Turns) {
        let (near, far) = tokio::io::duplex(64);
        let turns = Turns::default();
        (Watched::new(near, PATIENCE, turns.clone()), far, turns)
    }

    async fn timed_out_after(watched: &mut Watched<tokio::io::DuplexStream>) -> Duration {
        let start = Instant::now();
        let error = watched.read_u8().await.expect_err("no byte comes");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn connection_that_sends_nothing_has_the_header_timeout() {
        let (mut watched, _far, _turns) = pair();
        assert_eq!(timed_out_after(&mut watched).await.as_secs(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn half_a_head_has_the_header_timeout_however_it_drips() {
        let (mut watched, mut far, _turns) = pair();
        let start = Instant::now();
        let dripping = tokio::spawn(async move {
            while far.write_u8(b'G').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        while watched.read_u8().await.is_ok() {}
        assert_eq!(start.elapsed().as_secs(), 5);
        drop(watched);
        dripping.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_has_the_idle_timeout_and_a_late_head_the_short_one() {
        let (mut watched, mut far, turns) = pair();
        far.write_u8(b'G').await.unwrap();
        watched.read_u8().await.unwrap();
        drop(turns.begin());
        assert_eq!(timed_out_after(&mut watched).await.as_secs(), 75);

        drop(turns.begin());
        let late = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            far.write_u8(b'G').await.unwrap();
            far
        });
        let start = Instant::now();
        watched.read_u8().await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 60);
        assert_eq!(timed_out_after(&mut watched).await.as_secs(), 5);
        late.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_overdue_while_a_request_is_being_answered() {
        let (mut watched, mut far, turns) = pair();
        let _turn = turns.begin();
        let late = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            far.write_u8(b'G').await.unwrap();
        });
        assert_eq!(watched.read_u8().await.unwrap(), b'G');
        late.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn peer_that_takes_no_bytes_is_dropped_after_the_stall_timeout() {
        let (mut watched, mut far, _turns) = pair();
        watched.write_all(&[0; 64]).await.unwrap();
        let start = Instant::now();
        let reader = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            far.read_exact(&mut [0; 64]).await.unwrap();
            far
        });
        watched.write_all(&[0; 64]).await.unwrap();
        let error = watched.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 50);
        reader.await.unwrap();
    }
}
