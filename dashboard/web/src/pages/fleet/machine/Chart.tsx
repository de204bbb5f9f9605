import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatTime } from '../../../ui/format';
import styles from './Chart.module.css';
import { type Colours, faded, useColours } from './colours';
import { lonely } from './columns';
import { timeLabels, withoutZeros } from './labels';
import { useWidth } from './useWidth';

export interface Series {
  name: string;
  tone: 'info' | 'ok' | 'warn' | 'busy' | 'dead' | 'bad';
  values: (number | null)[];
  /** The smallest and largest, drawn as a band behind the line. */
  band?: { min: (number | null)[]; max: (number | null)[] };
}

export interface ChartProps {
  title: string;
  /** In seconds. */
  xs: number[];
  series: Series[];
  /** The whole time that is shown, in ms, whether or not anything was measured. */
  from: number;
  to: number;
  format: (value: number | null | undefined) => string;
  /** The top of the scale, where it is known. */
  top?: number;
  height?: number;
}

/** Room for the scale at the left and a margin at the right, the same for all that share a time axis. */
export const AXIS_PX = 64;
export const END_PX = 22;
const TIME_AXIS_PX = 22;

/** Lines over time; pointing at one chart points at the same moment in all of them. */
export default function Chart(props: ChartProps) {
  const { title, xs, series, from, to, format, height = 112 } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const colours = useColours();
  const [pointed, setPointed] = useState<number | null>(null);
  const newest = useRef(props);
  useEffect(() => {
    newest.current = props;
  });
  const plot = useRef<uPlot | null>(null);
  const shape = series.map(({ name, band }) => `${name}${band ? '+' : ''}`).join('|');

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for the series; their values are set below.
  useEffect(() => {
    if (!box.current || width === 0) return;
    const made = new uPlot(
      optionsFor(() => newest.current, colours, { width, height, onPoint: setPointed }),
      dataOf(newest.current),
      box.current,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [shape, colours, width, height]);

  const data = useMemo(() => dataOf({ xs, series }), [xs, series]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scale is read anew when the time moves on.
  useEffect(() => plot.current?.setData(data), [data, from, to]);

  const lastKnown = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? null;
  return (
    <figure className={styles.chart}>
      <figcaption className={styles.caption}>
        <h3 className={styles.title}>{title}</h3>
        {series.map(({ name, tone, values, band }) => (
          <span key={name} className={styles.legend}>
            <span className={styles.swatch} style={{ background: `var(--${tone})` }} aria-hidden="true" />
            {name}{' '}
            <b>
              {format(pointed === null ? lastKnown(values) : values[pointed])}
              {pointed !== null && band && values[pointed] != null && (
                <span className={styles.range}>
                  {' '}
                  ({format(band.min[pointed])} to {format(band.max[pointed])})
                </span>
              )}
            </b>
          </span>
        ))}
        {pointed !== null && <span className={styles.when}>{formatTime((xs[pointed] ?? 0) * 1_000)}</span>}
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={summary(props)}
        style={{ height: height + TIME_AXIS_PX }}
        className={styles.plot}
      />
    </figure>
  );
}

function summary({ title, series, format }: ChartProps): string {
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${name}: not measured`;
    return `${name}: ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  });
  return `${title}. ${parts.join(', ')}. The table has all values.`;
}

function dataOf({ xs, series }: Pick<ChartProps, 'xs' | 'series'>): uPlot.AlignedData {
  const columns = series.flatMap(({ values, band }) => (band ? [values, band.max, band.min] : [values]));
  return [xs, ...columns];
}

interface Frame {
  width: number;
  height: number;
  onPoint: (at: number | null) => void;
}

function optionsFor(props: () => ChartProps, colours: Colours, frame: Frame): uPlot.Options {
  const { series, format } = props();
  const font = '12px ui-sans-serif, system-ui, sans-serif';
  const grid = { stroke: colours.line, width: 1 };
  const bands: uPlot.Band[] = [];
  const drawn: uPlot.Series[] = [{}];
  for (const { tone, band } of series) {
    drawn.push({
      stroke: colours[tone],
      width: 1.5,
      points: { show: true, size: 4, filter: (plot, at) => lonely(Array.from(plot.data[at] ?? [])) },
    });
    if (!band) continue;
    bands.push({ series: [drawn.length, drawn.length + 1], fill: faded(colours[tone], 0.22) });
    drawn.push({ width: 0, points: { show: false } }, { width: 0, points: { show: false } });
  }
  return {
    width: frame.width,
    height: frame.height + TIME_AXIS_PX,
    padding: [6, END_PX, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      sync: { key: 'machine' },
      drag: { x: false, y: false },
      points: { size: 6 },
    },
    scales: {
      x: { time: true, range: () => [props().from / 1_000, props().to / 1_000] },
      y: { range: (_plot, _min, max) => [0, props().top ?? Math.max(max, Number.EPSILON) * 1.1] },
    },
    axes: [
      {
        stroke: colours['text-3'],
        font,
        grid,
        ticks: { show: false },
        size: TIME_AXIS_PX,
        gap: 4,
        space: 60,
        values: (_plot, splits, _axis, _space, step) => timeLabels(splits, step),
      },
      {
        stroke: colours['text-3'],
        font,
        grid,
        ticks: { show: false },
        size: AXIS_PX,
        gap: 8,
        space: 34,
        values: (_plot, splits) => splits.map((value) => withoutZeros(format(value))),
      },
    ],
    series: drawn,
    bands,
    hooks: {
      setCursor: [(plot) => frame.onPoint(plot.cursor.idx ?? null)],
    },
  };
}
