/**
 * The rows of a list of jobs: read page by page as somebody scrolls, and kept up to date by events.
 *
 * The hub lists jobs newest first, and those that wait for their time soonest first. A row that is here is changed in place and leaves when it no
 * longer fits. A job that is not here and may fit is *unseen*: it is read and put into its place
 * while the top of the list is looked at, and only counted otherwise, so that nothing moves under
 * the reader's eyes.
 */
import { isByTime, type JobsFilter, jobsPage, loadJob } from '../../api/queries';
import type { HubEvent, Job } from '../../api/types';
import { mayMatch } from './filter';
import { Pacer } from './Pacer';
import { type JobRow, rowChangedBy, rowOf } from './row';

const FIRST_PAGE = 100;
const NEXT_PAGE = 1_000;
/** How often unseen jobs, and rows that are stale, are read at most. */
const READ_EVERY_MS = 1_000;
/** Single jobs read at a time. */
const SINGLE_MAX = 40;

export interface ListState {
  rows: readonly JobRow[];
  phase: 'loading' | 'ready' | 'failed';
  error: unknown;
  loadingMore: boolean;
  /** All that match are here. */
  complete: boolean;
  /** Jobs that came to match and are not shown. */
  unseen: number;
  /** Events were missed; what is shown may be wrong. */
  outdated: boolean;
}

interface ListSource {
  page: typeof jobsPage;
  job: (id: string) => Promise<Job>;
}

type Compare = (a: JobRow, b: JobRow) => number;
const newestFirst: Compare = (a, b) => b.created_at - a.created_at;
const soonestFirst: Compare = (a, b) => a.run_at - b.run_at;

const HUB: ListSource = { page: jobsPage, job: loadJob };

