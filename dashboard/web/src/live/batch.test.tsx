import { expect, it, vi } from 'vitest';
import { BATCH_MAX, Batcher } from './batch';
import type { LiveMessage } from './messages';

const message = (number: number): LiveMessage => ({
  topic: 'event',
  id: `1-${number}`,
  event: { event: 'job:created', ts: number },
});

function withFrames() {
  const frames: (() => void)[] = [];
  vi.stubGlobal('requestAnimationFrame', (callback: () => void) => frames.push(callback));
  return () => {
    for (const frame of frames.splice(0)) frame();
  };
}

it('hands on everything of one frame together, in order', () => {
  const frame = withFrames();
  const deliver = vi.fn();
  const batcher = new Batcher(deliver);
  for (let number = 0; number < 1_000; number++) batcher.add([message(number)]);
  expect(deliver).not.toHaveBeenCalled();
  frame();
  expect(deliver).toHaveBeenCalledTimes(1);
  expect(deliver.mock.calls[0]?.[0]).toHaveLength(1_000);
  frame();
  expect(deliver).toHaveBeenCalledTimes(1);
});

it('starts over rather than applying more than it can', () => {
  const frame = withFrames();
  const deliver = vi.fn();
  const batcher = new Batcher(deliver);
  batcher.add(Array.from({ length: BATCH_MAX + 1 }, (_, number) => message(number)));
  batcher.add([message(9)]);
  frame();
  expect(deliver.mock.calls[0]?.[0]).toEqual([{ topic: 'reset' }, message(9)]);
});
