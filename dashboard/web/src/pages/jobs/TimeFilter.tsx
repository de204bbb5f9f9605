/** From when to when: the last hour, day or week with one click, or any two moments. */
import { CalendarRange } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field } from '../../ui/Field';
import { formatTime } from '../../ui/format';
import { Row } from '../../ui/Layout';
import { fromLocalInput, toLocalInput } from './localTime';
import styles from './TimeFilter.module.css';

const HOUR_MS = 3_600_000;
const LAST = [
  { word: 'Last hour', ms: HOUR_MS },
  { word: 'Last 24 hours', ms: 24 * HOUR_MS },
  { word: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
];

interface TimeFilterProps {
  since: number | undefined;
  until: number | undefined;
  onChange: (times: { since: number | null; until: number | null }) => void;
}

export function TimeFilter({ since, until, onChange }: TimeFilterProps) {
  const [open, setOpen] = useState(false);
  const isSet = since !== undefined || until !== undefined;
  const words = [since && `from ${formatTime(since)}`, until && `to ${formatTime(until)}`].filter(Boolean);
  return (
    <>
      <Button icon={<CalendarRange />} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {isSet ? words.join(' ') : 'Any time'}
      </Button>
      {open && <TimeDialog since={since} until={until} onChange={onChange} onClose={() => setOpen(false)} />}
    </>
  );
}

function TimeDialog({ since, until, onChange, onClose }: TimeFilterProps & { onClose: () => void }) {
  const [from, setFrom] = useState(since === undefined ? '' : toLocalInput(since));
  const [to, setTo] = useState(until === undefined ? '' : toLocalInput(until));
  const take = (times: { since: number | null; until: number | null }) => {
    onChange(times);
    onClose();
  };
  return (
    <Dialog
      title="Created when"
      onClose={onClose}
      footer={
        <>
          <Button onClick={() => take({ since: null, until: null })}>Any time</Button>
          <Button
            look="primary"
            onClick={() => take({ since: fromLocalInput(from), until: fromLocalInput(to) })}
          >
            Show
          </Button>
        </>
      }
    >
      <Row>
        {LAST.map(({ word, ms }) => (
          <Button key={word} onClick={() => take({ since: Date.now() - ms, until: null })}>
            {word}
          </Button>
        ))}
      </Row>
      <div className={styles.times}>
        <Field
          label="From"
          type="datetime-local"
          step={1}
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
        <Field
          label="To, not included"
          type="datetime-local"
          step={1}
          value={to}
          hint="In your own time zone. Leave either empty for no limit."
          onChange={(event) => setTo(event.target.value)}
        />
      </div>
    </Dialog>
  );
}
