import { expect, it } from 'vitest';
import type { JobRow } from './row';
import { extended, NOTHING, toggled } from './selection';

const rows = ['a', 'b', 'c', 'd'].map((id) => ({ id }) as JobRow);
const ids = (selection: { ids: ReadonlySet<string> }) => [...selection.ids].sort().join('');

it('chooses one by one, and from one row to another in either direction', () => {
  const one = toggled(NOTHING, 'b');
  expect(ids(one)).toBe('b');
  expect(ids(toggled(one, 'b'))).toBe('');
  expect(ids(extended(one, rows, 1, 3))).toBe('bcd');
  expect(ids(extended(one, rows, 3, 2))).toBe('bcd');
});

it('means the single row when it is touched while all are chosen', () => {
  expect(toggled({ all: true, ids: new Set() }, 'c')).toEqual({ all: false, ids: new Set(['c']) });
});
