/** What can be done to the chosen jobs. */
import { CheckCheck, X } from 'lucide-react';
import { useState } from 'react';
import type { JobsFilter } from '../../api/queries';
import { Button } from '../../ui/Button';
import { cx } from '../../ui/classes';
import { formatNumber, plural } from '../../ui/format';
import { ActionDialog } from './ActionDialog';
import { ACTIONS } from './actions';
import type { OfferedAction } from './JobListPage';
import styles from './SelectionBar.module.css';
import { NOTHING, type Selection } from './selection';

interface SelectionBarProps {
  selection: Selection;
  filter: JobsFilter;
  total: number | null;
  offers: readonly OfferedAction[];
  mayActOnAll: boolean;
  onSelect: (selection: Selection) => void;
  onDone: () => void;
}

export function SelectionBar(props: SelectionBarProps) {
  const { selection, filter, total, offers, mayActOnAll, onSelect, onDone } = props;
  const [asking, setAsking] = useState<OfferedAction | null>(null);
  const { all, ids } = selection;
  const some = all || ids.size > 0;
  return (
    <div className={styles.bar} role="toolbar" aria-label="Actions on the chosen jobs">
      <span className={styles.count} aria-live="polite">
        {all
          ? `All that match${total === null ? '' : `: ${formatNumber(total)}`}`
          : ids.size > 0
            ? `${plural(ids.size, 'job')} chosen`
            : 'None chosen'}
      </span>
      {mayActOnAll && !all && (
        <Button look="quiet" icon={<CheckCheck />} onClick={() => onSelect({ all: true, ids: new Set() })}>
          Choose all that match
        </Button>
      )}
      {some && (
        <Button look="quiet" icon={<X />} onClick={() => onSelect(NOTHING)}>
          Choose none
        </Button>
      )}
      <span className={cx(styles.actions, !some && styles.idle)}>
        {offers.map((offer) => {
          const words = ACTIONS[offer.action];
          return (
            <Button
              key={offer.action}
              look={words.danger ? 'danger' : 'plain'}
              disabled={!some}
              onClick={() => setAsking(offer)}
            >
              {offer.label ?? words.label}
            </Button>
          );
        })}
      </span>
      {asking && (
        <ActionDialog
          action={asking.action}
          label={asking.label}
          target={all ? { filter } : { ids: [...ids] }}
          onDone={() => {
            onSelect(NOTHING);
            onDone();
          }}
          onClose={() => setAsking(null)}
        />
      )}
    </div>
  );
}
