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

describe('a reflector', () => {
  it('lists, watches from there, handles every kind of event, and never repeats known state', async () => {
    const scene = await startReflectorHarness(
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
    await scene.reflector.synced;
    await untilHeard(scene, 5);
    expect(scene.heard).toEqual(['added a', 'added b', 'added c', 'updated a', 'deleted b']);
    expect(scene.reflector.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(scene.reflector.get({ namespace: 'n', name: 'a' })?.metadata.resourceVersion).toBe('12');
    const [, watch] = scene.server.received;
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
    const scene = await startReflectorHarness(
      [listResponse('10', managed('a', '1'))],
      [watchResponse(eventLine('ADDED', managed('b', '11')))],
    );
    await untilHeard(scene, 2);
    expect(scene.heard).toEqual(['added a', 'added b']);
    expect(JSON.stringify(scene.reflector.list())).not.toContain('managedFields');
  });

  it('continues from the last event or bookmark without a list when the server ends a watch normally', async () => {
    const scene = await startReflectorHarness(
      [listResponse('10')],
      [
        endedWatchResponse(eventLine('ADDED', secretObject('a', '11'))),
        endedWatchResponse(bookmarkLine('15')),
        watchResponse(bookmarkLine('16')),
      ],
    );
    await untilRequested(scene, 4);
    expect(scene.asked()).toEqual(['list', 'watch 10', 'watch 11', 'watch 15']);
    expect(scene.reflector.health.failures).toBe(0);
  });

  it('retries a failing list with increasing delays until it succeeds', async () => {
    const scene = await startReflectorHarness(
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
      await untilFailed(scene, times);
      expect(scene.reflector.isSynced).toBe(false);
      await scene.sleepOn();
    }
    await scene.reflector.synced;
    expect(scene.heard).toEqual(['added a']);
    expect(scene.clock.monotonic()).toBe(500 + 1000 + 2000);
  });

  it('waits as long as the server requests, up to a limit', async () => {
    const busy = (seconds: number) =>
      errorResponse(429, 'TooManyRequests', { details: { retryAfterSeconds: seconds } });
    const scene = await startReflectorHarness([busy(9), busy(86_400), listResponse('1')], [watchResponse()]);
    await untilFailed(scene, 1);
    await scene.clock.advance(8_999);
    expect(scene.asked()).toHaveLength(1);
    await scene.clock.advance(1);
    await untilFailed(scene, 2);
    await scene.clock.advance(120_000);
    await scene.reflector.synced;
  });

  it('counts a watch that ends at once as a failure, and lists again after three, to prevent a busy loop', async () => {
    const scene = await startReflectorHarness([listResponse('10')], [endedWatchResponse()]);
    for (const times of [1, 2, 3, 4, 5, 6]) {
      await untilFailed(scene, times);
      await scene.sleepOn();
    }
    await untilFailed(scene, 7);
    expect(scene.asked().join()).toBe('list,watch 10,watch 10,watch 10,list,watch 10,watch 10,watch 10,list,watch 10');
  });

  it('sends a bounded number of requests during an outage of an hour, and recovers within half a minute', async () => {
    let isDown = false;
    const down: Responder = (response, received) =>
      isDown ? droppedConnection(response, received) : listResponse('10')(response, received);
    const watch: Responder = (response, received) =>
      isDown ? droppedConnection(response, received) : endedWatchResponse(bookmarkLine('11'))(response, received);
    const scene = await startReflectorHarness([down], [watchResponse(bookmarkLine('10')), watch], {
      resyncSeconds: 1e9,
    });
    await untilRequested(scene, 2);
    isDown = true;
    for (const socket of scene.server.open) socket.destroy();
    let failures = 0;
    while (scene.clock.monotonic() < 3_600_000) {
      failures += 1;
      await untilFailed(scene, failures);
      await scene.clock.advanceToNext();
    }
    const requests = scene.asked().length;
    expect(requests).toBeGreaterThan(100);
    expect(requests).toBeLessThan(140);
    isDown = false;
    await scene.clock.advance(30_000);
    await waitForCondition(() => scene.reflector.health.failures === 0, 'it works again');
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
      const scene = await startReflectorHarness(
        [listResponse('10', ...before), listResponse('40', ...after)],
        [gone, watchResponse()],
      );
      await untilFailed(scene, 1);
      await scene.sleepOn();
      await untilHeard(scene, 7);
      expect(scene.heard.slice(3)).toEqual(['deleted b', 'deleted c', 'added c', 'added d']);
      await untilRequested(scene, 4);
      expect(scene.asked().at(-1)).toBe('watch 40');
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
    const scene = await startReflectorHarness(
      [listResponse('10')],
      [watchResponse(eventLine('ADDED', secretObject('a', '11')), nonsense), watchResponse()],
    );
    await untilFailed(scene, 1);
    expect(scene.heard).toEqual(['added a']);
    await scene.sleepOn();
    await untilRequested(scene, 3);
    expect(scene.asked().at(-1)).toBe('watch 11');
  });

  it('joins lines across chunk boundaries, even inside a character, and fails on an incomplete line', async () => {
    const text = eventLine('ADDED', { ...secretObject('a', '11'), data: { k: 'grüße 🚀' } });
    const bytes = Buffer.from(text);
    const scene = await startReflectorHarness(
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
    await untilFailed(scene, 1);
    expect(scene.heard).toEqual(['added a']);
    expect(scene.reflector.list()[0]?.data).toEqual({ k: 'grüße 🚀' });
    expect(scene.reflector.health.lastError).toContain('middle of a line');
  });

  it('replaces a silent connection, and lists again after ten minutes without any event', async () => {
    const scene = await startReflectorHarness([listResponse('10'), listResponse('11')], [watchResponse()], {
      idleSeconds: 180,
      resyncSeconds: 1e9,
    });
    for (const watches of [1, 2, 3, 4]) {
      await untilRequested(scene, 1 + watches);
      await waitForCondition(() => scene.answered() === scene.asked().length, 'the watch is open');
      await scene.clock.advance(180_000);
    }
    await untilRequested(scene, 7);
    expect(scene.asked().join()).toBe('list,watch 10,watch 10,watch 10,watch 10,list,watch 11');
    expect(scene.reflector.health.failures).toBe(0);
    await waitForCondition(() => scene.server.open.size <= 2, 'silent connections are closed');
  });

  it('ends a watch that exceeds the requested duration', async () => {
    let stream: ServerResponse | undefined;
    const endless: Responder = (response, received) => {
      watchResponse()(response, received);
      stream = response;
    };
    const scene = await startReflectorHarness([listResponse('10')], [endless, watchResponse()], {
      random: () => 0.5,
      resyncSeconds: 1e9,
    });
    await untilRequested(scene, 2);
    const start = scene.clock.monotonic();
    for (let minute = 1; scene.asked().length === 2; minute += 1) {
      stream?.write(bookmarkLine(String(10 + minute)));
      const isHeard = () => scene.reflector.health.silentSeconds === 0 || scene.asked().length > 2;
      await waitForCondition(isHeard, 'the bookmark is heard, or the watch is over');
      await scene.clock.advance(60_000);
    }
    // 450 s were requested.
    expect((scene.clock.monotonic() - start) / 1000).toBeLessThanOrEqual(540);
    expect(scene.asked()[2]).toMatch(/^watch 1\d$/);
    expect(scene.reflector.health.failures).toBe(0);
  });

  it('counts a watch that the server never accepts as a failure', async () => {
    const scene = await startReflectorHarness([listResponse('10')], [() => {}, watchResponse()]);
    await untilRequested(scene, 2);
    await waitForCondition(() => scene.clock.sleeping >= 2, 'the watch is asked for');
    await scene.clock.advance(30_000);
    await untilFailed(scene, 1);
    expect(scene.reflector.health.lastError).toMatch(/no answer in time/);
  });

  it('resets its failures with the first event', async () => {
    // The first watch follows the list on its connection, so that one reset causes one retry.
    const scene = await startReflectorHarness(
      [listResponse('10')],
      [droppedConnection, droppedConnection, droppedConnection, watchResponse(bookmarkLine('11'))],
    );
    await untilFailed(scene, 1);
    await scene.sleepOn();
    await untilFailed(scene, 2);
    await scene.sleepOn();
    await untilFailed(scene, 0);
    expect(scene.reflector.health.lastEventAt).toEqual(scene.clock.now());
  });

  it.each<[string, Responder, (scene: ReflectorHarness) => boolean]>([
    ['a list', () => {}, (scene) => scene.asked().length === 1],
    ['a watch', listResponse('1'), (scene) => scene.answered() === 2],
    ['a pause', droppedConnection, (scene) => scene.reflector.health.failures === 1],
  ])('ends during %s on abort, with no connection, timer or error left', async (_, act, isThere) => {
    const scene = await startReflectorHarness([act], [watchResponse()]);
    await waitForCondition(() => isThere(scene), 'it is there');
    scene.end.abort();
    await scene.done;
    expect(scene.clock.sleeping).toBe(0);
    await waitForCondition(
      () => scene.server.received.every(({ query, socket }) => !query.has('watch') || socket.destroyed),
      'no watch is open',
    );
    const asked = scene.asked().length;
    await scene.clock.advance(3_600_000);
    expect(scene.asked()).toHaveLength(asked);
  });

  it('reports every object again periodically, in case an event was missed', async () => {
    const scene = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1'), secretObject('b', '2'))],
      [watchResponse()],
      {
        resyncSeconds: 60,
        random: () => 0.5,
      },
    );
    await untilHeard(scene, 2);
    await scene.clock.advance(60_000);
    expect(scene.heard.slice(2)).toEqual(['resync a', 'resync b']);
  });

  it('continues after a listener throws, and calls the other listeners', async () => {
    const scene = await startReflectorHarness(
      [listResponse('10', secretObject('a', '1'))],
      [watchResponse(eventLine('ADDED', secretObject('b', '11')))],
    );
    scene.reflector.onChange(() => {
      throw new Error('a bug');
    });
    const others: string[] = [];
    scene.reflector.onChange(({ object: { metadata } }) => others.push(metadata.name));
    await untilHeard(scene, 2);
    expect(others).toContain('b');
  });
});
