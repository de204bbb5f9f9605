/** The order of the queues, as the address tells it: `?sort=due` or, the other way round, `?sort=-due`. */
import type { QueueSummary } from '../../api/overview';

export const COLUMNS = ['name', 'due', 'running', 'scheduled', 'wait', 'completed', 'failed'] as const;
export type Column = (typeof COLUMNS)[number];

export interface Order {
  column: Column;
  descending: boolean;
}

/** What waits and works most comes first unless somebody asks otherwise. */
export const DEFAULT_ORDER: Order = { column: 'due', descending: true };

const VALUES: Record<Exclude<Column, 'name'>, (queue: QueueSummary) => number | null> = {
  due: ({ due }) => due,
  running: ({ running }) => running,
  scheduled: ({ scheduled }) => scheduled,
  wait: ({ oldest_wait_ms }) => oldest_wait_ms,
  completed: ({ completed_last_hour }) => completed_last_hour,
  failed: ({ failed_last_hour }) => failed_last_hour,
};

const byName = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

export function sorted(queues: QueueSummary[], { column, descending }: Order): QueueSummary[] {
  const sign = descending ? -1 : 1;
  if (column === 'name') return [...queues].sort((a, b) => sign * byName.compare(a.name, b.name));
  const value = VALUES[column];
  return [...queues].sort((a, b) => {
    const left = value(a);
    const right = value(b);
    // What has no value comes last either way.
    if (left === null || right === null) return Number(left === null) - Number(right === null) || names(a, b);
    return sign * (left - right) || b.running - a.running || names(a, b);
  });
}

function names(a: QueueSummary, b: QueueSummary): number {
  return byName.compare(a.name, b.name);
}

export function orderFrom(text: string | null): Order {
  const descending = text?.startsWith('-') ?? false;
  const column = COLUMNS.find((name) => name === text?.replace(/^-/, ''));
  return column ? { column, descending } : DEFAULT_ORDER;
}

export function orderText({ column, descending }: Order): string {
  return `${descending ? '-' : ''}${column}`;
}

/** A click on the sorted column turns it round; another one starts with what people look for there. */
export function clicked(order: Order, column: Column): Order {
  if (order.column === column) return { column, descending: !order.descending };
  return { column, descending: column !== 'name' };
}
