import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { expectSuccess } from '../../support/expectations.ts';
import type { RequestOptions } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { randomName } from '../../support/widgets.ts';

/** The end of watches. Each of these tests waits for seconds, so they run concurrently. */
export function testWatchEnds(server: () => ServerUnderTest): void {
  describe.concurrent('watches', () => {
    let namespace: string;
    const maps = () => `/api/v1/namespaces/${namespace}/configmaps`;
    const version = async () => expectSuccess(await server().admin.get(maps())).metadata.resourceVersion as string;
    const watch = async ({ onTestFinished }: TestContext, query: RequestOptions['query']) => {
      const opened = await server().admin.watch(maps(), query);
      onTestFinished(() => opened.close());
      return opened;
    };

    beforeAll(async () => {
      namespace = await server().namespace('ends');
    });

    it('end cleanly after timeoutSeconds', async (context) => {
      const events = await watch(context, { resourceVersion: await version(), timeoutSeconds: 1 });
      await events.end(10);
      expect(events.seen.every(({ type }) => type !== 'ERROR')).toBe(true);
    });

    it('with allowWatchBookmarks send a bookmark with a version to resume from before they end', async (context) => {
      const { admin } = server();
      const from = await version();
      const events = await watch(context, { resourceVersion: from, allowWatchBookmarks: true, timeoutSeconds: 4 });
      // A change of another kind: only a bookmark can advance the version past it.
      expectSuccess(
        await admin.post(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: randomName() } }),
        201,
      );
      expectSuccess(await admin.post(maps(), { metadata: { name: randomName() } }), 201);
      const bookmark = await events.next(10, ({ type }) => type === 'BOOKMARK');
      expect(bookmark.object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
      expect(BigInt(bookmark.object.metadata.resourceVersion) >= BigInt(from)).toBe(true);
      expect(bookmark.object.metadata).not.toHaveProperty('name');
      await events.end(15);
    });

    it('without it send none', async (context) => {
      const events = await watch(context, { resourceVersion: await version(), timeoutSeconds: 3 });
      await events.end(15);
      expect(events.seen.filter(({ type }) => type === 'BOOKMARK')).toEqual([]);
    });
  });
}
