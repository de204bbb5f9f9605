/** A tab's end of the live data: joins the shared worker, or reads the stream itself without one. */

import { Batcher } from './batch';
import type { Connection, FromTab, LiveMessage, RecentEvent, ToTab } from './messages';
import { LiveStream } from './stream';

const HERE_EVERY_MS = 20_000;

/** Events that are kept to be shown as the latest. */
const RECENT_MAX = 50;

export type LiveListener = (messages: LiveMessage[]) => void;

interface Link {
  say(message: FromTab): void;
  close(): void;
}

export class LiveClient {
  #listeners = new Set<LiveListener>();
  #stateListeners = new Set<() => void>();
  #logs = new Map<string, number>();
  #connection: Connection = { phase: 'connecting', freshAt: null };
  #link: Link | null = null;
  #here: ReturnType<typeof setInterval> | undefined;
  #recent: readonly RecentEvent[] = [];
  #batcher = new Batcher((messages) => {
    this.#remember(messages);
    for (const listener of this.#listeners) listener(messages);
  });

  get connection(): Connection {
    return this.#connection;
  }

  /** The latest events, newest first. */
  get recent(): readonly RecentEvent[] {
    return this.#recent;
  }

  start(): void {
    if (this.#link) return;
    this.#link = linkToWorker((message) => this.#receive(message)) ?? ownStream((m) => this.#receive(m));
    this.#sayHere();
    this.#here = setInterval(this.#sayHere, HERE_EVERY_MS);
    addEventListener('pagehide', this.#sayBye);
    addEventListener('pageshow', this.#sayHere);
  }

  stop(): void {
    clearInterval(this.#here);
    removeEventListener('pagehide', this.#sayBye);
    removeEventListener('pageshow', this.#sayHere);
    this.#sayBye();
    this.#link?.close();
    this.#link = null;
  }

  /** Hears every message, in batches of at most one per frame. */
  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Hears when the connection's state changes. */
  listenToState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  /** Asks for a job's log on the stream, until the returned function is called. */
  followLog(jobId: string): () => void {
    this.#logs.set(jobId, (this.#logs.get(jobId) ?? 0) + 1);
    this.#sayHere();
    return () => {
      const left = (this.#logs.get(jobId) ?? 1) - 1;
      if (left > 0) this.#logs.set(jobId, left);
      else this.#logs.delete(jobId);
      this.#sayHere();
    };
  }

  #remember(messages: LiveMessage[]): void {
    const events = messages.flatMap((message) => {
      if (message.topic === 'event') return [{ id: message.id, event: message.event }];
      return message.topic === 'recent' ? message.events : [];
    });
    if (events.length === 0) return;
    const all = new Map([...events, ...this.#recent].map((entry) => [entry.id, entry]));
    this.#recent = [...all.values()].sort((a, b) => numberOf(b) - numberOf(a)).slice(0, RECENT_MAX);
  }

  #sayHere = (): void => this.#link?.say({ kind: 'here', logs: [...this.#logs.keys()] });
  #sayBye = (): void => this.#link?.say({ kind: 'bye' });

  #receive(message: ToTab): void {
    if (message.kind === 'messages') {
      this.#batcher.add(message.messages);
      return;
    }
    this.#connection = message.connection;
    // A stream that is yet to open says `reset` itself when it begins.
    const isLate = message.kind === 'joined' && message.connection.phase === 'live';
    if (isLate) this.#batcher.add([{ topic: 'reset' }]);
    for (const listener of this.#stateListeners) listener();
  }
}

/** An event's place in the log: the part of its id behind the epoch. */
function numberOf({ id }: RecentEvent): number {
  return Number(id.slice(id.indexOf('-') + 1));
}

function linkToWorker(receive: (message: ToTab) => void): Link | null {
  if (typeof SharedWorker === 'undefined') return null;
  const worker = new SharedWorker(new URL('./shared.worker.ts', import.meta.url), {
    type: 'module',
    name: 'forge-live',
  });
  worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => receive(data);
  return {
    say: (message) => worker.port.postMessage(message),
    close: () => worker.port.close(),
  };
}

function ownStream(receive: (message: ToTab) => void): Link {
  const stream = new LiveStream({
    messages: (messages) => receive({ kind: 'messages', messages }),
    state: (connection) => receive({ kind: 'state', connection }),
  });
  let joined = false;
  return {
    say: (message) => {
      if (message.kind === 'bye') {
        joined = false;
        stream.stop();
        return;
      }
      stream.start(message.logs);
      if (!joined) receive({ kind: 'joined', connection: stream.connection });
      joined = true;
    },
    close: () => stream.stop(),
  };
}
