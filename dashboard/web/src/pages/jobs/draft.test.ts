import { expect, it } from 'vitest';
import { parseExact } from '../../api/exactJson';
import type { Job } from '../../api/types';
import { bodyFrom, type Draft, draftOf, EMPTY, spanOf } from './draft';
import { bodyOf, bodyText } from './newJob';

const draft = (fields: Partial<Draft>) => bodyFrom({ ...EMPTY, type: 'resize', ...fields });

it('sends only what was filled in', () => {
  expect(draft({})).toEqual({ body: { type: 'resize', params: {} }, mistakes: {} });
});

it('sends everything under the API’s names', () => {
  const { body, mistakes } = draft({
    queue: ' media ',
    params: '{"big": 12345678901234567890}',
    priority: '-3',
    when: 'after',
    after: { value: '1.5', unit: 'h' },
    attempts: '5',
    hasRuntimeLimit: false,
    tags: 'a, b,,',
    key: 'k',
    program: 'url',
    url: 'https://example.com/solver',
    checksum: 'AB'.repeat(32),
  });
  expect(mistakes).toEqual({});
  expect(bodyText(body)).toBe(
    `{"type":"resize","queue":"media","params":{"big":12345678901234567890},"priority":-3,"max_attempts":5,` +
      `"delay_ms":5400000,"max_runtime_ms":null,"tags":["a","b"],"idempotency_key":"k",` +
      `"solver_checksum":"${'ab'.repeat(32)}","solver_url":"https://example.com/solver"}`,
  );
});

it('names the field of each mistake as the hub would', () => {
  const { mistakes } = bodyFrom({
    ...EMPTY,
    params: '{\n  "a": 1,\n}',
    priority: '1.5',
    when: 'at',
    program: 'command',
    runtime: { value: '0', unit: 's' },
  });
  expect(Object.keys(mistakes).sort()).toEqual([
    'command',
    'max_runtime_ms',
    'params',
    'priority',
    'run_at',
    'type',
  ]);
  expect(mistakes.params).toBe('Line 2, column 9: A comma too many before }.');
});

it('clones a job into the same job', () => {
  const job = {
    type: 'pi',
    queue: 'science',
    params: parseExact('{"darts": 1.0, "seed": 12345678901234567890}'),
    priority: 4,
    max_attempts: 7,
    max_runtime_ms: 5_400_000,
    tags: ['x', 'y'],
    solver_checksum: 'cd'.repeat(32),
  } as unknown as Job;
  const { body, mistakes } = bodyFrom(draftOf(job));
  expect(mistakes).toEqual({});
  expect(JSON.parse(bodyText(body))).toEqual(JSON.parse(bodyText(bodyOf(job))));
  expect(bodyText(body)).toContain('"darts":1.0,"seed":12345678901234567890');
});

it('writes a span in the largest whole unit', () => {
  expect(
    [1_000, 90_000, 7_200_000, 86_400_000, 1_500].map(spanOf).map(({ value, unit }) => value + unit),
  ).toEqual(['1s', '90s', '2h', '1d', '1.5s']);
});
