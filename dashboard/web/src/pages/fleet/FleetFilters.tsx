import { MACHINE_LOOKS, WORKER_LOOKS } from '../../ui/Badge';
import { Chips } from '../../ui/Chips';
import { SearchBox } from '../../ui/SearchBox';
import { Select } from '../../ui/Select';
import {
  type FleetEntry,
  type FleetFilter,
  MACHINE_STATES,
  type Sort,
  stateOf,
  tagsOf,
  WORKER_STATES,
} from './entries';
import styles from './FleetFilters.module.css';

const SORT_LABELS: Record<Sort, string> = {
  name: 'Name',
  state: 'Worst state first',
  cpu: 'Most CPU',
  memory: 'Most memory',
  jobs: 'Most jobs',
  seen: 'Last seen',
};

interface FleetFiltersProps {
  entries: FleetEntry[];
  filter: FleetFilter;
  onChange: (part: Partial<FleetFilter>) => void;
}

export function FleetFilters({ entries, filter, onChange }: FleetFiltersProps) {
  const tags = tagsOf(entries);
  // A tag that came with a link stays in sight even if no machine has it now.
  const offered = filter.tag !== null && !tags.includes(filter.tag) ? [filter.tag, ...tags] : tags;
  const count = (fits: (entry: FleetEntry) => boolean) => entries.filter(fits).length;
  // Workers are mostly online: the filter shows only where it tells something.
  const workerStates = WORKER_STATES.map((value) => ({
    value,
    label: `Worker ${WORKER_LOOKS[value].word.toLowerCase()}`,
    count: count(({ worker }) => worker?.state === value),
  })).filter(({ value, count: found }) => value === filter.worker || (value !== 'online' && found > 0));
  return (
    <search className={styles.filters} aria-label="Filter machines">
      <SearchBox
        label="Text in name, id, host, tag or job type"
        placeholder="Name, host, tag, type…"
        value={filter.text}
        onChange={(text) => onChange({ text })}
      />
      <Chips
        label="State of the machine"
        options={MACHINE_STATES.map((value) => ({
          value,
          label: MACHINE_LOOKS[value].word,
          count: count((entry) => stateOf(entry) === value),
        }))}
        chosen={filter.state}
        onChoose={(state) => onChange({ state })}
      />
      {workerStates.length > 0 && (
        <Chips
          label="State of the worker"
          options={workerStates}
          chosen={filter.worker}
          onChoose={(worker) => onChange({ worker })}
        />
      )}
      <div className={styles.end}>
        {offered.length > 0 && (
          <Select
            inline
            label="Tag"
            options={[{ value: '', label: 'Any' }, ...offered.map((tag) => ({ value: tag, label: tag }))]}
            value={filter.tag ?? ''}
            onChoose={(tag) => onChange({ tag: tag === '' ? null : tag })}
          />
        )}
        <Select
          inline
          label="Sort by"
          options={Object.entries(SORT_LABELS).map(([value, label]) => ({ value: value as Sort, label }))}
          value={filter.sort}
          onChoose={(sort) => onChange({ sort })}
        />
      </div>
    </search>
  );
}
