import { expect, it } from 'vitest';
import { SseParser } from './sse';

const TEXT =
  ': hello\n\nid: 1-7\n\nid: 1-8\nevent: job:created\ndata: {"a":\ndata: 1}\n\r\nevent: reset\ndata: {}\n\n';
const MESSAGES = [
  { id: '1-7', event: 'message', data: '' },
  { id: '1-8', event: 'job:created', data: '{"a":\n1}' },
  { event: 'reset', data: '{}' },
];

it('reads messages however they are cut', () => {
  for (let size = 1; size <= TEXT.length; size++) {
    const parser = new SseParser();
    const messages = [];
    for (let at = 0; at < TEXT.length; at += size) messages.push(...parser.push(TEXT.slice(at, at + size)));
    expect(messages).toEqual(MESSAGES);
  }
});
