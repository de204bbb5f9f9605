import { expect, it } from 'vitest';
import { ExactNumber, parseExact, stringifyExact } from './exactJson';

it('gives every number back as it was written', () => {
  const text = '{"big":12345678901234567890,"one":1.0,"e":1e5,"small":-0.10,"plain":[1,-2.5,0]}';
  expect(stringifyExact(parseExact(text))).toBe(text);
  expect((parseExact(text) as { big: unknown }).big).toEqual(new ExactNumber('12345678901234567890'));
  expect((parseExact(text) as { plain: unknown }).plain).toEqual([1, -2.5, 0]);
});

it('leaves digits in texts and names alone', () => {
  const text = '{"12345678901234567890":"12345678901234567890","q":"a \\" 1.0 \\\\"}';
  expect(stringifyExact(parseExact(text))).toBe(text);
});

it('refuses what is no JSON', () => {
  for (const text of ['', '{"a":01}', '[1.]', '{a:1}', '[1,]']) expect(() => parseExact(text)).toThrow();
});
