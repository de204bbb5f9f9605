/** Which rows are chosen: some by their ids, or all that match, shown or not. */
import { useMemo, useState } from 'react';
import type { JobRow } from './row';

export interface Selection {
  all: boolean;
  ids: ReadonlySet<string>;
}

export const NOTHING: Selection = { all: false, ids: new Set() };

export function toggled(selection: Selection, id: string): Selection {
  // Whoever touches a single row while all are chosen means that row.
  const ids = new Set(selection.all ? [] : selection.ids);
  if (!ids.delete(id)) ids.add(id);
  return { all: false, ids };
}

/** With every row between two of them, both included. */
export function extended(selection: Selection, rows: readonly JobRow[], from: number, to: number): Selection {
  const ids = new Set(selection.all ? [] : selection.ids);
  for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) ids.add(row.id);
  return { all: false, ids };
}

/** The selection of a list; rows that have left it are no longer chosen. */
export function useSelection(rows: readonly JobRow[]) {
  const [chosen, setChosen] = useState<Selection>(NOTHING);
  const selection = useMemo<Selection>(() => {
    if (chosen.all || chosen.ids.size === 0) return chosen;
    const here = new Set<string>();
    for (const row of rows) if (chosen.ids.has(row.id)) here.add(row.id);
    return { all: false, ids: here };
  }, [chosen, rows]);
  return [selection, setChosen] as const;
}
