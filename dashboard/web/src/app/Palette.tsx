/** Everything by name: pages, machines, queues, a job by its id, and what the frame can do. */
import { useQuery } from '@tanstack/react-query';
import { Layers, ListTodo, type LucideIcon, Search, Server } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { queries } from '../api/queries';
import { mayCall, useSession } from '../api/session';
import { cx } from '../ui/classes';
import styles from './Palette.module.css';
import { pages } from './pages';
import { Keys } from './ShortcutHelp';

export interface PaletteEntry {
  label: string;
  /** What kind of thing it is. */
  kind: string;
  icon: LucideIcon;
  keys?: string;
  run: () => void;
}

const SHOWN_MAX = 12;

/** Entries that contain every word of the text; those that begin with it come first. */
export function find(entries: PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = entries.filter((entry) => {
    const name = `${entry.label} ${entry.kind}`.toLowerCase();
    return words.every((word) => name.includes(word));
  });
  const first = words[0] ?? '';
  const begins = (entry: PaletteEntry) => (entry.label.toLowerCase().startsWith(first) ? 0 : 1);
  return fits.sort((a, b) => begins(a) - begins(b)).slice(0, SHOWN_MAX);
}

function useEntries(commands: PaletteEntry[], text: string): PaletteEntry[] {
  const [, navigate] = useLocation();
  const scope = useSession().data?.scope;
  const enabled = mayCall(scope, 'fleet');
  const fleet = useQuery({ ...queries.fleet(), enabled });
  const overview = useQuery({ ...queries.overview(), enabled });
  const go = (href: string) => () => navigate(href);
  const entries: PaletteEntry[] = pages
    .filter((page) => !page.path.includes(':') && mayCall(scope, page.needs))
    .map((page) => ({
      label: page.title,
      kind: 'Page',
      icon: page.icon,
      ...(page.key ? { keys: `g ${page.key}` } : {}),
      run: go(page.path),
    }));
  for (const machine of fleet.data ?? []) {
    const href = `/fleet/${encodeURIComponent(machine.id)}`;
    entries.push({ label: machine.name, kind: 'Machine', icon: Server, run: go(href) });
  }
  for (const queue of overview.data?.queues ?? []) {
    const href = `/jobs?queue=${encodeURIComponent(queue.name)}`;
    entries.push({ label: queue.name, kind: 'Queue', icon: Layers, run: go(href) });
  }
  const found = find([...entries, ...commands], text);
  const typed = text.trim();
  if (typed && mayCall(scope, 'list_jobs')) {
    const search = `/jobs?q=${encodeURIComponent(typed)}`;
    found.push({ label: `Search jobs for “${typed}”`, kind: 'Search', icon: Search, run: go(search) });
    if (/^[\w-]{6,64}$/.test(typed)) {
      found.push({ label: `Open job ${typed}`, kind: 'Job', icon: ListTodo, run: go(`/jobs/${typed}`) });
    }
  }
  return found;
}

interface PaletteProps {
  commands: PaletteEntry[];
  onClose: () => void;
}

export function Palette({ commands, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(commands, text);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);

  function choose(entry: PaletteEntry | undefined) {
    if (!entry) return;
    onClose();
    entry.run();
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the palette closes it; the keyboard has Escape.
    <dialog
      ref={dialog}
      aria-label="Go to anything"
      className={styles.palette}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={entries[at] ? `${id}-${at}` : undefined}
        aria-label="Page, machine, queue, job or command"
        placeholder="Page, machine, queue, job or command…"
        className={styles.input}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(entries.length - 1, at + 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
          else if (event.key === 'Enter') choose(entries[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div role="listbox" id={`${id}-list`} aria-label="What was found" className={styles.list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keyboard.
          <div
            key={`${entry.kind} ${entry.label}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={cx(styles.entry, index === at && styles.chosen)}
            onClick={() => choose(entry)}
            onPointerMove={() => setAt(index)}
          >
            <entry.icon aria-hidden="true" />
            <span className={styles.label}>{entry.label}</span>
            {entry.keys ? <Keys keys={entry.keys} /> : <span className={styles.kind}>{entry.kind}</span>}
          </div>
        ))}
      </div>
    </dialog>
  );
}
