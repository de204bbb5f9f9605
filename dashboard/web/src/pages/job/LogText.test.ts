import { expect, it } from 'vitest';
import { LogText, linesWith, marked, spansOf, textOf } from './LogText';

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (log: LogText) => log.lines.map(textOf);

it('puts lines together however the bytes were cut', () => {
  const whole = bytes('first\nzweite Zeile: ä €\nthird');
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const log = new LogText();
    log.append(0, whole.slice(0, cut));
    log.append(cut, whole.slice(cut));
    expect(texts(log)).toEqual(['first', 'zweite Zeile: ä €', 'third']);
    expect(log.end).toBe(whole.length);
  }
});

it('says how much of the beginning is gone', () => {
  const log = new LogText();
  log.append(0, bytes('a\nb'));
  log.append(100, bytes('c\n\nd\n'));
  expect(log.missing).toBe(97);
  expect(texts(log)).toEqual(['a', 'b', 'c', '', 'd']);
});

it('shows what a terminal would after carriage returns, and keeps a colour over lines', () => {
  const log = new LogText();
  log.append(0, bytes('10 %\r50 %\r100 %\r\n\u001b[31mred\nalso red\u001b[0m\n'));
  expect(texts(log)).toEqual(['100 %', 'red', 'also red']);
  expect(log.lines.slice(1).map((line) => spansOf(line)[0]?.style.color)).toEqual(['red', 'red']);
});

it('finds text over the borders of colours', () => {
  const log = new LogText();
  log.append(0, bytes('an \u001b[31mer\u001b[0mror, an ERROR\nnothing\n'));
  expect(linesWith(log.lines, 'error')).toEqual([0]);
  const pieces = marked(spansOf(log.lines[0] as (typeof log.lines)[0]), 'error');
  expect(pieces.map(({ text, found }) => [text, found])).toEqual([
    ['an ', false],
    ['er', true],
    ['ror', true],
    [', an ', false],
    ['ERROR', true],
  ]);
});
