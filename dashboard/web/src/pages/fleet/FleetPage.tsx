import { useQuery } from '@tanstack/react-query';
import { LayoutGrid, Plus, Rows3, SearchX, Server } from 'lucide-react';
import { memo, useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import { queries } from '../../api/queries';
import { useCan } from '../../api/session';
import { Button, LinkButton } from '../../ui/Button';
import { formatNumber, plural } from '../../ui/format';
import { Page, Row } from '../../ui/Layout';
import { Segments } from '../../ui/Segments';
import { Empty, Loaded, Skeleton } from '../../ui/States';
import { addressOf, chooseFrom, type FleetEntry, type FleetFilter, filterFrom, joinFleet } from './entries';
import { FleetFilters } from './FleetFilters';
import styles from './FleetPage.module.css';
import { MachineCards } from './MachineCards';
import { MachineRows } from './MachineRows';
import { useAtMostEvery } from './useAtMostEvery';
import { type FleetView, rememberedView, rememberView } from './view';

/** Faster than anybody reads; 500 machines send a hundred measurements a second. */
const DRAWN_EVERY_MS = 400;

export default function FleetPage() {
  const fleet = useQuery(queries.fleet());
  const workers = useQuery(queries.workers());
  const mayAdd = useCan('create_token');
  const [view, setView] = useState<FleetView>(rememberedView);
  const machines = useAtMostEvery(fleet.data, DRAWN_EVERY_MS);
  const entries = useMemo(
    () => (machines && workers.data ? joinFleet(machines, workers.data) : undefined),
    [machines, workers.data],
  );
  return (
    <Page
      title="Fleet"
      aside={entries && <span className={styles.count}>{plural(entries.length, 'machine')}</span>}
      actions={
        <>
          <Segments
            label="Shown as"
            options={[
              { value: 'cards', label: 'Cards', icon: <LayoutGrid aria-hidden="true" /> },
              { value: 'rows', label: 'Rows', icon: <Rows3 aria-hidden="true" /> },
            ]}
            chosen={view}
            onChoose={(chosen) => {
              rememberView(chosen);
              setView(chosen);
            }}
          />
          {mayAdd && (
            <LinkButton href="/fleet/add" look="primary" icon={<Plus />}>
              Add a machine
            </LinkButton>
          )}
        </>
      }
    >
      <Loaded
        query={{
          data: entries,
          error: fleet.error ?? workers.error,
          refetch: () => Promise.all([fleet.refetch(), workers.refetch()]),
        }}
        failure="The fleet could not be read"
        loading={<Skeleton lines={8} height={24} />}
      >
        {(all) => (all.length === 0 ? <NoMachines /> : <Machines entries={all} view={view} />)}
      </Loaded>
    </Page>
  );
}

const Machines = memo(function Machines({ entries, view }: { entries: FleetEntry[]; view: FleetView }) {
  const [address, setAddress] = useSearchParams();
  const filter = filterFrom(address);
  const change = (part: Partial<FleetFilter>) =>
    setAddress(addressOf({ ...filter, ...part }), { replace: true });
  const shown = chooseFrom(entries, filter);
  return (
    <>
      <FleetFilters entries={entries} filter={filter} onChange={change} />
      <p className="visually-hidden" role="status">
        {formatNumber(shown.length)} of {plural(entries.length, 'machine')} shown
      </p>
      {shown.length === 0 ? (
        <Empty
          title="No machine fits these filters"
          icon={<SearchX />}
          action={
            <Button onClick={() => setAddress(new URLSearchParams(), { replace: true })}>
              Show all machines
            </Button>
          }
        />
      ) : view === 'cards' ? (
        <MachineCards entries={shown} />
      ) : (
        <MachineRows entries={shown} />
      )}
    </>
  );
});

function NoMachines() {
  const mayAdd = useCan('create_token');
  return (
    <Empty
      title="No machine has joined yet"
      icon={<Server />}
      action={
        mayAdd && (
          <Row>
            <LinkButton href="/fleet/add" look="primary" icon={<Plus />}>
              Add a machine
            </LinkButton>
          </Row>
        )
      }
    >
      Start <code>forge-agent</code> on any computer that can reach this hub; it needs no open port.
      {!mayAdd && ' An administrator can make a token for it.'}
    </Empty>
  );
}
