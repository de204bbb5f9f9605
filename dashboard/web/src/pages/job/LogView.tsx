/** What a job wrote while it ran: live, in colours, to be searched and downloaded. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDownToLine, ChevronDown, ChevronUp, Download } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { messageOf } from '../../api/errors';
import type { Job } from '../../api/types';
import type { AnsiStyle } from '../../ui/ansi';
import { Button, IconButton } from '../../ui/Button';
import { cx } from '../../ui/classes';
import { formatBytes, formatNumber, plural } from '../../ui/format';
import { Card } from '../../ui/Layout';
import { type LogLine, linesWith, marked, spansOf } from './LogText';
import styles from './LogView.module.css';
import { logAddress, useLog } from './useLog';

const LINE_PX = 20;
/** Room below the last line for a scrollbar. */
const SCROLLBAR_PX = 18;
const OVERSCAN = 30;
/** Closer to the end than this counts as being there. */
const END_PX = 40;

export function LogView({ job }: { job: Job }) {
  const newest = Math.max(1, job.attempt);
  const [chosen, setChosen] = useState<number | null>(null);
  const attempt = chosen ?? newest;
  const isOpen = attempt === newest && ['pending', 'assigned', 'running'].includes(job.status);
  return (
    <Card
      title="Log"
      aside={
        newest > 1 && (
          <label className={styles.attempt}>
            Attempt{' '}
            <select
              value={attempt}
              onChange={(event) => {
                const next = Number(event.target.value);
                setChosen(next === newest ? null : next);
              }}
            >
              {Array.from({ length: newest }, (_, index) => newest - index).map((number) => (
                <option key={number} value={number}>
                  {number}
                  {number === newest ? ' (latest)' : ''}
                </option>
              ))}
            </select>
          </label>
        )
      }
    >
      <Lines key={attempt} job={job} attempt={attempt} isOpen={isOpen} />
    </Card>
  );
}

function Lines({ job, attempt, isOpen }: { job: Job; attempt: number; isOpen: boolean }) {
  const { text, error, isRead } = useLog(job.id, attempt, isOpen);
  const { lines } = text;
  const count = lines.length;
  const [follow, setFollow] = useState(isOpen);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines grow in place; their end tells.
  const found = useMemo(() => linesWith(lines, search), [lines, text.end, search]);
  const current = found[Math.min(at, found.length - 1)];
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: OVERSCAN,
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: goes along when the log grows.
  useEffect(() => {
    if (follow && count > 0) virtual.scrollToIndex(count - 1, { align: 'end' });
  }, [follow, text.end]);

  function show(index: number) {
    setAt(index);
    const line = found[index];
    if (line === undefined) return;
    setFollow(false);
    virtual.scrollToIndex(line, { align: 'center' });
  }

  function step(by: number) {
    if (found.length > 0) show((Math.min(at, found.length - 1) + by + found.length) % found.length);
  }

  return (
    <div className={styles.log}>
      <div className={styles.bar}>
        <input
          type="search"
          className={styles.search}
          aria-label="Search the log"
          placeholder="Search the log"
          value={search}
          onChange={(event) => {
            setSearch(event.target.value);
            setAt(0);
            const [line] = linesWith(lines, event.target.value);
            if (line === undefined) return;
            setFollow(false);
            virtual.scrollToIndex(line, { align: 'center' });
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
          }}
        />
        {search !== '' && (
          <>
            <span className={styles.note} aria-live="polite">
              {found.length === 0
                ? 'not found'
                : `${formatNumber(Math.min(at, found.length - 1) + 1)} of ${plural(found.length, 'line')}`}
            </span>
            <IconButton label="Previous line found" icon={<ChevronUp />} onClick={() => step(-1)} />
            <IconButton label="Next line found" icon={<ChevronDown />} onClick={() => step(1)} />
          </>
        )}
        <span className={cx(styles.note, styles.size)}>
          {plural(count, 'line')}, {formatBytes(text.end - text.missing)}
        </span>
        {isOpen && (
          <Button icon={<ArrowDownToLine />} aria-pressed={follow} onClick={() => setFollow(!follow)}>
            {follow ? 'Following' : 'Follow'}
          </Button>
        )}
        {count > 0 && (
          <a
            className={styles.download}
            href={logAddress(job.id, attempt)}
            download={`${job.id}-attempt-${attempt}.log`}
          >
            <Download aria-hidden="true" /> Download
          </a>
        )}
      </div>
      {error !== null && (
        <p role="alert" className={styles.bad}>
          The log could not be read: {messageOf(error)}
        </p>
      )}
      {text.missing > 0 && (
        <p className={styles.note}>
          The first {formatBytes(text.missing)} are gone: the hub keeps the newest part.
        </p>
      )}
      {count === 0 ? (
        <p className={styles.empty}>{isRead ? whyEmpty(job, isOpen) : 'Reading…'}</p>
      ) : (
        <div
          ref={scroller}
          className={styles.scroller}
          style={{ height: count * LINE_PX + SCROLLBAR_PX }}
          role="region"
          aria-label="Lines of the log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
          tabIndex={0}
          onScroll={(event) => {
            const { scrollTop, clientHeight, scrollHeight } = event.currentTarget;
            if (isOpen && scrollTop + clientHeight >= scrollHeight - END_PX) setFollow(true);
          }}
          onWheel={(event) => {
            if (event.deltaY < 0) setFollow(false);
          }}
          onTouchMove={() => setFollow(false)}
          onKeyDown={(event) => {
            if (['ArrowUp', 'PageUp', 'Home'].includes(event.key)) setFollow(false);
          }}
        >
          <div className={styles.lines} style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, start }) => {
              const line = lines[index];
              return (
                line && (
                  <div
                    key={index}
                    className={cx(styles.line, index === current && styles.current)}
                    style={{ transform: `translateY(${start}px)` }}
                  >
                    <span className={styles.number} aria-hidden="true">
                      {index + 1}
                    </span>
                    <Line line={line} search={search} />
                  </div>
                )
              );
            })}
          </div>
        </div>
      )}
    </div>
  );
}

function Line({ line, search }: { line: LogLine; search: string }) {
  return marked(spansOf(line), search).map(({ text, style, found }, index) => {
    const Tag = found ? 'mark' : 'span';
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line have no other name.
      <Tag key={index} className={classesOf(style)}>
        {text}
      </Tag>
    );
  });
}

function classesOf(style: AnsiStyle): string {
  return cx(
    style.color && styles[style.color],
    style.background && styles.filled,
    style.bold && styles.bold,
    style.dim && styles.dim,
    style.italic && styles.italic,
    style.underline && styles.underline,
    style.inverse && styles.filled,
  );
}

function whyEmpty(job: Job, isOpen: boolean): string {
  if (job.attempt === 0) return 'The log begins when a worker runs the job.';
  if (isOpen) return 'Nothing was written yet. What the job writes to standard error appears here.';
  return 'This attempt wrote nothing to standard error.';
}
