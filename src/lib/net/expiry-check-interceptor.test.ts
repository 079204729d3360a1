import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { addExpiryCheck, deadlineSignal } from '../deadline.ts';
import { expiryCheckInterceptor } from './expiry-check-interceptor.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server that records its requests, and a dispatcher that calls `connected` for each new connection. */
async function createFixture(connected: () => void) {
  const arrived: string[] = [];
  const server = createServer((request, response) => {
    arrived.push(request.method ?? '');
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  pool.on('connect', connected);
  closers.push(
    () => new Promise((resolve) => server.close(resolve)),
    () => pool.destroy(),
  );
  return { arrived, dispatcher: pool.compose(expiryCheckInterceptor) };
}

it('does not send a request that changes something when its signal expires before there is a connection', async () => {
  const leadership = new AbortController();
  let isOver = false;
  addExpiryCheck(leadership.signal, () => {
    if (isOver) leadership.abort(new Error('the time is over'));
  });
  const { arrived, dispatcher } = await createFixture(() => {
    isOver = true;
  });
  const signal = deadlineSignal(60, leadership.signal);
  await expect(dispatcher.request({ path: '/', method: 'POST', body: 'x', signal })).rejects.toThrow(
    'the time is over',
  );
  expect(signal.reason).toBe(leadership.signal.reason);
  expect(arrived).toEqual([]);
});

it('sends all other requests, with or without a signal, and passes the response on', async () => {
  const { arrived, dispatcher } = await createFixture(() => {});
  const { signal } = new AbortController();
  for (const options of [{ method: 'GET' as const }, { method: 'PATCH' as const, body: 'x' }]) {
    for (const given of [options, { ...options, signal }]) {
      const { statusCode, body } = await dispatcher.request({ path: '/', ...given });
      expect([statusCode, await body.text()]).toEqual([200, 'ok']);
    }
  }
  expect(arrived).toEqual(['GET', 'GET', 'PATCH', 'PATCH']);
});
