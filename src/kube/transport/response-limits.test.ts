import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  endedWatchResponse,
  eventLine,
  listResponse,
  secretObject,
  startReflectorHarness,
  untilFailed,
  watchResponse,
} from '../../../test/support/harness/reflector-harness.ts';
import {
  replyJson,
  replyStatus,
  type ScriptedHttpServer,
  waitForCondition,
} from '../../../test/support/harness/scripted-http-server.ts';
import {
  connectionToUrl,
  kubeErrorOf,
  openTransport,
  startTestServer,
} from '../../../test/support/harness/transport-harness.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ReadRateLimit } from '../../lib/resilience/rate-limit.ts';
import { KubeClient } from '../client/client.ts';
import { Secret as SecretType } from '../core-types.ts';
import { LineReader } from './line-reader.ts';
import {
  maxErrorCauses,
  maxErrorMessageLength,
  platformClusterLimits,
  type ResponseLimits,
  targetClusterLimits,
} from './response-limits.ts';

const clientOf = (server: ScriptedHttpServer, limits: Partial<ResponseLimits> = {}) =>
  new KubeClient(openTransport(connectionToUrl(server.url), { limits: { ...targetClusterLimits, ...limits } }), {
    fieldManager: 'me',
  });

/** Sends data for as long as the client reads. */
function pour(response: ServerResponse, sent: { bytes: number }): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const chunk = Buffer.alloc(64 * 1024, ' ');
  const more = () => {
    while (!response.destroyed) {
      sent.bytes += chunk.length;
      if (!response.write(chunk)) return void response.once('drain', more);
    }
  };
  more();
}

const secrets = (count: number, from = 0, text = '') =>
  Array.from({ length: count }, (_, i) => ({ metadata: { name: `s${from + i}`, namespace: 'n' }, type: text }));

