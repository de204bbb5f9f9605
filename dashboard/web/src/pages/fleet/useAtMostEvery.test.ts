import { act, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useAtMostEvery } from './useAtMostEvery';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('shows a stream of changes now and then, and the last of them for good', () => {
  const { result, rerender } = renderHook(({ value }) => useAtMostEvery(value, 250), {
    initialProps: { value: 0 },
  });
  act(() => vi.advanceTimersByTime(1_000));
  const seen = new Set<number>();
  for (let value = 1; value <= 60; value++) {
    rerender({ value });
    act(() => vi.advanceTimersByTime(16));
    seen.add(result.current);
  }
  expect(seen.size).toBeGreaterThan(2);
  expect(seen.size).toBeLessThan(8);
  act(() => vi.advanceTimersByTime(250));
  expect(result.current).toBe(60);
});

it('shows the first value at once', () => {
  const { result, rerender } = renderHook(({ value }) => useAtMostEvery(value, 250), {
    initialProps: { value: undefined as number | undefined },
  });
  rerender({ value: 7 });
  expect(result.current).toBe(7);
});
