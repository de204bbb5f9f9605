/** A machine's history as columns that charts draw. */
import type { HistoryPoint, NodeHistory, Spread } from '../../../api/types';

export interface Columns {
  /** Middles of the points, in seconds, as uPlot counts. */
  xs: number[];
  /** One for each x; `null` where nothing was measured, so that a line ends there. */
  points: (HistoryPoint | null)[];
}

/** A pause this many times longer than usual is a gap. */
const GAP_FACTOR = 3;

export function columnsOf({ points, step_ms }: Pick<NodeHistory, 'points' | 'step_ms'>): Columns {
  const limit = gapFrom(points, step_ms);
  const columns: Columns = { xs: [], points: [] };
  let before: HistoryPoint | null = null;
  for (const point of points) {
    if (before && point.ts - before.ts > limit) {
      columns.xs.push((before.ts + step_ms * 1.5) / 1_000);
      columns.points.push(null);
    }
    columns.xs.push((point.ts + step_ms / 2) / 1_000);
    columns.points.push(point);
    before = point;
  }
  return columns;
}

/** Points one step apart are neighbours; a machine that tells less often has neighbours farther apart. */
function gapFrom(points: HistoryPoint[], stepMs: number): number {
  const pauses = points.slice(1).map((point, at) => point.ts - (points[at]?.ts ?? 0));
  const usual = pauses.sort((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? stepMs;
  return usual > stepMs ? usual * GAP_FACTOR : stepMs * 1.5;
}

export type PickSpread = (point: HistoryPoint) => Spread | null | undefined;

export interface SpreadColumns {
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

export function spreadOf({ points }: Columns, pick: PickSpread): SpreadColumns {
  const spreads = points.map((point) => (point ? (pick(point) ?? null) : null));
  return {
    mean: spreads.map((spread) => spread?.mean ?? null),
    min: spreads.map((spread) => spread?.min ?? null),
    max: spreads.map((spread) => spread?.max ?? null),
  };
}

/** Places of values that have no neighbour to draw a line to. */
export function lonely(values: readonly (number | null | undefined)[]): number[] {
  return values.flatMap((value, at) =>
    value != null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );
}

/** Each graphics card that was seen in this time. */
export function gpusOf(points: HistoryPoint[]): { index: number; model: string }[] {
  const found = new Map<number, string>();
  for (const { gpus } of points) for (const gpu of gpus) found.set(gpu.index, gpu.model ?? 'GPU');
  return [...found].map(([index, model]) => ({ index, model })).sort((a, b) => a.index - b.index);
}

/** The most cores that any point tells of. */
export function coresOf(points: HistoryPoint[]): number {
  return points.reduce((most, { cores }) => Math.max(most, cores?.length ?? 0), 0);
}
