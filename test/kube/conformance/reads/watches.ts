import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { Body, RawWatch, RequestOptions } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, randomName, type WidgetKind } from '../../support/widgets.ts';

/** Watches: their start, their events, and their end. */
export function testWatches(server: () => ServerUnderTest): void {
  describe('watches', () => {
    let namespace: string;
    let widget: WidgetKind;
    const open: RawWatch[] = [];
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const make = async (name: string, labels: Record<string, string> = {}) =>
      expectSuccess(await server().admin.post(maps(), { metadata: { name, labels } }), 201);
    const version = async () => expectSuccess(await server().admin.get(maps())).metadata.resourceVersion as string;
    const watch = async (path: string, query: RequestOptions['query'] = {}, options?: RequestOptions) => {
      const opened = await server().admin.watch(path, query, options);
      open.push(opened);
      return opened;
    };

    beforeAll(async () => {
      namespace = await server().namespace('watches');
      widget = await ensureWidgetKind(server());
    });
    afterEach(() => {
      for (const one of open.splice(0)) one.close();
    });

    it('from a version report each later change once and in order: ADDED, MODIFIED, DELETED', async () => {
      const { admin } = server();
      const name = randomName();
      const events = await watch(maps(), { resourceVersion: await version() });
      expect(events.status).toBe(200);
      expect(events.headers['content-type']).toBe('application/json');
      const made = await make(name);
      const changed = expectSuccess(await admin.merge(maps(name), { data: { a: '1' } }));
      expectSuccess(await admin.delete(maps(name)));
      const seen = [await events.next(), await events.next(), await events.next()];
      expect(seen.map(({ type, object }) => [type, object.metadata.name])).toEqual([
        ['ADDED', name],
        ['MODIFIED', name],
        ['DELETED', name],
      ]);
      expect(seen[0]?.object).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
      expect(seen[0]?.object.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
      expect(seen[1]?.object.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
      expect(seen[2]?.object.data, 'the last state').toEqual({ a: '1' });
      expect(
        BigInt(seen[2]?.object.metadata.resourceVersion) > BigInt(changed.metadata.resourceVersion),
        'the version of a deletion is its own',
      ).toBe(true);
    });

    it('without a version start with an ADDED for each existing object', async () => {
      const name = randomName();
      await make(name);
      const events = await watch(maps());
      await events.next(10, ({ type, object }) => type === 'ADDED' && object.metadata.name === name);
    });

    it('from version 0 start with an ADDED for each existing object too', async () => {
      const name = randomName();
      await make(name);
      const events = await watch(maps(), { resourceVersion: '0' });
      await events.next(10, ({ type, object }) => type === 'ADDED' && object.metadata.name === name);
    });

    it('from an old version replay the changes since then', async () => {
      const from = await version();
      const name = randomName();
      await make(name);
      expectSuccess(await server().admin.delete(maps(name)));
      const events = await watch(maps(), { resourceVersion: from });
      expect((await events.next()).type).toBe('ADDED');
      expect((await events.next()).type).toBe('DELETED');
    });

    it('report MODIFIED when an object with finalizers is deleted, and DELETED when it is gone', async () => {
      const { admin } = server();
      const name = randomName();
      expectSuccess(await admin.post(maps(), { metadata: { name, finalizers: ['example.com/wait'] } }), 201);
      const events = await watch(maps(), { resourceVersion: await version() });
      expectSuccess(await admin.delete(maps(name)));
      const marked = await events.next();
      expect([marked.type, Boolean(marked.object.metadata.deletionTimestamp)]).toEqual(['MODIFIED', true]);
      expectSuccess(await admin.merge(maps(name), { metadata: { finalizers: null } }));
      expect((await events.next()).type).toBe('DELETED');
    });

    it('report custom objects like built-in ones', async () => {
      const { admin } = server();
      const from = expectSuccess(await admin.get(widget.path(namespace))).metadata.resourceVersion;
      const events = await watch(widget.path(namespace), { resourceVersion: from });
      const name = randomName();
      expectSuccess(await admin.post(widget.path(namespace), widget.make(name)), 201);
      expectSuccess(await admin.merge(widget.path(namespace, name, 'status'), { status: { phase: 'a' } }));
      const [added, modified] = [await events.next(), await events.next()];
      expect([added.type, added.object.kind]).toEqual(['ADDED', 'Widget']);
      expect([modified.type, modified.object.status]).toEqual(['MODIFIED', { phase: 'a' }]);
    });

    it('over all namespaces and of one namespace report the objects in their scope', async () => {
      const { admin } = server();
      const other = await server().namespace('elsewhere');
      const from = expectSuccess(await admin.get(widget.all)).metadata.resourceVersion;
      const [everywhere, here] = [
        await watch(widget.all, { resourceVersion: from }),
        await watch(widget.path(namespace), { resourceVersion: from }),
      ];
      expectSuccess(await admin.post(widget.path(other), widget.make('there')), 201);
      expectSuccess(await admin.post(widget.path(namespace), widget.make('here')), 201);
      expect((await everywhere.next()).object.metadata.name).toBe('there');
      expect((await everywhere.next()).object.metadata.name).toBe('here');
      expect((await here.next()).object.metadata.name).toBe('here');
    });

    describe('with a selector', () => {
      it('report ADDED when an object starts to match and DELETED when it no longer does', async () => {
        const { admin } = server();
        const name = randomName();
        await make(name);
        const events = await watch(maps(), { resourceVersion: await version(), labelSelector: `pick=${name}` });
        expectSuccess(await admin.merge(maps(name), { metadata: { labels: { pick: name } } }));
        expectSuccess(await admin.merge(maps(name), { data: { a: '1' } }));
        const last = expectSuccess(await admin.merge(maps(name), { metadata: { labels: { pick: 'other' } } }));
        const seen = [await events.next(), await events.next(), await events.next()];
        expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
        expect(seen[2]?.object.metadata.labels, 'the last state that matched').toEqual({ pick: name });
        expect(seen[2]?.object.metadata.resourceVersion, 'at the version of the change').toBe(
          last.metadata.resourceVersion,
        );
      });

      it('of a field watch one object by name', async () => {
        const name = randomName();
        const events = await watch(maps(), {
          resourceVersion: await version(),
          fieldSelector: `metadata.name=${name}`,
        });
        await make(randomName());
        await make(name);
        expect((await events.next()).object.metadata.name).toBe(name);
      });

      it('of a selectable field of a custom kind follow its changes', async () => {
        const { admin } = server();
        const name = randomName();
        const from = expectSuccess(await admin.get(widget.path(namespace))).metadata.resourceVersion;
        const events = await watch(widget.path(namespace), {
          resourceVersion: from,
          fieldSelector: 'spec.color=green',
        });
        expectSuccess(await admin.post(widget.path(namespace), widget.make(name)), 201);
        expectSuccess(await admin.merge(widget.path(namespace, name), { spec: { color: 'green' } }));
        expectSuccess(await admin.merge(widget.path(namespace, name), { spec: { color: 'blue' } }));
        expect((await events.next()).type).toBe('ADDED');
        expect((await events.next()).type).toBe('DELETED');
      });

      it('that are invalid are rejected before the stream starts', async () => {
        const events = await watch(maps(), { labelSelector: 'a in b' });
        expect(events.status).toBe(400);
        expect(events.refusal.reason).toBe('BadRequest');
      });
    });

    it('with sendInitialEvents mark the end of the initial events by an annotated bookmark', async () => {
      const name = randomName();
      await make(name);
      const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true };
      const events = await watch(maps(), query);
      const mark = await events.next(10, ({ type }) => type === 'BOOKMARK');
      expect(mark.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      expect(events.seen.some(({ type, object }) => type === 'ADDED' && object.metadata.name === name)).toBe(true);
    });

    it('with sendInitialEvents but without resourceVersionMatch are rejected', async () => {
      const events = await watch(maps(), { sendInitialEvents: true, allowWatchBookmarks: true });
      expect(events.status).toBe(422);
    });

    it('from a version that is no number are rejected', async () => {
      const events = await watch(maps(), { resourceVersion: 'abc' });
      expect(events.status).toBeGreaterThanOrEqual(400);
    });

    it('as Tables send rows, with the columns in the first event only', async () => {
      const { admin } = server();
      const from = expectSuccess(await admin.get(widget.path(namespace))).metadata.resourceVersion;
      const events = await watch(
        widget.path(namespace),
        { resourceVersion: from },
        { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      );
      const [one, two] = [randomName(), randomName()];
      expectSuccess(await admin.post(widget.path(namespace), widget.make(one)), 201);
      expectSuccess(await admin.post(widget.path(namespace), widget.make(two)), 201);
      const [first, second] = [await events.next(), await events.next()];
      expect(first.object.kind).toBe('Table');
      expect(first.object.columnDefinitions.length).toBeGreaterThan(1);
      expect(first.object.rows[0].cells[0]).toBe(one);
      expect(second.object.columnDefinitions).toBeNull();
      expect(second.object.rows[0].cells[0]).toBe(two);
    });

    it('together with the initial list give the same state as a later list', async () => {
      const { admin } = server();
      const first = expectSuccess(await admin.get(widget.path(namespace)));
      const seen = new Map<string, string>(
        first.items.map(({ metadata }: Body) => [metadata.name, metadata.resourceVersion]),
      );
      const events = await watch(widget.path(namespace), { resourceVersion: first.metadata.resourceVersion });
      const names = Array.from({ length: 6 }, () => randomName());
      const busy = async (name: string, seed: number) => {
        for (let step = 0; step < 12; step++) {
          const path = widget.path(namespace, name);
          if ((seed + step) % 4 === 0) await admin.post(widget.path(namespace), widget.make(name));
          else if ((seed + step) % 4 === 3) await admin.delete(path);
          else await admin.merge(path, { spec: { size: (step % 9) + 1 } });
        }
      };
      await Promise.all(names.map(busy));
      const end = randomName();
      expectSuccess(await admin.post(widget.path(namespace), widget.make(end)), 201);
      for (let version = 0n; ; ) {
        const { type, object } = await events.next();
        const { name, resourceVersion } = object.metadata;
        expect(BigInt(resourceVersion) > version, 'events come in the order of their versions').toBe(true);
        version = BigInt(resourceVersion);
        if (type === 'DELETED') expect(seen.delete(name), 'only what was there is deleted').toBe(true);
        else {
          expect(seen.has(name), `${type} of ${name}`).toBe(type === 'MODIFIED');
          seen.set(name, resourceVersion);
        }
        if (name === end) break;
      }
      const last = expectSuccess(await admin.get(widget.path(namespace)));
      expect([...seen].sort()).toEqual(
        last.items.map(({ metadata }: Body) => [metadata.name, metadata.resourceVersion]).sort(),
      );
    });

    it('end with the connection: many can be opened and dropped', async () => {
      const from = await version();
      const many = await Promise.all(Array.from({ length: 20 }, () => watch(maps(), { resourceVersion: from })));
      const name = randomName();
      await make(name);
      for (const events of many) expect((await events.next()).object.metadata.name).toBe(name);
      for (const events of many) events.close();
      expectRejection(await server().admin.get(maps('still-there')), 404, 'NotFound');
    });
  });
}
