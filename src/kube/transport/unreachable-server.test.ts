import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CircuitBreaker } from '../../lib/resilience/circuit-breaker.ts';
import { describeNoResponse } from '../client/api-status.ts';
import { KubeError } from '../errors.ts';
import { unreachableServerRules } from './unreachable-server.ts';

const target = { method: 'GET', path: '/version' } as const;
const unresponsive = () => new KubeError(describeNoResponse(target, 'Unreachable', 'connect ECONNREFUSED'));

function createFixture() {
  const clock = new ManualClock();
  const breaker = new CircuitBreaker<string>({ clock, pauseSeconds: () => 2 });
  let calls = 0;
  const ask = (outcome: () => Promise<unknown>) =>
    breaker.run(async () => {
      calls += 1;
      return await outcome();
    }, unreachableServerRules(target));
  const fails = () => ask(() => Promise.reject(unresponsive()));
  return { clock, ask, fails, calls: () => calls };
}

it('passes all calls while the server responds, whatever the status', async () => {
  const { ask, calls } = createFixture();
  const refused = new KubeError({ status: 403, reason: 'Forbidden', message: 'no' });
  await expect(ask(() => Promise.reject(refused))).rejects.toBe(refused);
  expect(await ask(async () => 'yes')).toBe('yes');
  expect(calls()).toBe(2);
});

it('fails all other calls at once after a call without a response, and admits one trial call after a while', async () => {
  const { clock, ask, fails, calls } = createFixture();
  await expect(fails()).rejects.toThrow('connect ECONNREFUSED');
  for (let i = 0; i < 50; i += 1) {
    await expect(fails()).rejects.toMatchObject({ status: 0, message: 'GET /version: connect ECONNREFUSED' });
  }
  expect(calls()).toBe(1);
  await clock.advance(2000);
  let end = (_error: unknown) => {};
  const trial = ask(() => new Promise((_, reject) => (end = reject)));
  await expect(fails()).rejects.toMatchObject({ status: 0 });
  expect(calls()).toBe(2);
  end(unresponsive());
  await expect(trial).rejects.toMatchObject({ status: 0 });
  await expect(fails()).rejects.toMatchObject({ retryAfterSeconds: 2 });
  await clock.advance(2000);
  expect(await ask(async () => 'back')).toBe('back');
  await Promise.all([ask(async () => 1), ask(async () => 2)]);
  expect(calls()).toBe(5);
});

it('ignores a call that its caller aborts, and admits the next one as the trial', async () => {
  const { clock, ask, fails, calls } = createFixture();
  await expect(fails()).rejects.toThrow();
  await clock.advance(2000);
  const enough = new DOMException('stopped', 'AbortError');
  await expect(ask(() => Promise.reject(enough))).rejects.toBe(enough);
  expect(await ask(async () => 'back')).toBe('back');
  expect(calls()).toBe(3);
});

it('ignores a call that fails with the error of another call', async () => {
  const { clock, ask, fails, calls } = createFixture();
  await expect(fails()).rejects.toThrow();
  const other = { method: 'GET', path: '/api/v1/a-longer-path/of-another-call' } as const;
  for (let i = 0; i < 3; i += 1) {
    await clock.advance(2000);
    const refused = new KubeError(describeNoResponse(other, 'Unreachable', 'connect ECONNREFUSED'));
    await expect(ask(() => Promise.reject(refused))).rejects.toBe(refused);
  }
  expect(await ask(async () => 'back')).toBe('back');
  expect(calls()).toBe(5);
});
