import { useEffect, useRef, useState } from 'react';
import type { HistoryPoint } from '../../../api/types';
import { formatPercent, formatTime } from '../../../ui/format';
import { AXIS_PX, END_PX } from './Chart';
import styles from './Chart.module.css';
import { faded, useColours } from './colours';
import { coresOf } from './columns';
import { useWidth } from './useWidth';

interface CoreStripProps {
  points: HistoryPoint[];
  stepMs: number;
  from: number;
  to: number;
}

const STRIP_MAX_PX = 160;
const ROW_PX = 10;
const LEAST_ROW_PX = 2;

/** A line for each core, the fuller the busier; where nothing was measured there is nothing. */
export function CoreStrip({ points, stepMs, from, to }: CoreStripProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  // Without its padding, which stands for the scales of the charts above and below.
  const inner = useWidth(box);
  const colours = useColours();
  const [pointed, setPointed] = useState<{ x: number; y: number } | null>(null);
  const cores = coresOf(points);
  const row = Math.max(LEAST_ROW_PX, Math.min(ROW_PX, Math.floor(STRIP_MAX_PX / Math.max(1, cores))));
  const height = row * cores;

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!canvas.current || !context || inner === 0) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = inner * ratio;
    canvas.current.height = height * ratio;
    context.scale(ratio, ratio);
    const perMs = inner / (to - from);
    for (const point of points) {
      const x = (point.ts - from) * perMs;
      const size = Math.max(1, stepMs * perMs + 0.5);
      context.fillStyle = colours['surface-3'];
      context.fillRect(x, 0, size, height);
      point.cores?.forEach((percent, core) => {
        context.fillStyle = faded(colours.info, Math.min(1, percent / 100));
        context.fillRect(x, core * row, size, row - (row > 3 ? 1 : 0));
      });
    }
  }, [points, stepMs, from, to, colours, inner, height, row]);

  if (cores === 0) return null;
  const found = pointed && findAt(points, stepMs, from + (pointed.x / inner) * (to - from));
  const core = pointed ? Math.min(cores - 1, Math.max(0, Math.floor(pointed.y / row))) : 0;
  return (
    <figure className={styles.chart}>
      <figcaption className={styles.caption}>
        <h3 className={styles.title}>Cores</h3>
        {found ? (
          <>
            <span className={styles.legend}>
              Core {core} <b>{formatPercent(found.cores?.[core])}</b>
            </span>
            <span className={styles.when}>{formatTime(found.ts)}</span>
          </>
        ) : (
          <span>{cores} cores, the fuller the busier</span>
        )}
      </figcaption>
      <div ref={box} style={{ paddingLeft: AXIS_PX, paddingRight: END_PX, height: height + 8 }}>
        <canvas
          ref={canvas}
          className={styles.strip}
          style={{ width: inner, height }}
          role="img"
          aria-label={`How busy each of ${cores} cores was`}
          onPointerMove={({ nativeEvent: { offsetX: x, offsetY: y } }) => setPointed({ x, y })}
          onPointerLeave={() => setPointed(null)}
        />
      </div>
    </figure>
  );
}

function findAt(points: HistoryPoint[], stepMs: number, ts: number): HistoryPoint | null {
  return points.find((point) => point.ts <= ts && ts < point.ts + stepMs) ?? null;
}
