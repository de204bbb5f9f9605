/** A page with a list of jobs: its filters, its live rows, and what can be done to those that are chosen. */
import { useQuery } from '@tanstack/react-query';
import { ArrowUp, RotateCw } from 'lucide-react';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { messageOf } from '../../api/errors';
import { type JobsFilter, queries } from '../../api/queries';
import { useCan } from '../../api/session';
import type { BulkAction } from '../../api/types';
import { Button } from '../../ui/Button';
import { formatNumber, plural } from '../../ui/format';
import { Page } from '../../ui/Layout';
import { Failure, Skeleton } from '../../ui/States';
import { type Column, jobHref } from './columns';
import { Filters } from './Filters';
import { countFilters, filterFrom, searchFor } from './filter';
import { JobGrid } from './JobGrid';
import styles from './JobListPage.module.css';
import type { JobRow } from './row';
import { SelectionBar } from './SelectionBar';
import { NOTHING, useSelection } from './selection';
import { countOf } from './total';
import { useJobList } from './useJobList';

export interface OfferedAction {
  action: BulkAction;
  /** In place of the action's own word. */
  label?: string;
}

interface JobListPageProps {
  title: string;
  /** What the page itself asks for. */
  own: JobsFilter;
  columns: readonly Column[];
  offers: readonly OfferedAction[];
  /** Shown when there is nothing and no filter is set. */
  empty: ReactNode;
  actions?: ReactNode;
}

export function JobListPage({ title, own, columns, offers, empty, actions }: JobListPageProps) {
  const [, navigate] = useLocation();
  const search = useSearch();
  const filter = useMemo<JobsFilter>(() => ({ ...filterFrom(search), ...own }), [search, own]);
  const { list, state } = useJobList(filter);
  const [selection, select] = useSelection(state.rows);
  const mayActOnAll = useCan('bulk');
  const maySelect = useCan('retry') || mayActOnAll;
  const mayWatch = useCan('list_workers');
  const mayHear = useCan('events');
  const overview = useQuery({ ...queries.overview(), enabled: mayWatch }).data;
  const [toTop, setToTop] = useState(0);
  const total = state.complete ? state.rows.length : countOf(overview, filter);
  const isFiltered = countFilters(filter, own) > 0;
  const types = useMemo(() => seenTypes(state.rows), [state.rows]);

  const onNearEnd = useCallback(() => void list.loadMore(), [list]);
  const onVisible = useCallback(
    (rows: readonly JobRow[], atTop: boolean) => {
      list.keepFresh(rows);
      list.setAtTop(atTop);
    },
    [list],
  );

  function changeFilter(next: JobsFilter) {
    const path = location.pathname;
    const changed = Object.fromEntries(
      Object.entries(next).filter(([name]) => own[name as keyof JobsFilter] === undefined),
    );
    navigate(path + searchFor(changed as JobsFilter), { replace: true });
    select(NOTHING);
  }

  return (
    <Page title={title} actions={actions} fill aside={<Total known={total} shown={state.rows.length} />}>
      <Filters filter={filter} own={own} types={types} onChange={changeFilter} />
      <section className={styles.card} aria-label={title}>
        {maySelect && (
          <SelectionBar
            selection={selection}
            filter={filter}
            total={total}
            offers={offers}
            mayActOnAll={mayActOnAll}
            onSelect={select}
            // Who may not watch events sees what came of it by reading the list again.
            onDone={() => !mayHear && void list.reload()}
          />
        )}
        {state.phase === 'failed' ? (
          <Failure title="The jobs could not be read" error={state.error} onRetry={() => list.start()} />
        ) : state.phase === 'loading' ? (
          <div className={styles.loading}>
            <Skeleton lines={10} height={22} />
          </div>
        ) : state.rows.length === 0 ? (
          <div className={styles.empty}>
            {isFiltered ? <NothingMatches onClear={() => changeFilter(own)} /> : empty}
          </div>
        ) : (
          <JobGrid
            key={searchFor(filter)}
            label={title}
            rows={state.rows}
            columns={columns}
            total={total}
            selection={selection}
            onSelect={maySelect ? select : undefined}
            onOpen={(row) => navigate(jobHref(row.id))}
            onNearEnd={onNearEnd}
            onVisible={onVisible}
            topKey={toTop}
          />
        )}
        {(state.unseen > 0 || state.outdated) && state.phase === 'ready' && (
          <div className={styles.news} role="status">
            <Button
              look="primary"
              icon={state.outdated ? <RotateCw /> : <ArrowUp />}
              onClick={() => {
                setToTop(toTop + 1);
                if (state.outdated || state.rows.length === 0) void list.reload();
                else list.setAtTop(true);
              }}
            >
              {state.outdated ? 'Read the list again' : `${formatNumber(state.unseen)} new`}
            </Button>
          </div>
        )}
        {state.phase === 'ready' && state.error !== null && (
          <div className={styles.foot} role="alert">
            More could not be read: {messageOf(state.error)}{' '}
            <Button onClick={() => void list.loadMore()}>Try again</Button>
          </div>
        )}
      </section>
    </Page>
  );
}

function Total({ known, shown }: { known: number | null; shown: number }) {
  return (
    <span className={styles.total}>
      {known === null ? `first ${formatNumber(shown)} read` : plural(known, 'job')}
    </span>
  );
}

function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <>
      <p className={styles.nothing}>No job matches these filters.</p>
      <p>Types, queues, machines and tags must be written in full; the search finds parts.</p>
      <Button onClick={onClear}>Clear the filters</Button>
    </>
  );
}

/** Enough rows to know the types from. */
const LOOKED_AT = 1_000;

function seenTypes(rows: readonly JobRow[]): string[] {
  return [...new Set(rows.slice(0, LOOKED_AT).map((row) => row.type))].sort();
}
