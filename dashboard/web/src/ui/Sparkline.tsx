import styles from './Sparkline.module.css';

interface SparklineProps {
  /** Oldest first; `null` is a gap in the line. */
  values: (number | null)[];
  /** What the line shows, with its newest value, for screen readers. */
  label: string;
  /** The top of the scale; the largest value without it. */
  max?: number;
  width?: number;
  height?: number;
}

export function Sparkline({ values, label, max, width = 120, height = 28 }: SparklineProps) {
  return (
    <svg
      className={styles.line}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      style={{ height }}
    >
      <path d={sparkPath(values, width, height, max)} />
    </svg>
  );
}

/** The line as SVG path data, lifted off the pen wherever a value is missing. */
export function sparkPath(values: (number | null)[], width: number, height: number, max?: number): string {
  const known = values.filter((value) => value !== null);
  const top = Math.max(max ?? 0, ...known) || 1;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = '';
  let down = false;
  values.forEach((value, index) => {
    if (value === null) {
      down = false;
      return;
    }
    const x = (index * step).toFixed(1);
    const y = (height - 1 - (value / top) * (height - 2)).toFixed(1);
    path += `${down ? 'L' : 'M'}${x} ${y}`;
    // A lone point has no length; a dash makes it visible.
    if (!down && (values[index + 1] ?? null) === null) path += 'h1';
    down = true;
  });
  return path;
}
