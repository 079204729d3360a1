import type { Client, Dispatcher } from 'undici';
import { beforeEach, describe, expect, it } from 'vitest';
import { RetryGetHandler } from './retry-get-handler.ts';

const controller = {} as Dispatcher.DispatchController;
const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const get = { method: 'GET', path: '/' } as const;

let sent: Dispatcher.DispatchHandler[];
let failures: Error[];
let client: Client;

const handler: Dispatcher.DispatchHandler = {
  onRequestStart: () => {},
  onResponseStart: () => {},
  onResponseEnd: () => {},
  onResponseError: (_, error) => void failures.push(error),
};
const around = (options: Dispatcher.DispatchOptions = get) => RetryGetHandler.around(client, options, handler);
const answer = () => around().onResponseStart?.(controller, 200, {}, 'OK');

beforeEach(() => {
  [sent, failures] = [[], []];
  client = {
    destroyed: false,
    dispatch: (_: object, one: Dispatcher.DispatchHandler) => void sent.push(one),
  } as unknown as Client;
});

describe('a GET', () => {
  it('is sent once more when a reused connection breaks', () => {
    answer();
    const first = around();
    first.onRequestStart?.(controller, {});
    first.onResponseError?.(controller, reset);
    expect([sent.length, failures]).toEqual([1, []]);
    sent[0]?.onRequestStart?.(controller, {});
    sent[0]?.onResponseError?.(controller, reset);
    expect([sent.length, failures]).toEqual([1, [reset]]);
  });

  it.each([
    ['on a connection without an earlier response', false, true, false],
    ['that was never sent, since the reconnect failed', true, false, false],
    ['of a client that is closed', true, true, true],
  ])('%s fails', (_, isKept, isSent, destroyed) => {
    if (isKept) answer();
    Object.assign(client, { destroyed });
    const one = around();
    if (isSent) one.onRequestStart?.(controller, {});
    one.onResponseError?.(controller, reset);
    expect([sent.length, failures]).toEqual([0, [reset]]);
  });

  it.each([new Error('no code'), Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })])(
    'fails with errors that concern the server: %s',
    (error) => {
      answer();
      const one = around();
      one.onRequestStart?.(controller, {});
      one.onResponseError?.(controller, error);
      expect([sent.length, failures]).toEqual([0, [error]]);
    },
  );

  it('whose response has begun fails', () => {
    answer();
    const one = around();
    one.onRequestStart?.(controller, {});
    one.onResponseStart?.(controller, 200, {}, 'OK');
    one.onResponseError?.(controller, reset);
    expect([sent.length, failures]).toEqual([0, [reset]]);
  });
});

it('a request that changes something is sent once', () => {
  answer();
  const one = around({ method: 'DELETE', path: '/' });
  one.onRequestStart?.(controller, {});
  one.onResponseError?.(controller, reset);
  expect([sent.length, failures]).toEqual([0, [reset]]);
});