describe('a response without end', () => {
  it.each<[string, (client: KubeClient) => Promise<unknown>]>([
    ['one word', (client) => client.raw('GET', '/version')],
    ['signing keys', (client) => client.signingKeys()],
    ['an object', (client) => client.get(SecretType, { namespace: 'n', name: 'a' })],
    ['a list', (client) => client.list(SecretType)],
  ])('is read no further than its limit: %s', async (_, call) => {
    const sent = { bytes: 0 };
    const server = await startTestServer((_received, response) => pour(response, sent));
    const error = await kubeErrorOf(call(clientOf(server, { answerBytes: 2 ** 20 })));
    expect(error).toMatchObject({ status: 0, reason: 'AnswerTooLong' });
    await waitForCondition(() => server.received.every(({ socket }) => socket.destroyed), 'the connection is ended');
    // The server also sends what the buffers of both sides hold. A list is retried with shorter pages.
    expect(sent.bytes).toBeLessThan(4 * 16 * 2 ** 20);
  });

  it('is an error response when it begins like one', async () => {
    const server = await startTestServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      const more = () => {
        while (response.write(Buffer.alloc(64 * 1024, 'x')));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect(await kubeErrorOf(clientOf(server).raw('GET', '/version'))).toMatchObject({
      status: 403,
      reason: 'Forbidden',
    });
  });
});

describe('a list', () => {
  it('of large objects is read in shorter pages', async () => {
    const all = secrets(120, 0, 'x'.repeat(10_000));
    const limits: number[] = [];
    const server = await startTestServer(({ query }, response) => {
      const limit = Number(query.get('limit'));
      const from = Number(query.get('continue') ?? 0);
      limits.push(limit);
      const rest = from + limit < all.length ? { continue: String(from + limit) } : {};
      replyJson(response, { metadata: { resourceVersion: '1', ...rest }, items: all.slice(from, from + limit) });
    });
    const { items } = await clientOf(server, { answerBytes: 600_000 }).list(SecretType);
    expect(items).toHaveLength(120);
    expect(limits).toEqual([500, 50, 50, 50]);
  });

  const endless = (itemsPerPage: number, text = '') =>
    startTestServer(({ query }, response) => {
      const page = Number(query.get('continue') ?? 0);
      const metadata = { resourceVersion: '1', continue: String(page + 1) };
      replyJson(response, { metadata, items: secrets(itemsPerPage, page * itemsPerPage, text) });
    });

  it.each<[string, Partial<ResponseLimits>, number, string, RegExp, number]>([
    ['pages', { listPages: 7 }, 1, '', /more than 7 pages/, 7],
    ['empty pages', { listPages: 7 }, 0, '', /more than 7 pages/, 7],
    ['objects', { listItems: 100 }, 30, '', /more than 100 objects/, 4],
    ['bytes', { listBytes: 100_000 }, 10, 'x'.repeat(3000), /longer than/, 4],
  ])('without end is aborted after too many %s', async (_, limits, itemsPerPage, text, why, requests) => {
    const server = await endless(itemsPerPage, text);
    const error = await kubeErrorOf(clientOf(server, limits).list(SecretType));
    expect(error).toMatchObject({ status: 0, reason: 'AnswerTooLong' });
    expect(error.message).toMatch(why);
    expect(server.received).toHaveLength(requests);
  });

  it('has one deadline for all of its pages', async () => {
    const server = await endless(1);
    const client = clientOf(server, { listSeconds: 0.2, listPages: 1e9, listItems: 1e9 });
    expect(await kubeErrorOf(client.list(SecretType))).toMatchObject({ reason: 'DeadlineExceeded' });
  });

  it('is not read further after the caller aborts', async () => {
    const gone = new AbortController();
    const server = await endless(1);
    const client = clientOf(server, { listPages: 1e9, listItems: 1e9 });
    const listed = client.list(SecretType, {}, gone.signal);
    await waitForCondition(() => server.received.length >= 3, 'it reads pages');
    gone.abort(new Error('gone'));
    await expect(listed).rejects.toThrow('gone');
    const before = server.received.length;
    await client.raw('GET', '/version').catch(() => {});
    expect(server.received.length).toBeLessThanOrEqual(before + 2);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'continues at the same position',
      { metadata: { continue: 'x' }, items: [] },
      /continue token of the list was repeated/,
    ],
    ['is not a list', null, /not a list/],
    ['is a number', { items: 7 }, /not a list/],
    ['holds an item that is not an object', { items: [{ metadata: { name: 'a' } }, null] }, /not a list/],
    ['holds an object without metadata', { items: [{ kind: 'Secret' }] }, /not a list/],
  ])('is rejected when it %s', async (_, body, why) => {
    const server = await startTestServer((_received, response) => replyJson(response, body));
    const error = await kubeErrorOf(clientOf(server).list(SecretType));
    expect(error.reason).toBe('BadAnswer');
    expect(error.message).toMatch(why);
  });
});

describe('an error response', () => {
  it('has a bounded message and a bounded retry delay', async () => {
    const causes = Array.from({ length: 5000 }, () => ({ field: 'f', message: 'x'.repeat(5000) }));
    const server = await startTestServer((_, response) =>
      replyStatus(response, 422, 'Invalid', {
        message: 'y'.repeat(100_000),
        details: { causes: causes.slice(0, 60), retryAfterSeconds: 1e12 },
      }),
    );
    const error = await kubeErrorOf(clientOf(server).raw('GET', '/x'));
    expect(error.message.length).toBeLessThan(maxErrorMessageLength + 100);
    expect(error.causes).toHaveLength(maxErrorCauses);
    expect(error.causes[0]?.message).toHaveLength(maxErrorMessageLength);
    expect(error.retryAfterSeconds).toBe(300);
  });

  it.each([['x'], [{}], [null], [-5], ['1e999']])(
    'with %j as retry delay has no retry delay',
    async (retryAfterSeconds) => {
      const server = await startTestServer((_, response) =>
        replyStatus(response, 429, 'TooManyRequests', { details: { retryAfterSeconds } }),
      );
      const { retryAfterSeconds: wait } = await kubeErrorOf(clientOf(server).raw('GET', '/x'));
      expect(wait ?? 0).toBe(0);
    },
  );
});

