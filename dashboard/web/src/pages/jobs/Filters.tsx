/** The filters of a list of jobs. They live in the address, so that a link shows the same view. */
import { useQuery } from '@tanstack/react-query';
import { Search, SlidersHorizontal, X } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { type JobsFilter, queries } from '../../api/queries';
import { useCan } from '../../api/session';
import { JOB_STATUSES } from '../../api/types';
import { useShortcut } from '../../app/shortcuts';
import { JOB_LOOKS, VIEW_LOOKS } from '../../ui/Badge';
import { Button } from '../../ui/Button';
import { Chips } from '../../ui/Chips';
import { cx } from '../../ui/classes';
import styles from './Filters.module.css';
import { countFilters } from './filter';
import { TimeFilter } from './TimeFilter';

/** What `quarantined` lists already is left out. */
const VIEWS = ['scheduled', 'retrying', 'blocked', 'cancelled'] as const;
/** How long a text rests before the list follows it. */
const REST_MS = 250;

interface FiltersProps {
  filter: JobsFilter;
  /** What the page itself asks for, and nobody can change. */
  own: JobsFilter;
  /** Job types that were seen, to choose from. */
  types: readonly string[];
  onChange: (filter: JobsFilter) => void;
}

export function Filters({ filter, own, types, onChange }: FiltersProps) {
  const [open, setOpen] = useState(false);
  const moreId = useId();
  const line = useRef<HTMLDivElement>(null);
  useShortcut('/', 'Searches the jobs', () => line.current?.querySelector('input')?.focus());
  const mayWatch = useCan('list_workers');
  const overview = useQuery({ ...queries.overview(), enabled: mayWatch }).data;
  const workers = useQuery({ ...queries.workers(), enabled: mayWatch }).data;
  const count = countFilters(filter, own);
  // The hub counts all jobs; beside another filter these figures would say something else.
  const jobs = count === countFilters(pick(filter, ['status', 'view']), own) ? overview?.jobs : undefined;

  function set(change: Partial<Record<keyof JobsFilter, JobsFilter[keyof JobsFilter] | null>>) {
    const next = { ...filter, ...change } as Record<string, unknown>;
    for (const name of Object.keys(next)) if (next[name] == null || next[name] === '') delete next[name];
    onChange(next as JobsFilter);
  }

  return (
    <search className={styles.filters} aria-label="Filters">
      <div ref={line} className={styles.line}>
        <TextFilter
          label="Search id, type, tag or reason"
          value={filter.q}
          onChange={(q) => set({ q })}
          wide
        />
        <span className={styles.toggle}>
          <Button
            icon={<SlidersHorizontal />}
            aria-expanded={open}
            aria-controls={moreId}
            onClick={() => setOpen(!open)}
          >
            Filters{count > 0 ? ` (${count})` : ''}
          </Button>
        </span>
        <div id={moreId} className={cx(styles.more, open && styles.open)}>
          <TextFilter label="Type" value={filter.type} options={types} onChange={(type) => set({ type })} />
          <TextFilter
            label="Queue"
            value={filter.queue}
            options={overview?.queues.map((queue) => queue.name) ?? []}
            onChange={(queue) => set({ queue })}
          />
          {own.view !== 'scheduled' && (
            <TextFilter
              label="Machine"
              value={filter.worker_id}
              options={workers?.map((worker) => worker.id) ?? []}
              onChange={(worker_id) => set({ worker_id })}
            />
          )}
          <TextFilter label="Tag" value={filter.tag} onChange={(tag) => set({ tag })} />
          <TimeFilter since={filter.since} until={filter.until} onChange={set} />
          {count > 0 && (
            <Button look="quiet" icon={<X />} onClick={() => onChange(own)}>
              Clear
            </Button>
          )}
        </div>
      </div>
      {own.view === undefined && (
        <div className={cx(styles.line, styles.chips, open && styles.open)}>
          <Chips
            label="Status"
            options={JOB_STATUSES.map((value) => ({
              value,
              label: JOB_LOOKS[value].word,
              count: jobs?.[value] ?? null,
            }))}
            chosen={filter.status ?? null}
            onChoose={(status) => set({ status, view: null })}
          />
          <span className={styles.gap} />
          <Chips
            label="View"
            options={VIEWS.map((value) => ({ value, label: VIEW_LOOKS[value].word }))}
            chosen={VIEWS.find((view) => view === filter.view) ?? null}
            onChoose={(view) => set({ view, status: null })}
          />
        </div>
      )}
    </search>
  );
}

function pick(filter: JobsFilter, names: readonly (keyof JobsFilter)[]): JobsFilter {
  return Object.fromEntries(names.map((name) => [name, filter[name]])) as JobsFilter;
}

interface TextFilterProps {
  label: string;
  value: string | undefined;
  options?: readonly string[];
  wide?: boolean;
  onChange: (value: string | null) => void;
}

function TextFilter({ label, value = '', options, wide = false, onChange }: TextFilterProps) {
  const listId = useId();
  const [text, setText] = useState(value);
  // The address changed by itself: a link was followed, or the filters were cleared.
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    if (text.trim() !== value) setText(value);
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the wait.
  useEffect(() => {
    const next = text.trim();
    if (next === value) return;
    const timer = setTimeout(() => onChange(next || null), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <span className={cx(styles.input, wide && styles.wide, value !== '' && styles.set)}>
      {wide && <Search aria-hidden="true" />}
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        list={options ? listId : undefined}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onChange(text.trim() || null);
        }}
      />
      {options && (
        <datalist id={listId}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </span>
  );
}
