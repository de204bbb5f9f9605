import type { NodeHistory, Spread } from '../../../api/types';
import { formatPercent, formatRate, UNKNOWN } from '../../../ui/format';
import { Table, Td, Th } from '../../../ui/Table';
import { Time } from '../../../ui/Values';
import { gpusOf } from './columns';
import styles from './History.module.css';

/** The charts as figures, newest first. */
export function HistoryTable({ history }: { history: NodeHistory }) {
  const cards = gpusOf(history.points);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className={styles.scroll} tabIndex={0} role="region" aria-label="History as a table">
      <Table
        label="History"
        head={
          <>
            <Th>From</Th>
            <Th number>CPU</Th>
            <Th number>CPU, min to max</Th>
            <Th number>Memory</Th>
            <Th number>Disk read</Th>
            <Th number>Disk write</Th>
            <Th number>Received</Th>
            <Th number>Sent</Th>
            <Th number>Load</Th>
            {cards.map(({ index }) => (
              <Th key={index} number>
                GPU {index}
              </Th>
            ))}
          </>
        }
      >
        {history.points.toReversed().map((point) => (
          <tr key={point.ts}>
            <Td>
              <Time ts={point.ts} as="clock" />
            </Td>
            <Td number>{formatPercent(point.cpu.mean)}</Td>
            <Td number>{percents(point.cpu)}</Td>
            <Td number>{formatPercent(point.memory.mean)}</Td>
            <Td number>{formatRate(point.disk_read.mean)}</Td>
            <Td number>{formatRate(point.disk_write.mean)}</Td>
            <Td number>{formatRate(point.network_rx.mean)}</Td>
            <Td number>{formatRate(point.network_tx.mean)}</Td>
            <Td number>{point.load.mean.toFixed(2)}</Td>
            {cards.map(({ index }) => {
              const gpu = point.gpus.find((card) => card.index === index);
              return (
                <Td key={index} number>
                  {gpu?.utilization ? formatPercent(gpu.utilization.mean) : UNKNOWN}
                </Td>
              );
            })}
          </tr>
        ))}
      </Table>
    </div>
  );
}

function percents({ min, max }: Spread): string {
  return `${formatPercent(min)} to ${formatPercent(max)}`;
}
