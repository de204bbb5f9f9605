/**
 * The one stream of live data of a browser. It is opened with `fetch` rather than `EventSource`:
 * that shows the hub's keep-alive comments, so that a link which died without a word is noticed,
 * and the status of a refusal, so that a person can be told what to do.
 *
 * The place in the event log outlives every connection. Whenever the stream is opened again, after
 * a loss or because other topics are wanted, it goes on from the last event that was seen; the hub
 * repeats what was missed or says `reset`.
 */
import type { HubEvent } from '../api/types';
import type { Connection, LiveMessage, LogPiece, MachineNow, RecentEvent } from './messages';
import { type SseMessage, SseParser } from './sse';

/** The hub says something at least every 15 s; after three times that the link is dead. */
export const SILENCE_MAX_MS = 45_000;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 5_000;
const TOPICS = ['jobs', 'workers', 'nodes', 'queues'];
/** Events from before the stream began that are worth showing, and how long they are waited for. */
const RECALL = 30;
const RECALL_MS = 5_000;
/** The hub follows this many logs on one stream. */
const LOGS_MAX = 16;

export interface StreamOutput {
  messages(messages: LiveMessage[]): void;
  state(connection: Connection): void;
}

export class LiveStream {
  #output: StreamOutput;
  #logs: string[] = [];
  #lastEventId: string | undefined;
  #connection: Connection = { phase: 'connecting', freshAt: null };
  #open: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #recent: RecentEvent[] = [];

  constructor(output: StreamOutput) {
    this.#output = output;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** The events that a reader who joins late is shown, oldest first. */
  get recent(): RecentEvent[] {
    return this.#recent;
  }

  /**
   * Opens the stream unless it is open. With other logs it is opened anew where it stopped, and so
   * it is for a reader who joins a log (`fromStart`), who needs what the others have read already.
   */
  start(logs: string[], fromStart = false): void {
    const wanted = [...new Set(logs)].sort().slice(-LOGS_MAX);
    const changed = fromStart || wanted.join() !== this.#logs.join();
    this.#logs = wanted;
    const waiting = this.#timer !== undefined;
    if (this.#open ? changed : !waiting) this.#connect();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#open?.abort();
    this.#open = null;
    this.#connection = { phase: 'connecting', freshAt: this.#connection.freshAt };
  }

  #connect(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#open?.abort();
    const open = new AbortController();
    this.#open = open;
    void this.#read(open).then(
      () => this.#lost(open, 'The hub closed the stream.'),
      (error: unknown) => this.#lost(open, error instanceof Refused ? error : 'The hub cannot be reached.'),
    );
  }

  async #read(open: AbortController): Promise<void> {
    const query = new URLSearchParams({ topics: [...TOPICS, ...this.#logs.map((id) => `log:${id}`)].join() });
    if (this.#lastEventId) query.set('last_event_id', this.#lastEventId);
    let begins = this.#lastEventId === undefined;
    let silence = setTimeout(() => open.abort(), SILENCE_MAX_MS);
    try {
      const response = await fetch(`/api/events?${query}`, { signal: open.signal, cache: 'no-store' });
      if (!response.ok || !response.body) throw await refusal(response);
      const parser = new SseParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#open !== open) return;
        clearTimeout(silence);
        silence = setTimeout(() => open.abort(), SILENCE_MAX_MS);
        this.#heard();
        const messages = parser.push(value).flatMap((message) => this.#understand(message));
        // What was read before the stream began may be older than what it tells.
        if (begins) {
          messages.unshift({ topic: 'reset' });
          void this.#recall();
        }
        begins = false;
        if (messages.length > 0) this.#output.messages(messages);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  /** Reads the events just before the stream began, so that the page does not start out blank. */
  async #recall(): Promise<void> {
    const [epoch, last] = (this.#lastEventId ?? '').split('-').map(Number);
    if (epoch === undefined || last === undefined || !(last > 0)) return;
    const from = `${epoch}-${Math.max(0, last - RECALL)}`;
    const query = new URLSearchParams({ topics: 'jobs,workers', last_event_id: from });
    const recall = new AbortController();
    const timer = setTimeout(() => recall.abort(), RECALL_MS);
    try {
      const response = await fetch(`/api/events?${query}`, { signal: recall.signal, cache: 'no-store' });
      if (!response.ok || !response.body) return;
      const parser = new SseParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const events: RecentEvent[] = [];
      while (events.length < last - Math.max(0, last - RECALL)) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const { id = '', event, data } of parser.push(value)) {
          if (event === 'reset') return;
          if (data !== '') events.push({ id, event: JSON.parse(data) as HubEvent });
        }
      }
      this.#recent = [...events, ...this.#recent].slice(-RECALL);
      this.#output.messages([{ topic: 'recent', events }]);
    } catch {
      // Old events are a courtesy; the stream itself tells when the hub is out of reach.
    } finally {
      clearTimeout(timer);
      recall.abort();
    }
  }

  #heard(): void {
    const wasLive = this.#connection.phase === 'live';
    this.#failures = 0;
    this.#connection = { phase: 'live', freshAt: Date.now() };
    if (!wasLive) this.#output.state(this.#connection);
  }

  #understand(message: SseMessage): LiveMessage[] {
    if (message.id !== undefined) this.#lastEventId = message.id;
    if (message.event === 'reset') return [{ topic: 'reset' }];
    if (message.data === '') return [];
    const data: unknown = JSON.parse(message.data);
    if (message.event === 'node') return [{ topic: 'node', node: data as MachineNow }];
    if (message.event === 'log') return [{ topic: 'log', piece: data as LogPiece }];
    const event = { id: message.id ?? '', event: data as HubEvent };
    this.#recent = [...this.#recent, event].slice(-RECALL);
    return [{ topic: 'event', ...event }];
  }

  #lost(open: AbortController, why: string | Refused): void {
    // Another connection has taken over.
    if (this.#open !== open) return;
    this.#open = null;
    const refused = why instanceof Refused;
    this.#connection = {
      phase: refused && why.final ? 'refused' : 'down',
      freshAt: this.#connection.freshAt,
      reason: refused ? why.message : why,
    };
    this.#output.state(this.#connection);
    if (refused && why.final) return;
    const wait = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** this.#failures);
    this.#failures += 1;
    // Spread, so that a hub that comes back is not met by all browsers at once.
    this.#timer = setTimeout(() => this.#connect(), wait * (0.75 + Math.random() / 2));
  }
}

class Refused extends Error {
  constructor(
    message: string,
    /** Trying again cannot help: the session is over or may not watch. */
    readonly final: boolean,
  ) {
    super(message);
  }
}

async function refusal(response: Response): Promise<Refused> {
  const body = (await response.json().catch(() => null)) as { error?: string } | null;
  const final = response.status === 401 || response.status === 403;
  return new Refused(body?.error ?? `The hub answered ${response.status}.`, final);
}
