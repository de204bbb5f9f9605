import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Connection, LiveMessage } from './messages';
import { LiveStream, SILENCE_MAX_MS } from './stream';

interface Opened {
  url: URL;
  send(text: string): void;
  end(): void;
  signal: AbortSignal;
}

let opened: Opened[];
let answer: () => Response | null;
let messages: LiveMessage[];
let states: Connection[];
let stream: LiveStream;

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  opened = [];
  messages = [];
  states = [];
  answer = () => null;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const refused = answer();
    if (refused) return refused;
    let control: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        control = given;
      },
    });
    const signal = init.signal as AbortSignal;
    signal.addEventListener('abort', () => control.error(new DOMException('aborted', 'AbortError')));
    opened.push({
      url: new URL(url, 'http://hub'),
      send: (text) => control.enqueue(new TextEncoder().encode(text)),
      end: () => control.close(),
      signal,
    });
    return new Response(body);
  });
  stream = new LiveStream({
    messages: (batch) => messages.push(...batch),
    state: (connection) => states.push(connection),
  });
});

afterEach(() => {
  stream.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** The stream that is read, leaving out the look back at what came before it. */
const streams = () => opened.filter(({ url }) => url.searchParams.get('topics')?.includes('nodes'));

async function streamNumber(count: number): Promise<Opened> {
  await vi.waitFor(() => expect(streams()).toHaveLength(count));
  return streams()[count - 1] as Opened;
}

const event = (id: string) =>
  `id: ${id}\nevent: job:created\ndata: {"event":"job:created","ts":1,"job_id":"j${id}"}\n\n`;
const ids = () => messages.flatMap((message) => (message.topic === 'event' ? [message.id] : []));

it('begins with a reset, because what was read before may be older', async () => {
  stream.start([]);
  (await streamNumber(1)).send('id: 1-5\n\n');
  await vi.waitFor(() => expect(messages[0]).toEqual({ topic: 'reset' }));
  expect(states).toMatchObject([{ phase: 'live' }]);
});

it('goes on after a loss from the last event it saw', async () => {
  stream.start([]);
  const first = await streamNumber(1);
  expect(first.url.searchParams.has('last_event_id')).toBe(false);
  first.send(event('1-6') + event('1-7'));
  await vi.waitFor(() => expect(ids()).toEqual(['1-6', '1-7']));
  first.end();
  await vi.waitFor(() => expect(states.at(-1)?.phase).toBe('down'));
  const second = await streamNumber(2);
  expect(second.url.searchParams.get('last_event_id')).toBe('1-7');
  second.send(event('1-8'));
  await vi.waitFor(() => expect(ids()).toEqual(['1-6', '1-7', '1-8']));
  expect(states.at(-1)?.phase).toBe('live');
  expect(messages.filter(({ topic }) => topic === 'reset')).toHaveLength(1);
});

it('is opened anew for another log, where it stopped', async () => {
  stream.start([]);
  const first = await streamNumber(1);
  first.send(event('1-6'));
  await vi.waitFor(() => expect(ids()).toEqual(['1-6']));
  stream.start(['abc']);
  const second = await streamNumber(2);
  expect(first.signal.aborted).toBe(true);
  expect(second.url.searchParams.get('topics')).toContain('log:abc');
  expect(second.url.searchParams.get('last_event_id')).toBe('1-6');
  stream.start(['abc']);
  expect(streams()).toHaveLength(2);
});

it('notices a link that died without a word', async () => {
  stream.start([]);
  const first = await streamNumber(1);
  first.send('id: 1-5\n\n');
  await vi.waitFor(() => expect(states.at(-1)?.phase).toBe('live'));
  await vi.advanceTimersByTimeAsync(SILENCE_MAX_MS - 1_000);
  expect(first.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(first.signal.aborted).toBe(true);
  await streamNumber(2);
});

it('does not come back when the session is over', async () => {
  answer = () => Response.json({ error: 'log in first', code: 'unauthorized' }, { status: 401 });
  stream.start([]);
  await vi.waitFor(() => expect(states.at(-1)).toMatchObject({ phase: 'refused', reason: 'log in first' }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(states).toHaveLength(1);
});

it('passes on what the hub says about a gap', async () => {
  stream.start([]);
  const first = await streamNumber(1);
  first.send('id: 1-5\n\n');
  await vi.waitFor(() => expect(messages).toHaveLength(1));
  first.send('id: 2-1\nevent: reset\ndata: {"reason":"too old"}\n\n');
  await vi.waitFor(() => expect(messages).toHaveLength(2));
  expect(messages[1]).toEqual({ topic: 'reset' });
});