export class JobList {
  #rows: readonly JobRow[] = [];
  #byId = new Map<string, JobRow>();
  #cursor: string | undefined;
  #unseen = new Set<string>();
  #state: ListState = {
    rows: [],
    phase: 'loading',
    error: null,
    loadingMore: false,
    complete: false,
    unseen: 0,
    outdated: false,
  };
  #listeners = new Set<() => void>();
  #aborter = new AbortController();
  #atTop = true;
  #readUnseen = new Pacer(READ_EVERY_MS, () => this.#takeInUnseen());
  #readStale = new Pacer(READ_EVERY_MS, () => this.#refreshStale());
  #visible: readonly JobRow[] = [];

  readonly #byTime: boolean;

  constructor(
    readonly filter: JobsFilter,
    private readonly source: ListSource = HUB,
  ) {
    this.#byTime = isByTime(filter);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  state = (): ListState => this.#state;

  /** Reads the list, with at least so many rows as there are. */
  start(rows = FIRST_PAGE): void {
    this.#aborter = new AbortController();
    void this.reload(rows);
  }

  stop(): void {
    this.#aborter.abort();
    this.#readUnseen.stop();
    this.#readStale.stop();
  }

  /** Reads the list anew from the top. What is shown stays until then. */
  async reload(wanted = FIRST_PAGE): Promise<void> {
    const { signal } = this.#aborter;
    try {
      const limit = Math.min(Math.max(wanted, FIRST_PAGE), NEXT_PAGE);
      let page = await this.source.page(this.filter, { limit, signal });
      const rows = page.jobs.map(rowOf);
      while (rows.length < wanted && page.nextCursor !== undefined) {
        page = await this.source.page(this.filter, { limit: NEXT_PAGE, cursor: page.nextCursor, signal });
        rows.push(...page.jobs.map(rowOf));
      }
      if (signal.aborted) return;
      this.#cursor = page.nextCursor;
      this.#unseen.clear();
      this.#show(rows, { phase: 'ready', error: null, outdated: false });
    } catch (error) {
      if (!signal.aborted) this.#set({ phase: this.#rows.length > 0 ? 'ready' : 'failed', error });
    }
  }

  async loadMore(): Promise<void> {
    const { signal } = this.#aborter;
    const cursor = this.#cursor;
    if (this.#state.loadingMore || cursor === undefined) return;
    this.#set({ loadingMore: true, error: null });
    try {
      const page = await this.source.page(this.filter, { limit: NEXT_PAGE, cursor, signal });
      // The list may have been read anew meanwhile; then this page is of another time.
      if (signal.aborted || this.#cursor !== cursor) return this.#set({ loadingMore: false });
      this.#cursor = page.nextCursor;
      const added = page.jobs.filter((job) => !this.#byId.has(job.id)).map(rowOf);
      for (const row of added) this.#byId.set(row.id, row);
      this.#rows = this.#inOrder(this.#rows.concat(added));
      this.#set({ loadingMore: false });
    } catch (error) {
      if (!signal.aborted) this.#set({ loadingMore: false, error });
    }
  }

  apply(events: readonly HubEvent[], now: number): void {
    const changed = new Map<string, JobRow | null>();
    const unseenBefore = this.#unseen.size;
    for (const event of events) {
      const id = event.job_id;
      if (id == null) continue;
      const row = changed.get(id) ?? (changed.has(id) ? undefined : this.#byId.get(id));
      if (row) {
        const next = event.event === 'job:deleted' ? null : rowChangedBy(row, event);
        changed.set(id, next && mayMatch(this.filter, next, now) ? next : null);
      } else if (event.event === 'job:deleted') {
        this.#unseen.delete(id);
      } else if (event.event !== 'job:progress') {
        if (mayMatch(this.filter, { ...event, fail_reason: event.reason ?? null }, now)) this.#unseen.add(id);
        else this.#unseen.delete(id);
      }
    }
    if (changed.size > 0) {
      this.#change(changed);
    } else if (this.#unseen.size !== unseenBefore) {
      this.#set({});
    }
    if (this.#atTop && this.#unseen.size > 0) this.#readUnseen.ask();
  }

  /** What was missed is not known. */
  reset(): void {
    if (this.#atTop) void this.reload();
    else this.#set({ outdated: true });
  }

  /** Whether new rows may be put in at once. */
  setAtTop(atTop: boolean): void {
    if (atTop === this.#atTop) return;
    this.#atTop = atTop;
    if (this.#unseen.size === 0) return;
    this.#set({});
    if (atTop) this.#readUnseen.ask();
  }

  /** Jobs become due, and leave these lists, without an event. */
  leaveOutDue(now: number): void {
    if (!this.#byTime) return;
    const rows = this.#rows.filter((row) => row.run_at > now);
    if (rows.length !== this.#rows.length) this.#show(rows);
  }

  /** Of the rows in sight, reads those again of which more has changed than the events told. */
  keepFresh(visible: readonly JobRow[]): void {
    this.#visible = visible;
    if (visible.some((row) => row.stale)) this.#readStale.ask();
  }

  async #refreshStale(): Promise<void> {
    const stale = this.#visible.filter((row) => this.#byId.get(row.id)?.stale).slice(0, SINGLE_MAX);
    const fresh = new Map<string, JobRow | null>(await this.#readSingles(stale.map((row) => row.id)));
    if (fresh.size > 0) this.#change(fresh);
  }

  async #readSingles(ids: string[]): Promise<[string, JobRow][]> {
    const { signal } = this.#aborter;
    // A job that cannot be read is left as it is; the next event or look tries again.
    const jobs = await Promise.all(ids.map((id) => this.source.job(id).catch(() => null)));
    return signal.aborted ? [] : jobs.flatMap((job) => (job ? [[job.id, rowOf(job)]] : []));
  }

  async #takeInUnseen(): Promise<void> {
    const { signal } = this.#aborter;
    const asked = [...this.#unseen];
    const page = await this.source.page(this.filter, { limit: FIRST_PAGE, signal }).catch(() => null);
    if (!page || signal.aborted) return;
    const top = page.jobs.map(rowOf);
    const last = top.at(-1);
    const joint = last ? this.#rows.findIndex((row) => row.id === last.id) : -1;
    if (joint < 0) this.#cursor = page.nextCursor;
    let rows = joint < 0 ? top : [...top, ...this.#rows.slice(joint + 1)];
    const here = new Set(rows.map((row) => row.id));
    const others = asked.filter((id) => !here.has(id)).slice(0, SINGLE_MAX);
    for (const [, row] of await this.#readSingles(others)) rows = this.#placed(rows, row);
    if (signal.aborted) return;
    for (const id of asked) this.#unseen.delete(id);
    this.#show(rows);
  }

  /** With a row put where it belongs, unless that part of the list is not read yet. */
  #placed(rows: JobRow[], row: JobRow): JobRow[] {
    if (!mayMatch(this.filter, row, Date.now()) || !this.#fitsWhatEventsDoNotTell(row)) return rows;
    const compare = this.#byTime ? soonestFirst : newestFirst;
    const at = rows.findIndex((other) => compare(row, other) < 0);
    if (at < 0) return this.#cursor === undefined ? [...rows, row] : rows;
    return [...rows.slice(0, at), row, ...rows.slice(at)];
  }

  #fitsWhatEventsDoNotTell(row: JobRow): boolean {
    const { tag, q, since, until, worker_id } = this.filter;
    if (tag && !row.tags.includes(tag)) return false;
    if (q && ![row.type, row.fail_reason ?? '', ...row.tags].some((text) => text.includes(q))) {
      if (!row.id.startsWith(q)) return false;
    }
    if (worker_id) return true;
    return row.created_at >= (since ?? 0) && row.created_at < (until ?? Number.POSITIVE_INFINITY);
  }

  /** Changes rows in place, or takes them out. Costs one pass, however long the list. */
  #change(changed: Map<string, JobRow | null>): void {
    for (const [id, row] of changed) {
      if (row) this.#byId.set(id, row);
      else this.#byId.delete(id);
    }
    const rows = this.#rows.flatMap((row) => {
      const next = changed.get(row.id);
      return next === undefined ? row : (next ?? []);
    });
    this.#rows = this.#inOrder(rows);
    this.#set({});
  }

  /** A job's age never changes, but the time that it waits for does. */
  #inOrder(rows: JobRow[]): JobRow[] {
    return this.#byTime ? rows.sort(soonestFirst) : rows;
  }

  #show(rows: readonly JobRow[], more: Partial<ListState> = {}): void {
    this.#rows = rows;
    this.#byId = new Map(rows.map((row) => [row.id, row]));
    this.#set(more);
  }

  #set(more: Partial<ListState>): void {
    const complete = this.#cursor === undefined && (more.phase ?? this.#state.phase) === 'ready';
    // At the top they are about to be shown.
    const unseen = this.#atTop ? 0 : this.#unseen.size;
    this.#state = { ...this.#state, ...more, rows: this.#rows, complete, unseen };
    for (const listener of this.#listeners) listener();
  }
}
