import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { ScrollText } from 'lucide-react';
import { queries } from '../../api/queries';
import { Button } from '../../ui/Button';
import { Card } from '../../ui/Layout';
import { Empty, Loaded } from '../../ui/States';
import { Table, Td, Th } from '../../ui/Table';
import { Time } from '../../ui/Values';
import { LongId } from './LongId';
import styles from './Settings.module.css';

/** What administrators did, newest first. */
export function Audit() {
  const audit = useInfiniteQuery(queries.audit());
  const tokens = useQuery(queries.tokens());
  const names = new Map(tokens.data?.map(({ id, name }) => [id, name]));
  const entries = audit.data?.pages.flatMap((page) => page.entries);
  return (
    <Card title="What administrators did" flush>
      <Loaded
        query={{ data: entries, error: audit.error, refetch: audit.refetch }}
        failure="The audit log could not be read"
      >
        {(all) =>
          all.length === 0 ? (
            <Empty title="Nothing was done yet" icon={<ScrollText />}>
              Every write by an administrator is listed here, with who, what and when.
            </Empty>
          ) : (
            <>
              <Table
                label="Audit log"
                head={
                  <>
                    <Th>When</Th>
                    <Th>Who</Th>
                    <Th>What</Th>
                    <Th>On</Th>
                    <Th wide>Details</Th>
                  </>
                }
              >
                {all.map((entry, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name, and none is ever removed.
                  <tr key={`${entry.ts}-${at}`}>
                    <Td>
                      <Time ts={entry.ts} as="clock" />
                    </Td>
                    <Td title={entry.actor}>{names.get(entry.actor) ?? entry.actor}</Td>
                    <Td>{entry.action}</Td>
                    <Td>
                      <LongId id={entry.target} />
                    </Td>
                    <Td wide className={styles.detail}>
                      {entry.detail}
                    </Td>
                  </tr>
                ))}
              </Table>
              {audit.hasNextPage && (
                <p className={styles.more}>
                  <Button busy={audit.isFetchingNextPage} onClick={() => audit.fetchNextPage()}>
                    Show older
                  </Button>
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
