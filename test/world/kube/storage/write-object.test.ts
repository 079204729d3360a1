import { describe, expect, it } from 'vitest';
import { startKubeFixture } from '../testing/kube-fixture.ts';

const kube = await startKubeFixture();
const maps = '/api/v1/namespaces/default/configmaps';

describe('objects', () => {
  it("are created with the server's fields, read, and refused as duplicates", async () => {
    const made = await kube.call('POST', maps, { metadata: { name: 'a' }, data: { x: '1' } });
    expect(made).toMatchObject({ code: 201, body: { kind: 'ConfigMap', apiVersion: 'v1', data: { x: '1' } } });
    expect(made.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    const again = await kube.call('POST', maps, { metadata: { name: 'a' } });
    expect(again).toMatchObject({
      code: 409,
      body: {
        reason: 'AlreadyExists',
        message: 'configmaps "a" already exists',
        details: { name: 'a', kind: 'configmaps' },
      },
    });
    const found = await kube.call('GET', `${maps}/a`);
    expect(found.body).toEqual(made.body);
  });

  it('are watched from a version on', async () => {
    const { body: list } = await kube.call('GET', maps);
    const watch = await kube.watch(`${maps}?watch=true&resourceVersion=${list.metadata.resourceVersion}`);
    await kube.call('POST', maps, { metadata: { name: 'seen' } });
    await kube.call('DELETE', `${maps}/seen`);
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'seen' } } });
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'seen' } } });
    watch.close();
  });

  it('need credentials', async () => {
    expect((await kube.call('GET', maps, undefined, { token: '' })).code).toBe(401);
    const refused = await kube.call('GET', `${maps}/a`, undefined, { token: 'nobody' });
    expect(refused).toMatchObject({
      code: 403,
      body: {
        message:
          'configmaps "a" is forbidden: User "nobody" cannot get resource "configmaps" in API group "" in the namespace "default"',
      },
    });
  });
});
