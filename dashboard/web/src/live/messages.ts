/** What passes between the hub's stream, the shared worker and the tabs. */
import type { HubEvent, Machine } from '../api/types';

/** A piece of a job's log. The stream starts it over when it is opened anew: go by `offset`. */
export interface LogPiece {
  job_id: string;
  attempt: number;
  /** Bytes of the log before this piece. */
  offset: number;
  text: string;
}

export interface RecentEvent {
  id: string;
  event: HubEvent;
}

/** A machine's present; its past is here already, or read once. */
export type MachineNow = Omit<Machine, 'history'>;

export type LiveMessage =
  | { topic: 'event'; id: string; event: HubEvent }
  | { topic: 'node'; node: MachineNow }
  | { topic: 'log'; piece: LogPiece }
  /** What happened before the stream began, to be shown but not applied. */
  | { topic: 'recent'; events: RecentEvent[] }
  /** What was missed is not known: read everything again. */
  | { topic: 'reset' };

export type Phase = 'connecting' | 'live' | 'down' | 'refused';

export interface Connection {
  phase: Phase;
  /** Up to when the data is known to be complete; `null` before the first connection. */
  freshAt: number | null;
  /** Why it is down, for a person. */
  reason?: string;
}

/** From a tab to the worker. */
export type FromTab =
  /** Also sent now and then, so that the worker notices a tab that is gone without a word. */
  { kind: 'here'; logs: string[] } | { kind: 'bye' };

/** From the worker to a tab. */
export type ToTab =
  | { kind: 'messages'; messages: LiveMessage[] }
  | { kind: 'state'; connection: Connection }
  /** From here on the tab hears everything; what it read before may lack something. */
  | { kind: 'joined'; connection: Connection };
