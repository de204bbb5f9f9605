import { expect, it } from 'vitest';
import { parseAnsi, stripAnsi } from './ansi';

const ESC = '\u001b';
const told = (line: string) => parseAnsi(line).spans.map(({ text, style }) => [text, style]);

it('keeps text without colours as it is', () => {
  expect(told('plain <b>text</b>')).toEqual([['plain <b>text</b>', {}]]);
  expect(told('')).toEqual([]);
});

it('colours a part, and carries what is open into the next line', () => {
  expect(told(`a ${ESC}[1;31mred${ESC}[0m b`)).toEqual([
    ['a ', {}],
    ['red', { bold: true, color: 'red' }],
    [' b', {}],
  ]);
  const first = parseAnsi(`${ESC}[32mgreen`);
  expect(parseAnsi('still', first.end).spans).toEqual([{ text: 'still', style: { color: 'green' } }]);
});

it('brings every colour down to one that both themes can show', () => {
  const colorOf = (codes: string) => parseAnsi(`${ESC}[${codes}mx`).spans[0]?.style.color;
  expect(['38;5;196', '38;2;250;20;10', '38;2;200;200;20', '91', '38;5;21'].map(colorOf)).toEqual([
    'red',
    'red',
    'yellow',
    'red',
    'blue',
  ]);
});

it('leaves out what would move a cursor, set a title or make a link', () => {
  expect(stripAnsi(`a${ESC}[2Kb${ESC}]0;title\u0007c${ESC}]8;;http://x${ESC}\\d`)).toBe('abcd');
  expect(stripAnsi(`cut ${ESC}[3`)).toBe('cut ');
});
