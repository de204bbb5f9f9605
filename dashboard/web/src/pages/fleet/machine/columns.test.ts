import { describe, expect, it } from 'vitest';
import type { HistoryPoint, Job, Spread } from '../../../api/types';
import { columnsOf, coresOf, gpusOf, lonely, spreadOf } from './columns';
import { timeLabels, withoutZeros } from './labels';
import { placeInLanes } from './lanes';

const spread = (mean: number): Spread => ({ min: mean - 1, mean, max: mean + 1 });

const point = (ts: number, parts: Partial<HistoryPoint> = {}): HistoryPoint => ({
  ts,
  samples: 1,
  cpu: spread(ts / 1_000),
  memory: spread(0),
  memory_used: spread(0),
  disk_read: spread(0),
  disk_write: spread(0),
  network_rx: spread(0),
  network_tx: spread(0),
  load: spread(0),
  gpus: [],
  ...parts,
});

describe('history', () => {
  it('is drawn at the middle of each period, with nothing where nothing was measured', () => {
    const columns = columnsOf({
      step_ms: 10_000,
      points: [0, 10_000, 40_000, 50_000].map((ts) => point(ts)),
    });
    expect(columns.xs).toEqual([5, 15, 25, 45, 55]);
    expect(spreadOf(columns, ({ cpu }) => cpu).mean).toEqual([0, 10, null, 40, 50]);
    expect(spreadOf(columns, ({ cpu }) => cpu).max[0]).toBe(1);
  });
  it('has no gaps between the points of a machine that tells seldom', () => {
    const columns = columnsOf({
      step_ms: 10_000,
      points: [0, 30_000, 60_000, 90_000].map((ts) => point(ts)),
    });
    expect(columns.points).not.toContain(null);
  });
  it('keeps what a machine did not tell apart from zero', () => {
    const points = [
      point(0, { gpus: [{ index: 0, model: 'A', utilization: null }] }),
      point(10, { cores: [1, 2], gpus: [{ index: 1 }, { index: 0, model: 'A', utilization: spread(5) }] }),
    ];
    const columns = columnsOf({ step_ms: 10, points });
    expect(spreadOf(columns, ({ gpus }) => gpus.find(({ index }) => index === 0)?.utilization).mean).toEqual([
      null,
      5,
    ]);
    expect(gpusOf(points)).toEqual([
      { index: 0, model: 'A' },
      { index: 1, model: 'GPU' },
    ]);
    expect(coresOf(points)).toBe(2);
  });
  it('shows a value that stands alone', () => {
    expect(lonely([1, null, 2, null, null, 3, 4, undefined, 5])).toEqual([0, 2, 8]);
  });
});

describe('jobs', () => {
  const job = (id: string, from: number | null, to: number | null) =>
    ({ id, claimed_at: from, finished_at: to }) as Job;

  it('that ran at once lie in lanes side by side, and a free lane is used again', () => {
    const placed = placeInLanes(
      [
        job('c', 25, 40),
        job('a', 0, 20),
        job('b', 10, 30),
        job('running', 35, null),
        job('never', null, null),
      ],
      100,
    );
    expect(placed.map(({ job: { id }, lane, to }) => [id, lane, to])).toEqual([
      ['a', 0, 20],
      ['b', 1, 30],
      ['c', 0, 40],
      ['running', 1, 100],
    ]);
  });
});

describe('an axis', () => {
  it('tells the time, and the date at midnight and over days', () => {
    const noon = new Date(2026, 10, 16, 12).getTime() / 1_000;
    const midnight = new Date(2026, 10, 16).getTime() / 1_000;
    expect(timeLabels([midnight, noon], 3_600)).toEqual(['16 Nov', '12:00']);
    expect(timeLabels([noon], 86_400)).toEqual(['16 Nov']);
  });
  it('leaves out zeros that say nothing', () => {
    expect(['50.0 MiB/s', '10.00', '0.5 %', '100 B'].map(withoutZeros)).toEqual([
      '50 MiB/s',
      '10',
      '0.5 %',
      '100 B',
    ]);
  });
});
