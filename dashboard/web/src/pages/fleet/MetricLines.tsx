import type { ReactNode } from 'react';
import type { Machine, Snapshot } from '../../api/types';
import { formatPercent, formatRate, UNKNOWN } from '../../ui/format';
import { Meter } from '../../ui/Meter';
import { Sparkline } from '../../ui/Sparkline';
import { currentOf, sparkOf } from './entries';
import styles from './MetricLines.module.css';

export function CpuLine({ machine }: { machine: Machine | null }) {
  const cpu = currentOf(machine)?.cpu ?? null;
  return (
    <Line
      label="CPU"
      machine={machine}
      pick={(snapshot) => snapshot.cpu}
      max={100}
      figure={formatPercent(cpu)}
    >
      {/* A busy processor is a fleet at work, not an alarm. */}
      <Meter label="CPU" percent={cpu} warnFrom={101} badFrom={101} bare />
    </Line>
  );
}

export function MemoryLine({ machine }: { machine: Machine | null }) {
  const memory = currentOf(machine)?.memory;
  return (
    <Line
      label="Memory"
      machine={machine}
      pick={(snapshot) => snapshot.memory.percent}
      max={100}
      figure={formatPercent(memory?.percent)}
    >
      <Meter
        label="Memory"
        percent={memory?.percent ?? null}
        {...(memory ? { text: memoryText(memory) } : {})}
        bare
      />
    </Line>
  );
}

/** A machine tells how fast its disks work, not how fast they could, so there is no bar to fill. */
export function DiskLine({ machine }: { machine: Machine | null }) {
  const disk = currentOf(machine)?.disk;
  return (
    <Line
      label="Disk"
      machine={machine}
      pick={({ disk: { read, write } }) => read + write}
      figure={disk ? formatRate(disk.read + disk.write) : UNKNOWN}
    >
      <span
        className={styles.rates}
        {...(disk ? { title: `${formatRate(disk.read)} read, ${formatRate(disk.write)} written` } : {})}
      >
        {disk ? `${disk.read.toFixed(1)} read · ${disk.write.toFixed(1)} write` : 'not known'}
      </span>
    </Line>
  );
}

export function memoryText({ used, total, percent }: Snapshot['memory']): string {
  return `${used.toFixed(1)} of ${total.toFixed(1)} GiB, ${formatPercent(percent)}`;
}

interface LineProps {
  label: string;
  machine: Machine | null;
  pick: (snapshot: Snapshot) => number;
  max?: number;
  figure: string;
  children: ReactNode;
}

function Line({ label, machine, pick, max, figure, children }: LineProps) {
  const isOld = machine?.status === 'offline';
  return (
    <div className={styles.line}>
      <span className={styles.label}>{label}</span>
      <div className={styles.bar}>{children}</div>
      <div className={isOld ? styles.old : undefined}>
        <Sparkline
          values={sparkOf(machine?.history ?? [], pick)}
          label={isOld ? `${label} before it was lost` : `${label} lately`}
          {...(max === undefined ? {} : { max })}
          height={18}
          width={72}
        />
      </div>
      <span className={styles.figure}>{figure}</span>
    </div>
  );
}
