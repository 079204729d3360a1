import { expect, it } from 'vitest';
import { ProviderError } from './errors.ts';
import { type CompletedCall, observeCall } from './observers.ts';

const about = { system: 'truenas', name: 'vm.start' };

it.each([
  ['an answer', async () => 1, 'ok'],
  ['an error with a code', () => Promise.reject(new ProviderError('UNREACHABLE', 'nas')), 'UNREACHABLE'],
  ['any other error', () => Promise.reject(new Error('host name and port')), 'error'],
])('a call that ends with %s is counted with that result, and ends the same way', async (_, work, result) => {
  const reported: CompletedCall[] = [];
  const [mine, theirs] = await Promise.allSettled([observeCall((call) => reported.push(call), about, work), work()]);
  expect(reported).toEqual([{ ...about, result, seconds: expect.any(Number) }]);
  expect(mine).toEqual(theirs);
});

it('a call that the caller aborts is not counted as a failure of the remote side', async () => {
  const reported: CompletedCall[] = [];
  const signal = AbortSignal.abort(new Error('shutdown'));
  const call = observeCall(
    (ended) => reported.push(ended),
    { ...about, signal },
    () => Promise.reject(signal.reason),
  );
  await expect(call).rejects.toThrow('shutdown');
  expect(reported.map(({ result }) => result)).toEqual(['cancelled']);
});
