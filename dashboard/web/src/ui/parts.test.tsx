import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import axe from 'axe-core';
import { describe, expect, it, vi } from 'vitest';
import { JOB_STATUSES } from '../api/types';
import { Badge, JOB_LOOKS, JobBadge, MACHINE_LOOKS, VIEW_LOOKS, WORKER_LOOKS } from './Badge';
import { Bars, niceTop } from './Bars';
import { Chips } from './Chips';
import { Confirm } from './Dialog';
import { JsonTree } from './JsonTree';
import { Card, Page } from './Layout';
import { Meter } from './Meter';
import { sparkPath } from './Sparkline';
import { Loaded } from './States';
import { Table, Td, Th } from './Table';
import { Tabs } from './Tabs';
import { Count, Duration, Time } from './Values';

describe('states', () => {
  it('always have a word', () => {
    for (const looks of [JOB_LOOKS, VIEW_LOOKS, MACHINE_LOOKS, WORKER_LOOKS]) {
      const words = Object.values(looks).map((look) => look.word);
      expect(new Set(words).size).toBe(words.length);
    }
    for (const status of JOB_STATUSES) {
      const { unmount } = render(<JobBadge state={status} />);
      expect(screen.getByText(JOB_LOOKS[status].word)).toBeInTheDocument();
      unmount();
    }
  });
  it('of a newer hub are shown by their own word', () => {
    render(<JobBadge state={'paused' as 'pending'} />);
    expect(screen.getByText('paused')).toBeInTheDocument();
  });
});

describe('values', () => {
  it('that are not known say so, and are no zero', () => {
    render(<Duration ms={null} why="No job is due" />);
    expect(screen.getByTitle('No job is due')).toHaveTextContent('–');
    expect(document.body).not.toHaveTextContent('0');
  });
  it('have their exact form on hover', () => {
    render(<Count value={12_345} />);
    expect(screen.getByTitle('12,345')).toHaveTextContent('12.3K');
    render(<Time ts={Date.UTC(2026, 0, 2, 3, 4, 5)} as="clock" />);
    expect(screen.getByTitle(/2026-01-02 03:04:05.000 UTC/)).toBeInTheDocument();
  });
  it('a meter of an unknown share is read as unknown', () => {
    render(<Meter label="GPU" percent={null} />);
    expect(screen.getByRole('meter')).toHaveAttribute('aria-valuetext', 'not known');
  });
  it('a missing value is a gap in the line', () => {
    const path = sparkPath([1, 2, null, 2, 1], 40, 10);
    expect(path.match(/M/g)).toHaveLength(2);
    expect(sparkPath([null, 3, null], 40, 10)).toContain('h1');
    expect(sparkPath([], 40, 10)).toBe('');
  });
  it('a scale ends at a round figure', () => {
    expect([0, 1, 3, 7, 11, 99, 100, 101].map(niceTop)).toEqual([1, 1, 5, 10, 20, 100, 100, 200]);
  });
});

describe('a confirmation', () => {
  const show = (onConfirm: () => Promise<void>, onClose = vi.fn()) => {
    render(
      <Confirm
        title="Delete 12 jobs?"
        verb="Delete"
        typed="delete 12"
        onConfirm={onConfirm}
        onClose={onClose}
      >
        They are gone for good.
      </Confirm>,
    );
    return onClose;
  };
  const button = () => screen.getByText('Delete');
  const type = (text: string) => fireEvent.change(screen.getByRole('textbox'), { target: { value: text } });

  it('needs the words before it does what cannot be undone', async () => {
    const onConfirm = vi.fn(async () => {});
    const onClose = show(onConfirm);
    expect(button()).toBeDisabled();
    type('delete 1');
    expect(button()).toBeDisabled();
    type('delete 12');
    fireEvent.click(button());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(onConfirm).toHaveBeenCalledTimes(1);
  });
  it('stays and tells when it failed', async () => {
    const onClose = show(() => Promise.reject(new Error('the hub is read-only')));
    type('delete 12');
    fireEvent.click(button());
    expect(await screen.findByText('the hub is read-only')).toBeInTheDocument();
    expect(onClose).not.toHaveBeenCalled();
    expect(button()).toBeEnabled();
  });
});

describe('a query', () => {
  const refetch = vi.fn();
  it('that failed shows older data rather than the failure', () => {
    render(
      <Loaded query={{ data: 5, error: new Error('away'), refetch }} failure="It could not be read">
        {(data) => <p>data {data}</p>}
      </Loaded>,
    );
    expect(screen.getByText('data 5')).toBeInTheDocument();
  });
  it('that failed at once says why and can be tried again', () => {
    render(
      <Loaded query={{ data: undefined, error: new Error('away'), refetch }} failure="It could not be read">
        {() => null}
      </Loaded>,
    );
    expect(screen.getByRole('alert')).toHaveTextContent('It could not be read');
    fireEvent.click(screen.getByRole('button'));
    expect(refetch).toHaveBeenCalled();
  });
});

it('text of a job is never HTML', () => {
  const evil = '<img src=x onerror="document.title=1">';
  render(<JsonTree label="Params" value={{ [evil]: [evil] }} />);
  expect(document.querySelector('img')).toBeNull();
  expect(document.body).toHaveTextContent('onerror');
});

it('a huge array shows its beginning', () => {
  render(<JsonTree label="Result" value={Array.from({ length: 5_000 }, (_, index) => index)} />);
  expect(screen.getByText('Show 100 more of 5000')).toBeInTheDocument();
});

it('the parts have nothing that keeps anybody out', async () => {
  const { container } = render(
    <Page title="Parts" actions={<button type="button">Act</button>}>
      <Card title="Figures" aside="now">
        <Meter label="CPU" percent={50} />
        <Bars
          title="Jobs"
          bars={[{ label: '10:00', values: [1, 2] }]}
          series={[
            { name: 'Completed', tone: 'ok' },
            { name: 'Failed', tone: 'bad' },
          ]}
          from="then"
          to="now"
        />
        <Badge tone="ok">Fine</Badge>
        <Chips
          label="Status"
          options={[{ value: 'a', label: 'A', count: 3 }]}
          chosen="a"
          onChoose={() => {}}
        />
        <Tabs label="Parts" tabs={[{ value: 'x', label: 'X' }]} chosen="x" onChoose={() => {}}>
          <JsonTree label="Params" value={{ a: 1 }} />
        </Tabs>
        <Table label="Rows" head={<Th>Name</Th>}>
          <tr>
            <Td>a</Td>
          </tr>
        </Table>
      </Card>
    </Page>,
  );
  // Colours and the page's own landmarks are not known here; the real browser checks them.
  const { violations } = await axe.run(container, {
    rules: { 'color-contrast': { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
});
