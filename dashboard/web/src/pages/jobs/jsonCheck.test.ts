import { expect, it } from 'vitest';
import { checkJson } from './jsonCheck';

const told = (text: string) => {
  const mistake = checkJson(text);
  return mistake && `${mistake.line}:${mistake.column} ${mistake.message}`;
};

it('agrees with the browser about what is JSON', () => {
  const texts = [
    '{}',
    '[]',
    ' [1, -2.5e+3, "a\\n\\u00e4", true, null] ',
    '0',
    '"x"',
    '{"a":{"b":[{}]}}',
    '-0',
    '1E5',
    '',
    '{',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '01',
    '1.',
    '.5',
    '+1',
    '"a',
    '"\n"',
    '"\\x"',
    '"\\u12"',
    '[1 2]',
    '{"a" 1}',
    '{"a":}',
    'nul',
    'truex',
    '[] []',
    '--1',
    '1e',
    '\u00a0{}',
    '"\t"',
    'NaN',
    '[,]',
  ];
  for (const text of texts) {
    let valid = true;
    try {
      JSON.parse(text);
    } catch {
      valid = false;
    }
    expect([text, checkJson(text) === null]).toEqual([text, valid]);
  }
});

it('says where it is wrong and what to do', () => {
  expect(told('{\n  "a": 1,\n}')).toBe('2:9 A comma too many before }');
  expect(told('{\n  "a": 1\n  "b": 2\n}')).toBe('3:3 Expected a comma or }');
  expect(told("{'a': 1}")).toBe('1:2 Names stand in double quotes');
  expect(told('{"a": tru}')).toMatch(/^1:7 Expected a value/);
  expect(told('["open')).toBe('1:2 This text has no closing quote');
  expect(told('[1')).toBe('1:3 The text ends before its ]');
  expect(told('')).toBe('1:1 Nothing is here; {} is an empty object');
});
