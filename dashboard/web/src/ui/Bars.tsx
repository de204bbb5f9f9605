import { useId, useState } from 'react';
import styles from './Bars.module.css';
import { formatNumber } from './format';

export interface Bar {
  /** When, or what: shown when the bar is pointed at. */
  label: string;
  /** Drawn from the bottom up. */
  values: number[];
}

interface BarsProps {
  title: string;
  bars: Bar[];
  series: { name: string; tone: 'ok' | 'bad' | 'warn' | 'info' }[];
  height?: number;
  /** Under the first and the last bar. */
  from: string;
  to: string;
}

/** Stacked bars, with the same figures as a table for those who do not see them. */
export function Bars({ title, bars, series, height = 96, from, to }: BarsProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const tableId = useId();
  const top = niceTop(Math.max(0, ...bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0))));
  const totals = series.map((_, index) => bars.reduce((sum, bar) => sum + (bar.values[index] ?? 0), 0));
  const shown = pointed === null ? null : bars[pointed];
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>
        <span className={styles.when}>{shown ? shown.label : 'In all'}</span>
        {series.map(({ name, tone }, index) => (
          <span key={name} className={styles.legend}>
            <span className={`${styles.swatch} ${styles[tone]}`} aria-hidden="true" />
            {name} <b>{formatNumber(shown ? shown.values[index] : totals[index])}</b>
          </span>
        ))}
      </figcaption>
      <div className={styles.plot}>
        <span className={styles.top} aria-hidden="true">
          {formatNumber(top)}
        </span>
        <svg
          className={styles.bars}
          viewBox={`0 0 ${bars.length} 100`}
          preserveAspectRatio="none"
          style={{ height }}
          role="img"
          aria-label={title}
          aria-describedby={tableId}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const index = Math.floor(((event.clientX - box.left) / box.width) * bars.length);
            setPointed(Math.min(bars.length - 1, Math.max(0, index)));
          }}
          onPointerLeave={() => setPointed(null)}
        >
          {bars.map((bar, index) => (
            <g key={bar.label}>
              {pointed === index && (
                <rect className={styles.pointed} x={index} y={0} width={1} height={100} />
              )}
              {stack(bar.values, top).map(({ y, size }, part) =>
                size === 0 ? null : (
                  <rect
                    // biome-ignore lint/suspicious/noArrayIndexKey: a part is known by its place in the stack.
                    key={part}
                    className={styles[series[part]?.tone ?? 'info']}
                    x={index + 0.12}
                    y={y}
                    width={0.76}
                    height={size}
                  />
                ),
              )}
            </g>
          ))}
        </svg>
      </div>
      <div className={styles.axis} aria-hidden="true">
        <span>{from}</span>
        <span>{to}</span>
      </div>
      <table id={tableId} className="visually-hidden">
        <caption>{title}</caption>
        <thead>
          <tr>
            <th>When</th>
            {series.map(({ name }) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars
            .filter((bar) => bar.values.some((value) => value > 0))
            .map((bar) => (
              <tr key={bar.label}>
                <th scope="row">{bar.label}</th>
                {series.map(({ name }, index) => (
                  <td key={name}>{formatNumber(bar.values[index])}</td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </figure>
  );
}

/** The part of the height that keeps a bar visible which stands for something. */
const LEAST = 2.5;

function stack(values: number[], top: number): { y: number; size: number }[] {
  let y = 100;
  return values.map((value) => {
    const size = value === 0 || top === 0 ? 0 : Math.max(LEAST, (value / top) * 100);
    y -= size;
    return { y: Math.max(0, y), size };
  });
}

/** The next of 1, 2, 5, 10, 20, 50 … */
export function niceTop(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}