describe('a watch', () => {
  const controller = () => {
    const reported: string[] = [];
    const act = { pause: () => void reported.push('pause'), resume: () => void reported.push('resume') };
    return { told: reported, controller: act as unknown as Parameters<LineReader['onResponseData']>[0] };
  };

  it('is read later when it exceeds its rate limit', async () => {
    const clock = new ManualClock();
    const limit = new ReadRateLimit(clock, {
      bytes: { burst: 1e9, perSecond: 1e9 },
      messages: { burst: 100, perSecond: 10 },
    });
    const { told: reported, controller: stream } = controller();
    let lines = 0;
    const over = new AbortController();
    const rest = (bytes: number, events: number) => limit.rest(bytes, events, over.signal);
    const reader = new LineReader(
      () => {
        lines += 1;
      },
      () => {},
      { lineBytes: 1000, throttle: rest },
    );
    reader.onResponseStart(stream, 200, {});
    reader.onResponseData(stream, Buffer.from('x\n'.repeat(100)));
    expect([lines, reported]).toEqual([100, []]);
    reader.onResponseData(stream, Buffer.from('x\n'.repeat(20)));
    expect([lines, reported]).toEqual([120, ['pause']]);
    await clock.advance(1900);
    expect(reported).toEqual(['pause']);
    await clock.advance(100);
    expect(reported).toEqual(['pause', 'resume']);
  });

  it('delivers everything eventually over a real connection, and ends at its deadline', async () => {
    const server = await startTestServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      let sent = 0;
      const more = () => {
        for (let i = 0; i < 20; i += 1) {
          sent += 1;
          response.write(`{"n":${sent}}\n`);
        }
        if (sent < 100) setImmediate(more);
        else response.end();
      };
      more();
    });
    const pace = { watchEvents: { burst: 10, perSecond: 500 } };
    const transport = openTransport(connectionToUrl(server.url), { limits: { ...targetClusterLimits, ...pace } });
    const lines: string[] = [];
    const signal = new AbortController();
    const limits = { deadlineSeconds: 20, idleSeconds: 20, maxLifetimeSeconds: 20 };
    await transport.stream({ path: '/w', signal: signal.signal, ...limits }, (text) => void lines.push(text));
    expect(lines).toHaveLength(100);
    expect(lines.at(-1)).toBe('{"n":100}');
  });

  it('can be aborted while it is paused', async () => {
    const server = await startTestServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{}\n'.repeat(5000));
    });
    const pace = { watchEvents: { burst: 10, perSecond: 0.001 } };
    const transport = openTransport(connectionToUrl(server.url), { limits: { ...targetClusterLimits, ...pace } });
    const end = new AbortController();
    let lines = 0;
    const limits = { deadlineSeconds: 20, idleSeconds: 20, maxLifetimeSeconds: 20 };
    const watching = transport.stream({ path: '/w', signal: end.signal, ...limits }, () => {
      lines += 1;
    });
    await waitForCondition(() => lines > 10, 'it is held up');
    end.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
  });

  it('ends at a line that is too long, however small its chunks are', async () => {
    for (const size of [1, 1000]) {
      const { controller: stream } = controller();
      const reader = new LineReader(
        () => {},
        () => {},
        { lineBytes: 10_000 },
      );
      reader.onResponseStart(stream, 200, {});
      for (let i = 0; i < 200; i += 1) reader.onResponseData(stream, Buffer.alloc(size, 'x'));
      await expect(reader.ended).rejects.toThrow('a line of the watch is longer than 10000 bytes');
    }
  });

  it('with an unbounded number of objects leads to a list: the cache is bounded', async () => {
    const flood = Array.from({ length: 50 }, (_, i) => eventLine('ADDED', secretObject(`new-${i}`, String(i + 2))));
    const fixture = await startReflectorHarness(
      [listResponse('1', secretObject('a', '1'))],
      [endedWatchResponse(...flood), watchResponse()],
      { maxObjects: 20 },
    );
    await untilFailed(fixture, 1);
    expect(fixture.reflector.health.lastError).toMatch(/more than 20 objects/);
    expect(fixture.reflector.health.objects).toBe(21);
    await fixture.sleepOn();
    await waitForCondition(() => fixture.asked().filter((one) => one === 'list').length === 2, 'it lists anew');
    await waitForCondition(() => fixture.reflector.health.objects === 1, 'only what the list has is known');
  });

  it('accepts any object that etcd can hold', () => {
    expect(targetClusterLimits.eventBytes).toBeGreaterThan(2 * 1.5 * 2 ** 20);
    expect(platformClusterLimits.eventBytes).toBeGreaterThanOrEqual(targetClusterLimits.eventBytes);
  });
});
