/** Machines and workers as one list: what is shown of it, and in which order. */
import type { Machine, MachineState, Snapshot, Worker, WorkerState } from '../../api/types';

/** A machine that sends metrics, a worker that runs jobs, or mostly both under one id. */
export interface FleetEntry {
  id: string;
  machine: Machine | null;
  worker: Worker | null;
}

export const SORTS = ['name', 'state', 'cpu', 'memory', 'jobs', 'seen'] as const;
export type Sort = (typeof SORTS)[number];

export interface FleetFilter {
  text: string;
  state: MachineState | null;
  worker: WorkerState | null;
  tag: string | null;
  sort: Sort;
}

export const MACHINE_STATES: readonly MachineState[] = ['online', 'degraded', 'offline'];
export const WORKER_STATES: readonly WorkerState[] = ['online', 'draining', 'lost'];

export function joinFleet(machines: Machine[], workers: Worker[]): FleetEntry[] {
  const entries = new Map<string, FleetEntry>();
  for (const machine of machines) entries.set(machine.id, { id: machine.id, machine, worker: null });
  for (const worker of workers) {
    const machine = entries.get(worker.id)?.machine ?? null;
    entries.set(worker.id, { id: worker.id, machine, worker });
  }
  return [...entries.values()];
}

/** A machine that was given no name has its id for one. */
export function nameOf({ id, machine, worker }: FleetEntry): string {
  return machine && machine.name !== id ? machine.name : (worker?.name ?? id);
}

/** A worker that sends no metrics is judged by its heartbeat. */
export function stateOf({ machine, worker }: FleetEntry): MachineState {
  if (machine) return machine.status;
  return worker?.state === 'lost' ? 'offline' : 'online';
}

export function lastSeenOf({ machine, worker }: FleetEntry): number | null {
  const times = [machine?.lastSeen, worker?.last_heartbeat].filter((ts) => ts != null);
  return times.length > 0 ? Math.max(...times) : null;
}

/** The newest measurement, unless it is too old to tell how the machine is now. */
export function currentOf(machine: Machine | null): Snapshot | null {
  return machine && machine.status !== 'offline' ? (machine.latest ?? null) : null;
}

export function tagsOf(entries: FleetEntry[]): string[] {
  return [...new Set(entries.flatMap(({ worker }) => worker?.tags ?? []))].sort();
}

function contains(entry: FleetEntry, text: string): boolean {
  const { worker } = entry;
  const words = [
    entry.id,
    nameOf(entry),
    worker?.hostname,
    worker?.os,
    worker?.arch,
    worker?.version,
    ...(worker?.tags ?? []),
    ...(worker?.types ?? []),
  ];
  const all = words.join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** Worst first; then as the names go, so that nothing jumps about. */
const URGENCY: Record<MachineState, number> = { offline: 0, degraded: 1, online: 2 };

const RANKS: Record<Exclude<Sort, 'name'>, (entry: FleetEntry) => number> = {
  state: (entry) => URGENCY[stateOf(entry)] ?? 3,
  cpu: ({ machine }) => -(currentOf(machine)?.cpu ?? -1),
  memory: ({ machine }) => -(currentOf(machine)?.memory.percent ?? -1),
  jobs: ({ worker }) => -(worker?.jobs ?? -1),
  seen: (entry) => -(lastSeenOf(entry) ?? 0),
};

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** What the filter lets through, in its order. */
export function chooseFrom(entries: FleetEntry[], filter: FleetFilter): FleetEntry[] {
  const { text, state, worker, tag, sort } = filter;
  const chosen = entries.filter(
    (entry) =>
      (state === null || stateOf(entry) === state) &&
      (worker === null || entry.worker?.state === worker) &&
      (tag === null || (entry.worker?.tags.includes(tag) ?? false)) &&
      (text.trim() === '' || contains(entry, text.trim())),
  );
  const rank = sort === 'name' ? () => 0 : RANKS[sort];
  const ranked = chosen.map((entry) => ({ entry, rank: rank(entry), name: nameOf(entry) }));
  ranked.sort(
    (a, b) => a.rank - b.rank || byName.compare(a.name, b.name) || a.entry.id.localeCompare(b.entry.id),
  );
  return ranked.map(({ entry }) => entry);
}

function oneOf<Value extends string>(values: readonly Value[], text: string | null): Value | null {
  return values.find((value) => value === text) ?? null;
}

export function filterFrom(address: URLSearchParams): FleetFilter {
  return {
    text: address.get('q') ?? '',
    state: oneOf(MACHINE_STATES, address.get('state')),
    worker: oneOf(WORKER_STATES, address.get('worker')),
    tag: address.get('tag'),
    sort: oneOf(SORTS, address.get('sort')) ?? 'name',
  };
}

/** Only what differs from showing everything by name stands in the address. */
export function addressOf(filter: FleetFilter): URLSearchParams {
  const address = new URLSearchParams();
  if (filter.text !== '') address.set('q', filter.text);
  if (filter.state) address.set('state', filter.state);
  if (filter.worker) address.set('worker', filter.worker);
  if (filter.tag !== null) address.set('tag', filter.tag);
  if (filter.sort !== 'name') address.set('sort', filter.sort);
  return address;
}

/** A pause this many times longer than usual is a gap in the line. */
const GAP_FACTOR = 3;

/** The last minutes as values for a sparkline, with a `null` wherever snapshots are missing. */
export function sparkOf(history: Snapshot[], pick: (snapshot: Snapshot) => number): (number | null)[] {
  const pauses = history.slice(1).map((snapshot, at) => snapshot.timestamp - (history[at]?.timestamp ?? 0));
  const usual = [...pauses].sort((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? 0;
  return history.flatMap((snapshot, at) => {
    const isAfterGap = at > 0 && (pauses[at - 1] ?? 0) > usual * GAP_FACTOR;
    return isAfterGap ? [null, pick(snapshot)] : [pick(snapshot)];
  });
}
