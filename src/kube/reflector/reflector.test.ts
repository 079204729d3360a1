import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  bookmarkLine,
  droppedConnection,
  endedWatchResponse,
  errorResponse,
  eventLine,
  listResponse,
  type ReflectorHarness,
  type Responder,
  secretObject,
  startReflectorHarness,
  untilFailed,
  untilHeard,
  untilRequested,
  watchResponse,
} from '../../../test/support/harness/reflector-harness.ts';
import { type ReceivedRequest, waitForCondition } from '../../../test/support/harness/scripted-http-server.ts';
import { type Log, noLog } from '../../lib/log.ts';

describe('a reflector', () => {
  it('lists, watches from there, handles every kind of event, and never repeats known state', async () => {
    const fixture = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1'), secretObject('b', '2'))],
      [
        watchResponse(
          eventLine('ADDED', secretObject('b', '2')),
          eventLine('ADDED', secretObject('c', '11')),
          eventLine('MODIFIED', secretObject('a', '12')),
          eventLine('DELETED', secretObject('b', '13')),
          bookmarkLine('20'),
        ),
      ],
      { namespace: 'n', labelSelector: 'x=y' },
    );
    await fixture.reflector.synced;
    await untilHeard(fixture, 5);
    expect(fixture.heard).toEqual(['added a', 'added b', 'added c', 'updated a', 'deleted b']);
    expect(fixture.reflector.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(fixture.reflector.get({ namespace: 'n', name: 'a' })?.metadata.resourceVersion).toBe('12');
    const [, watch] = fixture.server.received;
    expect(watch?.path).toBe('/api/v1/namespaces/n/secrets');
    expect(Object.fromEntries(watch?.query ?? [])).toEqual({
      labelSelector: 'x=y',
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '600',
    });
  });

  it('does not keep managed fields', async () => {
    const managed = (name: string, version: string) => {
      const { metadata, ...rest } = secretObject(name, version);
      return { ...rest, metadata: { ...metadata, managedFields: [{ manager: 'somebody' }] } };
    };
    const fixture = await startReflectorHarness(
      [listResponse('10', managed('a', '1'))],
      [watchResponse(eventLine('ADDED', managed('b', '11')))],
    );
    await untilHeard(fixture, 2);
    expect(fixture.heard).toEqual(['added a', 'added b']);
    expect(JSON.stringify(fixture.reflector.list())).not.toContain('managedFields');
  });

  it('continues from the last event or bookmark without a list when the server ends a watch normally', async () => {
    const fixture = await startReflectorHarness(
      [listResponse('10')],
      [
        endedWatchResponse(eventLine('ADDED', secretObject('a', '11'))),
        endedWatchResponse(bookmarkLine('15')),
        watchResponse(bookmarkLine('16')),
      ],
    );
    await untilRequested(fixture, 4);
    expect(fixture.asked()).toEqual(['list', 'watch 10', 'watch 11', 'watch 15']);
    expect(fixture.reflector.health.failures).toBe(0);
  });

  it('retries a failing list with increasing delays until it succeeds', async () => {
    const fixture = await startReflectorHarness(
      // On a connection that has answered before, one reset causes one retry.
      [
        errorResponse(500, 'InternalError'),
        droppedConnection,
        droppedConnection,
        errorResponse(403, 'Forbidden'),
        listResponse('1', secretObject('a', '1')),
      ],
      [watchResponse()],
    );
    for (const times of [1, 2, 3]) {
      await untilFailed(fixture, times);
      expect(fixture.reflector.isSynced).toBe(false);
      await fixture.sleepOn();
    }
    await fixture.reflector.synced;
    expect(fixture.heard).toEqual(['added a']);
    expect(fixture.clock.monotonic()).toBe(500 + 1000 + 2000);
  });

  it('waits as long as the server requests, up to a limit', async () => {
    const busy = (seconds: number) =>
      errorResponse(429, 'TooManyRequests', { details: { retryAfterSeconds: seconds } });
    const fixture = await startReflectorHarness([busy(9), busy(86_400), listResponse('1')], [watchResponse()]);
    await untilFailed(fixture, 1);
    await fixture.clock.advance(8_999);
    expect(fixture.asked()).toHaveLength(1);
    await fixture.clock.advance(1);
    await untilFailed(fixture, 2);
    await fixture.clock.advance(120_000);
    await fixture.reflector.synced;
  });

  it('counts a watch that ends at once as a failure, and lists again after three, to prevent a busy loop', async () => {
    const fixture = await startReflectorHarness([listResponse('10')], [endedWatchResponse()]);
    for (const times of [1, 2, 3, 4, 5, 6]) {
      await untilFailed(fixture, times);
      await fixture.sleepOn();
    }
    await untilFailed(fixture, 7);
    expect(fixture.asked().join()).toBe(
      'list,watch 10,watch 10,watch 10,list,watch 10,watch 10,watch 10,list,watch 10',
    );
  });

  it('sends a bounded number of requests during an outage of an hour, and recovers within half a minute', async () => {
    let isDown = false;
    const down: Responder = (response, received) =>
      isDown ? droppedConnection(response, received) : listResponse('10')(response, received);
    const watch: Responder = (response, received) =>
      isDown ? droppedConnection(response, received) : endedWatchResponse(bookmarkLine('11'))(response, received);
    const lines: string[] = [];
    const keep = (_: unknown, message: string): void => void lines.push(message);
    const log: Log = { ...noLog, warn: keep, info: keep };
    const fixture = await startReflectorHarness([down], [watchResponse(bookmarkLine('10')), watch], {
      resyncSeconds: 1e9,
      log,
    });
    await untilRequested(fixture, 2);
    isDown = true;
    for (const socket of fixture.server.open) socket.destroy();
    let failures = 0;
    while (fixture.clock.monotonic() < 3_600_000) {
      failures += 1;
      await untilFailed(fixture, failures);
      await fixture.clock.advanceToNext();
    }
    const requests = fixture.asked().length;
    expect(requests).toBeGreaterThan(100);
    expect(requests).toBeLessThan(140);
    isDown = false;
    await fixture.clock.advance(30_000);
    await waitForCondition(() => fixture.reflector.health.failures === 0, 'it works again');
    // Some hundred failures.
    expect(lines.filter((line) => line === 'watch failed').length).toBeLessThan(20);
    expect(lines.filter((line) => line === 'watch works again')).toHaveLength(1);
    expect(lines.at(-1)).toBe('watch works again');
  });

  it.each([
    ['in the status line', errorResponse(410, 'Expired')],
    [
      'inside the stream',
      watchResponse(eventLine('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })),
    ],
  ])(
    'lists again after 410 %s, and reports objects that were deleted, changed or recreated in between',
    async (_, gone) => {
      const before = [secretObject('a', '1'), secretObject('b', '2'), secretObject('c', '3')];
      const after = [secretObject('a', '1'), secretObject('c', '30', 'uid-other'), secretObject('d', '31')];
      const fixture = await startReflectorHarness(
        [listResponse('10', ...before), listResponse('40', ...after)],
        [gone, watchResponse()],
      );
      await untilFailed(fixture, 1);
      await fixture.sleepOn();
      await untilHeard(fixture, 7);
      expect(fixture.heard.slice(3)).toEqual(['deleted b', 'deleted c', 'added c', 'added d']);
      await untilRequested(fixture, 4);
      expect(fixture.asked().at(-1)).toBe('watch 40');
    },
  );

  it.each([
    ['an ERROR event', eventLine('ERROR', { kind: 'Status', code: 500, reason: 'InternalError', message: 'etcd' })],
    ['an ERROR event without a body', '{"type":"ERROR"}\n'],
    ['a line that is not JSON', 'oops\n'],
    ['a line that is not an event', '[]\n'],
    ['an unknown type', eventLine('SURPRISE', secretObject('x', '99'))],
    ['an event without an object', '{"type":"ADDED"}\n'],
  ])('counts %s as a failure and continues from the last version', async (_, nonsense) => {
    const fixture = await startReflectorHarness(
      [listResponse('10')],
      [watchResponse(eventLine('ADDED', secretObject('a', '11')), nonsense), watchResponse()],
    );
    await untilFailed(fixture, 1);
    expect(fixture.heard).toEqual(['added a']);
    await fixture.sleepOn();
    await untilRequested(fixture, 3);
    expect(fixture.asked().at(-1)).toBe('watch 11');
  });

  it('joins lines across chunk boundaries, even inside a character, and fails on an incomplete line', async () => {
    const text = eventLine('ADDED', { ...secretObject('a', '11'), data: { k: 'grüße 🚀' } });
    const bytes = Buffer.from(text);
    const fixture = await startReflectorHarness(
      [listResponse('10')],
      [
        async (response) => {
          watchResponse()(response, {} as ReceivedRequest);
          for (const byte of bytes) {
            response.write(Buffer.of(byte));
            await new Promise((resolve) => setImmediate(resolve));
          }
          response.end(eventLine('ADDED', secretObject('b', '12')).slice(0, 20));
        },
        watchResponse(),
      ],
    );
    await untilFailed(fixture, 1);
    expect(fixture.heard).toEqual(['added a']);
    expect(fixture.reflector.list()[0]?.data).toEqual({ k: 'grüße 🚀' });
    expect(fixture.reflector.health.lastError).toContain('middle of a line');
  });

  it('replaces a silent connection, and lists again after ten minutes without any event', async () => {
    const fixture = await startReflectorHarness([listResponse('10'), listResponse('11')], [watchResponse()], {
      idleSeconds: 180,
      resyncSeconds: 1e9,
    });
    for (const watches of [1, 2, 3, 4]) {
      await untilRequested(fixture, 1 + watches);
      await waitForCondition(() => fixture.answered() === fixture.asked().length, 'the watch is open');
      await fixture.clock.advance(180_000);
    }
    await untilRequested(fixture, 7);
    expect(fixture.asked().join()).toBe('list,watch 10,watch 10,watch 10,watch 10,list,watch 11');
    expect(fixture.reflector.health.failures).toBe(0);
    await waitForCondition(() => fixture.server.open.size <= 2, 'silent connections are closed');
  });

  it('ends a watch that exceeds the requested duration', async () => {
    let stream: ServerResponse | undefined;
    const endless: Responder = (response, received) => {
      watchResponse()(response, received);
      stream = response;
    };
    const fixture = await startReflectorHarness([listResponse('10')], [endless, watchResponse()], {
      random: () => 0.5,
      resyncSeconds: 1e9,
    });
    await untilRequested(fixture, 2);
    const start = fixture.clock.monotonic();
    for (let minute = 1; fixture.asked().length === 2; minute += 1) {
      stream?.write(bookmarkLine(String(10 + minute)));
      const isConnected = () => fixture.reflector.health.silentSeconds === 0 || fixture.asked().length > 2;
      await waitForCondition(isConnected, 'the bookmark is heard, or the watch is over');
      await fixture.clock.advance(60_000);
    }
    // 450 s were requested.
    expect((fixture.clock.monotonic() - start) / 1000).toBeLessThanOrEqual(540);
    expect(fixture.asked()[2]).toMatch(/^watch 1\d$/);
    expect(fixture.reflector.health.failures).toBe(0);
  });

  it('counts a watch that the server never accepts as a failure', async () => {
    const fixture = await startReflectorHarness([listResponse('10')], [() => {}, watchResponse()]);
    await untilRequested(fixture, 2);
    await waitForCondition(() => fixture.clock.sleeping >= 2, 'the watch is asked for');
    await fixture.clock.advance(30_000);
    await untilFailed(fixture, 1);
    expect(fixture.reflector.health.lastError).toMatch(/timeout/);
  });

  it.each([
    ['lists again where the server has come back with older data', '7', ['list', 'list', 'watch 7'], ['deleted b']],
    ['continues where the server has come back with what it had', '10', ['list', 'watch 10'], []],
    ['continues where versions are no numbers', 'seven', ['list', 'watch 10'], []],
  ])('after a lost connection, %s', async (_, version, requests, changes) => {
    const before = [secretObject('a', '1'), secretObject('b', '9')];
    const after = listResponse(version, secretObject('a', '1'));
    const fixture = await startReflectorHarness(
      [listResponse('10', ...before), after],
      [droppedConnection, droppedConnection, watchResponse()],
    );
    await untilFailed(fixture, 1);
    const asked = fixture.asked().length;
    await fixture.sleepOn();
    await untilRequested(fixture, asked + requests.length);
    expect(fixture.asked().slice(asked)).toEqual(requests);
    expect(fixture.heard.slice(2)).toEqual(changes);
    // The check asks for one object only.
    expect(fixture.server.received[asked]?.query.get('limit')).toBe('1');
  });

  it('resets its failures with the first event', async () => {
    // Each watch follows a list on its connection, so that one reset causes one retry.
    const dropped = Array.from({ length: 4 }, () => droppedConnection);
    const fixture = await startReflectorHarness([listResponse('10')], [...dropped, watchResponse(bookmarkLine('11'))]);
    await untilFailed(fixture, 1);
    await fixture.sleepOn();
    await untilFailed(fixture, 2);
    await fixture.sleepOn();
    await untilFailed(fixture, 0);
    expect(fixture.reflector.health.lastEventAt).toEqual(fixture.clock.now());
  });

  it.each<[string, Responder, (fixture: ReflectorHarness) => boolean]>([
    ['a list', () => {}, (fixture) => fixture.asked().length === 1],
    ['a watch', listResponse('1'), (fixture) => fixture.answered() === 2],
    ['a pause', droppedConnection, (fixture) => fixture.reflector.health.failures === 1],
  ])('ends during %s on abort, with no connection, timer or error left', async (_, act, isThere) => {
    const fixture = await startReflectorHarness([act], [watchResponse()]);
    await waitForCondition(() => isThere(fixture), 'it is there');
    fixture.end.abort();
    await fixture.done;
    expect(fixture.clock.sleeping).toBe(0);
    await waitForCondition(
      () => fixture.server.received.every(({ query, socket }) => !query.has('watch') || socket.destroyed),
      'no watch is open',
    );
    const asked = fixture.asked().length;
    await fixture.clock.advance(3_600_000);
    expect(fixture.asked()).toHaveLength(asked);
  });

  it('reports every object again periodically, in case an event was missed', async () => {
    const fixture = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1'), secretObject('b', '2'))],
      [watchResponse()],
      {
        resyncSeconds: 60,
        random: () => 0.5,
      },
    );
    await untilHeard(fixture, 2);
    await fixture.clock.advance(60_000);
    expect(fixture.heard.slice(2)).toEqual(['resync a', 'resync b']);
  });

  it('keeps what it knows while its check refuses a list, and lists again', async () => {
    let isRefused = true;
    const checkList = (listed: readonly unknown[], known: readonly unknown[]) => {
      if (isRefused && listed.length < known.length) throw new Error('it lacks objects');
    };
    const fixture = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1')), listResponse('40')],
      [errorResponse(410, 'Expired'), watchResponse()],
      { checkList },
    );
    for (const times of [1, 2, 3]) {
      await untilFailed(fixture, times);
      expect(fixture.heard).toEqual(['added a']);
      if (times === 3) isRefused = false;
      await fixture.sleepOn();
    }
    await untilHeard(fixture, 2);
    expect(fixture.heard).toEqual(['added a', 'deleted a']);
  });

  it('continues after a listener throws, and calls the other listeners', async () => {
    const fixture = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1'))],
      [watchResponse(eventLine('ADDED', secretObject('b', '11')))],
    );
    fixture.reflector.onChange(() => {
      throw new Error('a bug');
    });
    const others: string[] = [];
    fixture.reflector.onChange(({ object: { metadata } }) => others.push(metadata.name));
    await untilHeard(fixture, 2);
    expect(others).toContain('b');
  });
});
