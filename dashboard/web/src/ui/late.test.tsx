import { act, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { LateCode, useLate } from './late';

function Frame({ code }: { code: LateCode }) {
  const Content = useLate(code);
  return Content ? <Content /> : <p>Loading</p>;
}

it('draws as soon as the code is here, and fetches it once', async () => {
  let arrive: (module: { default: () => string }) => void = () => {};
  const fetchCode = vi.fn(() => new Promise<{ default: () => string }>((resolve) => (arrive = resolve)));
  const code = new LateCode(fetchCode);
  render(<Frame code={code} />);
  expect(screen.getByText('Loading')).toBeInTheDocument();
  await act(async () => arrive({ default: () => 'The page' }));
  expect(screen.getByText('The page')).toBeInTheDocument();
  render(<Frame code={code} />);
  expect(screen.queryByText('Loading')).toBeNull();
  expect(fetchCode).toHaveBeenCalledTimes(1);
});

it('draws at once what was fetched ahead', async () => {
  const code = new LateCode(async () => ({ default: () => 'The page' }));
  await code.load();
  render(<Frame code={code} />);
  expect(screen.getByText('The page')).toBeInTheDocument();
});

it('leaves to a boundary what kept the code from coming', async () => {
  const code = new LateCode<object>(() => Promise.reject(new Error('no such file')));
  await code.load();
  vi.spyOn(console, 'error').mockImplementation(() => {});
  expect(() => render(<Frame code={code} />)).toThrow('no such file');
});
