import { useEffect, useRef, useState } from 'react';
import { toApiError, unreachable } from '../../api/errors';
import { useFollowLog, useLive } from '../../live/LiveProvider';
import { Pacer } from '../jobs/Pacer';
import { LogText } from './LogText';

/** How often a growing log is read at most. */
const READ_EVERY_MS = 250;

interface Log {
  text: LogText;
  error: unknown;
  /** Something was read, even if the log is empty. */
  isRead: boolean;
}

/**
 * The log of one attempt. The stream tells when it has grown; the bytes themselves are read from
 * where they ended, which keeps characters whole that the stream's pieces cut in two.
 */
export function useLog(jobId: string, attempt: number, isOpen: boolean): Log {
  const [log, setLog] = useState<Log>(() => ({ text: new LogText(), error: null, isRead: false }));
  const reader = useRef<LogReader | null>(null);
  useFollowLog(isOpen ? jobId : null);
  useEffect(() => {
    const own = new LogReader(jobId, attempt, setLog);
    reader.current = own;
    own.read();
    return () => own.stop();
  }, [jobId, attempt]);
  // What was written just before the attempt ended is read once more.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the attempt ends.
  useEffect(() => reader.current?.read(), [isOpen]);
  useLive((messages) => {
    const concerns = messages.some(
      (message) =>
        message.topic === 'reset' ||
        (message.topic === 'log' && message.piece.job_id === jobId && message.piece.attempt === attempt) ||
        (message.topic === 'event' &&
          message.event.job_id === jobId &&
          message.event.event !== 'job:progress'),
    );
    if (concerns) reader.current?.read();
  });
  return log;
}

class LogReader {
  #text = new LogText();
  #aborter = new AbortController();
  #failed = false;
  #pacer = new Pacer(READ_EVERY_MS, () => this.#read());

  constructor(
    private readonly jobId: string,
    private readonly attempt: number,
    private readonly show: (log: Log) => void,
  ) {
    show({ text: this.#text, error: null, isRead: false });
  }

  stop(): void {
    this.#aborter.abort();
    this.#pacer.stop();
  }

  read(): void {
    this.#pacer.ask();
  }

  async #read(): Promise<void> {
    const { signal } = this.#aborter;
    try {
      const grown = await this.#readOn(signal);
      if ((grown || this.#failed) && !signal.aborted)
        this.show({ text: this.#text, error: null, isRead: true });
      this.#failed = false;
    } catch (error) {
      this.#failed = true;
      if (!signal.aborted) this.show({ text: this.#text, error, isRead: true });
    }
  }

  async #readOn(signal: AbortSignal): Promise<boolean> {
    const isFirst = this.#text.end === 0;
    const address = logAddress(this.jobId, this.attempt, this.#text.end);
    const response = await fetch(address, { signal, cache: 'no-store' }).catch(() => {
      throw unreachable();
    });
    if (!response.ok) throw toApiError(response.status, await response.json().catch(() => null));
    const offset = Number(response.headers.get('x-log-offset') ?? this.#text.end);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length > 0) this.#text.append(offset, bytes);
    return bytes.length > 0 || isFirst;
  }
}

export function logAddress(jobId: string, attempt: number, offset?: number): string {
  const query = new URLSearchParams({ attempt: String(attempt) });
  if (offset !== undefined) query.set('offset', String(offset));
  return `/api/jobs/${encodeURIComponent(jobId)}/logs?${query}`;
}
